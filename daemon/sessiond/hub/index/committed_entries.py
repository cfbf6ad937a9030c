"""The entries of open sessions that the event loop passes to the index thread.

The index thread must not access the trees of open sessions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sessiond.hub.session.log_reader import ReadableSession
from sessiond.session.tree.tree import KIND, Tree

TAIL_BYTES: Final = 64
"""The bytes before the end of the indexed part whose hash identifies the continuation of a file."""
_BYTES: Final = 256 * 1024
"""The approximate size of the entries in one batch."""


@dataclass(frozen=True, slots=True)
class CommittedEntries:
    """Committed entries of an open session, with the values of its tree that the index needs.

    Attributes:
        first: The first row.
        entries: Pairs of a seq and an entry.
        rows: The row after the last entry.
        indexed_bytes: The offset after the last entry.
        tail: The last bytes before that offset.
        title: The title from the title slot or the header.
        created_at: The time in the header.

    """

    first: int
    entries: Sequence[tuple[int, bytes]]
    rows: int
    indexed_bytes: int
    tail: bytes
    title: str | None
    created_at: str


def next_entries(live: ReadableSession, first: int) -> CommittedEntries:
    """Return the next committed entries of an open session, about 256 KiB."""
    tree = live.tree
    seqs, _ = live.page_rows(max(first, 1), _BYTES)
    entries = live.read_rows(seqs)
    rows = seqs[-1] + 1 if seqs else tree.committed
    end = tree.span(rows - 1)[1]
    header = tree.header
    return CommittedEntries(
        first, list(zip(seqs, entries, strict=True)), rows, end, live.read_bytes(max(0, end - TAIL_BYTES), end),
        title_beside_entries(tree),
        header.timestamp if header is not None else "",
    )  # fmt: skip


def title_beside_entries(tree: Tree) -> str | None:
    """Return the title in the slot or the header, unless entries set a title: they are indexed themselves."""
    if tree.slot_title or tree.header is None:
        return tree.slot_title
    return None if tree.has_kind(KIND["session_info"]) else tree.header.title
