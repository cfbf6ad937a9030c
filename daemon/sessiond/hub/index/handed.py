"""What the loop hands to the thread of the index of an open session: the thread must not touch its tree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from sessiond.hub.loaded import LoadedSession
from sessiond.protocol import types as t
from sessiond.session.tree import KIND, Tree

TAIL: Final = 64
"""Bytes at the end of what was consumed, by which a file is known to go on from there."""
_BYTES: Final = 256 * 1024

Open: TypeAlias = Mapping[str, tuple[LoadedSession, t.SessionInfo]]
"""Open sessions by ref, and what the wire says of each."""


@dataclass(frozen=True, slots=True)
class Fed:
    """Committed entries of an open log, from row `first` on: each with its seq.

    `rows` and `consumed` say how far they go; `tail` are the last bytes before that. `title` and `created_at` are
    what the header says.
    """

    first: int
    entries: Sequence[tuple[int, bytes]]
    rows: int
    consumed: int
    tail: bytes
    title: str | None
    created_at: str


@dataclass(frozen=True, slots=True)
class LiveView:
    """An open session as a search must see it: by its tree, which is newer than the index."""

    listed: t.SessionInfo
    labelled: frozenset[str]
    """The ids of the entries that carry the label that is asked for."""


def fed_from(live: LoadedSession, first: int) -> Fed:
    """The next committed entries of an open session, at most about 256 KiB of them."""
    tree = live.tree
    entries, seqs = live.page(max(first, 1), _BYTES)
    rows = seqs[-1] + 1 if seqs else tree.committed
    end = tree.span(rows - 1)[1]
    header = tree.header
    return Fed(
        first, list(zip(seqs, entries, strict=True)), rows, end, live.log.read(max(0, end - TAIL), end),
        title_beside_entries(tree),
        header.timestamp if header is not None else "",
    )  # fmt: skip


def title_beside_entries(tree: Tree) -> str | None:
    """Return the title in the slot or header, unless entries say the title, which are found by themselves."""
    if tree.slot_title or tree.header is None:
        return tree.slot_title
    return None if tree.has_kind(KIND["session_info"]) else tree.header.title


def views(open_now: Open, label: str | None) -> dict[str, LiveView]:
    """All open sessions, for a question about this label."""
    return {ref: LiveView(session, _labelled(live, label)) for ref, (live, session) in open_now.items()}


def _labelled(live: LoadedSession, label: str | None) -> frozenset[str]:
    labels = live.tree.labels.items() if label is not None else ()
    return frozenset(name for name, mark in labels if mark.text == label)
