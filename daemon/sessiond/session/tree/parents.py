"""Reads the parent that a header names: the id of a session, or the path of its file, which shows the id."""

import re
from typing import Final, NamedTuple

_IN_A_NAME: Final = re.compile(r"_([A-Za-z0-9][A-Za-z0-9_.-]{7,127})\.jsonl(?:\.zst)?\Z")
"""The file names of sessions of pi, oh-my-pi and sessiond (decision 0008)."""


class Parent(NamedTuple):
    """The parent of a session, as far as the header of the session names it."""

    session_id: str | None
    path: str | None


def parent_of(named: str | None) -> Parent:
    """Return the parent that a header names by an id or a path. A path gives the id if the file is named by it."""
    if not named:
        return Parent(None, None)
    if "/" not in named:
        return Parent(named, None)
    found = _IN_A_NAME.search(named)
    return Parent(found[1] if found else None, named)


def name_of(session_id: str, ref: str) -> str:
    """Return the name of a session as a parent in a header: its path if that shows the id, or else its id."""
    return ref if ref.startswith("/") and parent_of(ref).session_id == session_id else session_id
