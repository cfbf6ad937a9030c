"""The facts that the index stores about one log, read by the same code that opens sessions."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from sessiond.agents.recognition import foreign_program_of
from sessiond.hub import session_info
from sessiond.protocol import types as t
from sessiond.session.listing.log_ends import facts_of_ends
from sessiond.session.tree.steps import Steps
from sessiond.session.tree.tree import Tree
from sessiond.store.base import Store
from sessiond.store.records import Stored

HEAD_BYTES: Final = 4096
"""The bytes at the start of a log whose hash identifies it."""
_SMALL: Final = 1024 * 1024
"""The bytes at the start of a log that are buffered while it is read, because some of its lines are read again."""
STEP_BYTES: Final = 512 * 1024
"""The approximate number of bytes that are read in one step."""
_ENDS: Final = ((8 * 1024, 8 * 1024), (64 * 1024, 128 * 1024))
"""The bytes of the beginning and the end that are read for provisional facts. The second pair is the second attempt."""
SMALL_FILE: Final = sum(_ENDS[0])
"""Files with at most this many bytes are always read as a whole."""


@dataclass(frozen=True, slots=True)
class LogFacts:
    """The facts of a log at one moment. `listed` is None if the log has no session."""

    stored: Stored
    head: bytes
    listed: t.ListedSession | None
    labels: tuple[tuple[str, str], ...]
    off_path: bytes


def read_in_steps(store: Store, stored: Stored, tree: Tree) -> Steps[LogFacts]:
    """Read the facts of a log in steps of about 512 KiB. The generator returns the facts.

    Args:
        store: The store of the log.
        stored: The log.
        tree: The tree to read into: a new one, or one that holds the beginning of the log.

    Raises:
        LogNotFound: The log does not exist any more.
        StorageFailed: The log cannot be read.
    """
    parts: list[bytes] = []
    held, kept, unpaused = b"", 0, 0
    starts_new = not len(tree)

    def read(rows: Sequence[int]) -> list[bytes]:
        return [tree.entry(row, cut(*tree.span(row))) for row in rows]

    def cut(start: int, end: int) -> bytes:
        return held[start:end] if end <= len(held) else bytes_of(store, stored.ref, start, end)

    for data in store.scan(stored.ref, tree.end):
        if starts_new and kept < _SMALL:
            parts.append(data)
            kept += len(data)
        tree.read(data)
        unpaused += len(data)
        if unpaused >= STEP_BYTES:
            unpaused = 0
            yield
    tree.finish()
    held = b"".join(parts)
    head = hash_of(held[:HEAD_BYTES] if starts_new else bytes_of(store, stored.ref, 0, HEAD_BYTES))
    program = foreign_program_of(
        lambda size: held[:size] if starts_new else bytes_of(store, stored.ref, 0, size)
    )
    if tree.damaged or program is not None:
        return LogFacts(stored, head, None, (), b"[]")
    listed = session_info.listed(tree, read, ref=stored.ref, draft=stored.draft, size=stored.size)
    labels = tuple((target, label.text) for target, label in tree.labels.items())
    return LogFacts(stored, head, listed, labels, msgspec.json.encode(list(off_path(tree))))


def read_ends(store: Store, stored: Stored) -> LogFacts | None:
    """Read the provisional facts of a log that is not a draft, from its beginning and its end.

    Returns:
        None if the whole log must be read.

    Raises:
        LogNotFound: The log does not exist any more.
        StorageFailed: The log cannot be read.
    """
    for head_size, tail_size in _ENDS:
        if stored.size <= head_size + tail_size:
            return None
        head, tail = store.read_ends(stored.ref, head_size, tail_size)
        ends = facts_of_ends(head, tail)
        if ends is not None:
            listed = session_info.provisional(ends, ref=stored.ref, size=stored.size)
            return LogFacts(stored, hash_of(head[:HEAD_BYTES]), listed, (), b"[]")
    return None


def off_path(tree: Tree) -> Iterator[tuple[int, int]]:
    """Yield the rows that are not on the path to the leaf, as inclusive ranges."""
    on_path = bytearray(tree.committed)
    for row in tree.path(tree.leaf):
        on_path[row] = 1
    start = on_path.find(0, 1)
    while start > 0:
        end = on_path.find(1, start)
        yield start, (end if end > 0 else tree.committed) - 1
        start = on_path.find(0, end) if end > 0 else -1


def bytes_of(store: Store, ref: str, start: int, end: int) -> bytes:
    """Return bytes of a log that is not open. The whole log may be larger than memory."""
    found = b""
    for data in store.scan(ref, start):
        found += data
        if len(found) >= end - start:
            break
    return found[: end - start]


def hash_of(data: bytes) -> bytes:
    """Return the hash by which the index recognizes a part of a log."""
    return hashlib.blake2b(data, digest_size=16).digest()
