"""Idempotent commands: a repeated request takes effect once."""
