"""What the loop hands to the thread of the index of an open session: the thread must not touch its tree."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sessiond.hub.session.readable import LoadedSession
from sessiond.session.tree.tree import KIND, Tree

TAIL: Final = 64
"""Bytes at the end of what was consumed, by which a file is known to go on from there."""
_BYTES: Final = 256 * 1024


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


def fed_from(live: LoadedSession, first: int) -> Fed:
    """The next committed entries of an open session, at most about 256 KiB of them."""
    tree = live.tree
    seqs, _ = live.page_rows(max(first, 1), _BYTES)
    entries = live.read_rows(seqs)
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
