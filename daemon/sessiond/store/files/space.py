"""Free space on a disk, and whether the disk is read-only."""

import os
from pathlib import Path
from typing import Final

NEEDED: Final = 1024 * 1024
"""Bytes that must be free before a log counts as writable again after a full disk."""


def free_bytes(path: Path) -> int | None:
    """Return the bytes that this user may still write at `path`, or in its nearest folder; None if unknown."""
    for place in (path, *path.parents):
        try:
            told = os.statvfs(place)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        return told.f_bavail * told.f_frsize
    return None


def free_files(path: Path) -> int | None:
    """Return how many files may still be created at `path`; None if there is no limit or it is unknown."""
    try:
        told = os.statvfs(path)
    except OSError:
        return None
    return told.f_favail if told.f_files else None


def is_read_only(path: Path) -> bool:
    """Return whether the file system is read-only for every user."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False
