"""What logs have left behind: torn tails and originals beside them, and logs in the trash."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sessiond.store.files import paths
from sessiond.store.files.syscalls import refusals_of

_SUFFIX = re.compile(r"(torn-[0-9]+|v[0-9]+\.bak)(\.[0-9]+)?")
_BESIDE = f"{paths.SUFFIX}."  # a log's own name ends with its suffix


def remains(trash: Path, *roots: Path) -> list[str]:
    """Every file in the trash, and those in the folders of the roots that bear a log's name and more."""
    with refusals_of(trash):
        beside = (
            file
            for root in roots
            for folder in _entries(root)
            if folder.is_dir(follow_symlinks=False)
            for file in _entries(folder)
            if _BESIDE in file.name
        )
        return [file.path for file in (*_entries(trash), *beside) if file.is_file(follow_symlinks=False)]


def remains_of(origin: Path) -> Iterator[str]:
    """What lies beside the place where a log was, unless another lies there now, whose it may be."""
    if os.path.lexists(origin):
        return
    with suppress(OSError), os.scandir(origin.parent) as entries:
        before = f"{origin.name}."
        for entry in entries:
            if entry.name.startswith(before) and _SUFFIX.fullmatch(entry.name[len(before) :]):
                yield entry.path


def is_beside(name: str) -> str | None:
    """The name of the log that a file was kept beside, by its own name; None for a file that was not."""
    log, found, rest = name.rpartition(_BESIDE)
    return f"{log}{paths.SUFFIX}" if found and _SUFFIX.fullmatch(rest) else None


def _entries(folder: Path | os.DirEntry[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except FileNotFoundError:
        return
