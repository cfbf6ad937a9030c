"""The pages of an import: which of the named files one request reads, and the cursor of the next one.

A cursor holds the number of files before the page and a hash of the last one. Files that appear or vanish between two
requests therefore do not shift the page.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

from sessiond.hub.errors import CursorExpired
from sessiond.hub.transfer import foreign_files
from sessiond.hub.transfer.foreign_files import ImportCandidate


@dataclass(frozen=True, slots=True)
class ImportPage:
    """Some of the files of an import.

    Attributes:
        files: The files to read.
        start: The number of files before them.
        file_count: The number of all files.
        next_cursor: The cursor of the next page; None if this is the last one.
    """

    files: Sequence[ImportCandidate]
    start: int
    file_count: int
    next_cursor: str | None


def page(paths: Sequence[str], cursor: str | None, limit: int) -> ImportPage:
    """Find the files that the paths name, and return those that follow a cursor. Blocks.

    Args:
        paths: Files and folders.
        cursor: The `next_cursor` of the page before; None for the first page.
        limit: The maximum number of files of the page.

    Raises:
        CursorExpired: The last file of the page before is not among the files.
    """
    found = foreign_files.find(paths)
    start = 0 if cursor is None else _start(found, cursor)
    end = start + limit
    more = f"{end}.{_digest(found[end - 1])}" if end < len(found) else None
    return ImportPage(found[start:end], start, len(found), more)


def _start(found: Sequence[ImportCandidate], cursor: str) -> int:
    """Return the index of the file after the one that the cursor names."""
    number, _, digest = cursor.partition(".")
    if not (number.isascii() and number.isdecimal() and len(number) <= 9):
        raise CursorExpired
    start = int(number)
    if 0 < start <= len(found) and _digest(found[start - 1]) == digest:
        return start
    for index, candidate in enumerate(found):
        if _digest(candidate) == digest:
            return index + 1
    raise CursorExpired


def _digest(file: ImportCandidate) -> str:
    return hashlib.sha256(os.fsencode(file.path)).hexdigest()[:16]
