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


def is_read_only(path: Path) -> bool:
    """Whether the disk itself takes no writes, whoever asks."""
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False
