"""Finds the remains of logs: torn tails and originals beside them, and logs in the trash."""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sessiond.store.files import paths
from sessiond.store.files.syscalls import refusals_of

_SUFFIX = re.compile(r"(torn-[0-9]+|v[0-9]+\.bak|packed)(\.[0-9]+)?")
_BESIDE = f"{paths.SUFFIX}."  # a log's own name ends with its suffix


def remains(trash: Path, *roots: Path) -> list[str]:
    """Return every file in the trash, and the files in the folders of the roots whose names extend a log's name."""
    with refusals_of(trash):
        beside = (
            file
            for root in roots
            for folder in _entries(root)
            if folder.is_dir(follow_symlinks=False)
            for file in _entries(folder)
            if _BESIDE in file.name and paths.session_id_of(file.name) is None
        )
        return [file.path for file in (*_entries(trash), *beside) if file.is_file(follow_symlinks=False)]


def remains_of(origin: Path) -> Iterator[str]:
    """Yield the files beside the former place of a log. If a log is there now, they may be its own: yield none."""
    if os.path.lexists(origin) or os.path.lexists(paths.other_name(str(origin))):
        return
    with suppress(OSError), os.scandir(origin.parent) as entries:
        before = f"{paths.plain_name(origin.name)}."
        for entry in entries:
            if entry.name.startswith(before) and _SUFFIX.fullmatch(entry.name[len(before) :]):
                yield entry.path


def is_beside(name: str) -> str | None:
    """Return the name of the log to which a file beside it belongs, by the file's name; None for other files."""
    log, found, rest = name.rpartition(_BESIDE)
    return f"{log}{paths.SUFFIX}" if found and _SUFFIX.fullmatch(rest) else None


def _entries(folder: Path | os.DirEntry[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except FileNotFoundError:
        return
