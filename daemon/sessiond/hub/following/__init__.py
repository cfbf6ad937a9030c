"""Follows the sessions that agents write: watches their files, and imports what was added."""
