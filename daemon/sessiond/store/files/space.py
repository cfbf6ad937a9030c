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
            status = os.statvfs(place)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        return status.f_bavail * status.f_frsize
    return None


def free_files(path: Path) -> int | None:
    """Return how many files may still be created at `path`; None if there is no limit or it is unknown."""
    try:
        status = os.statvfs(path)
    except OSError:
        return None
    return status.f_favail if status.f_files else None


def is_read_only(path: Path) -> bool:
    """Return whether the file system is read-only for every user."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False
