"""How much room there is on a disk: the one place that asks."""

import os
from pathlib import Path
from typing import Final

NEEDED: Final = 1024 * 1024
"""Bytes that must be free before a log that met a full disk counts as writable again."""


def free_bytes(path: Path) -> int | None:
    """Bytes that this user may still write where `path` lies, or its nearest folder; None when nobody knows."""
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
    """How many files may still be made where `path` lies; None where there is no such limit, or nobody knows."""
    try:
        told = os.statvfs(path)
    except OSError:
        return None
    return told.f_favail if told.f_files else None


def is_read_only(path: Path) -> bool:
    """Whether the disk itself takes no writes, whoever asks."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False
