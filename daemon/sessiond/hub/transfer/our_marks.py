"""Keeps the title and the tags that a client has given to a followed session when its agent writes others.

The titles and tags of the agent are stored unchanged, in a custom entry that sets nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from sessiond.hub.session.live import LiveSession
from sessiond.session.dialects import imported_log
from sessiond.session.dialects.import_builder import ImportedEntry
from sessiond.session.tree import entries, lines
from sessiond.session.tree.codes import KIND

_TITLES: Final = frozenset(("session_info", "title_change"))
_TITLE_KINDS: Final = frozenset(KIND[title] for title in _TITLES)
_CUSTOM: Final = KIND["custom"]
_TAGS: Final = f'"customType":"{entries.TAGS_TYPE}"'.encode()
_FROM_SOURCE: Final = ("line-", "title-")
"""The beginning of the ids of imported entries about the whole session."""
REASON: Final = "a client has set another value"


def setting(entries: Iterable[ImportedEntry]) -> list[int]:
    """Return the places of the entries that set a title or tags."""
    return [
        place
        for place, entry in enumerate(entries)
        if entry.type in _TITLES or (entry.type == "custom" and _TAGS in entry.line)
    ]


def kept(
    live: LiveSession, new: Sequence[ImportedEntry], places: Iterable[int], dialect: str
) -> list[ImportedEntry]:
    """Return new entries of a source, without effect where a client has set a title or tags.

    Args:
        live: The session.
        new: The entries.
        places: The places of those that set a title or tags.
        dialect: The format of the source.
    """
    found = list(new)
    for place in places:
        entry = found[place]
        if _is_ours(live, tags=entry.type not in _TITLES):
            line = imported_log.as_preserved(entry, dialect, REASON)
            found[place] = ImportedEntry(entry.id, entry.parent_id, "custom", line)
    return found


def _is_ours(live: LiveSession, *, tags: bool) -> bool:
    """Return whether a client has set the newest title, or the newest tags."""
    tree = live.tree
    for row in range(len(tree) - 1, -1, -1):
        kind, name = tree.kind(row), tree.id(row) or ""
        if name.startswith("raw-"):
            continue  # a line of the source that is stored unchanged
        if kind == _CUSTOM and _sets_tags(live.read_rows([row])[0]) if tags else kind in _TITLE_KINDS:
            return not name.startswith(_FROM_SOURCE)
    return False


def _sets_tags(entry: bytes) -> bool:
    try:
        return lines.loads(entry).get("customType") == entries.TAGS_TYPE
    except lines.NotAnEntry:
        return False
