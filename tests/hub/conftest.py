"""Daemons for these tests."""

from support.shared import cwd, daemon, memory, process_home

__all__ = ["cwd", "daemon", "memory", "process_home"]
