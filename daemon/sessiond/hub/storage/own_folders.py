"""The sizes of what sessiond keeps beside sessions: blobs, trash, index and records. Blocks."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sessiond.hub.storage.session_sizes import Shares, shares_of_kinds
from sessiond.paths import Locations
from sessiond.store.files import paths

_OF_SESSIONS: Final = frozenset(("sessions", "drafts", paths.EXPORTS))
"""Folders of the data whose files are counted by the index, or are the user's."""
_KINDS: Final = {
    "blobs": "blobs", "originals": "originals", "trash": "trash", "open-indexes": "index", "secret-rules": "index",
}  # fmt: skip
"""The kinds of the files in the top folders of the data and of the state. Others are records."""


def sizes(locations: Locations) -> Shares:
    """Return the number and the size of all files by kind. Files that cannot be read are left out."""
    found = shares_of_kinds()
    tops = {os.path.realpath(folder) for folder in (locations.data, locations.state)}
    for top in tops:
        for entry in _entries(top):
            if entry.name in _OF_SESSIONS or entry.path in tops:
                continue
            kind = "index" if entry.name.startswith("index.db") else _KINDS.get(entry.name, "records")
            for size in _sizes(entry):
                found.add(kind, 1, size)
    return found


def _sizes(entry: "os.DirEntry[str]") -> Iterator[int]:
    """Yield the sizes of the files that are an entry of a folder, or below it."""
    waiting = [entry]
    while waiting:
        above = waiting.pop()
        try:
            if above.is_dir(follow_symlinks=False):
                waiting += _entries(above)
            elif above.is_file(follow_symlinks=False):
                yield above.stat(follow_symlinks=False).st_size
        except OSError:
            continue  # it was moved after the listing


def _entries(folder: "os.DirEntry[str] | Path | str") -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
