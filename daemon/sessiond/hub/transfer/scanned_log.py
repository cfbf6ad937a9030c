"""A log of the store as an import reads it, without opening its session."""

from collections.abc import Sequence
from typing import Final

from sessiond.hub.index.facts import bytes_of
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.session.content.blobs import PREFIX, referenced_hashes
from sessiond.session.tree.tree import Tree
from sessiond.store.base import Store

MAX_KEPT_BYTES: Final = 16 * 1024 * 1024
"""The size of a log of which all bytes are kept. The entries of a larger one are read again."""
_WINDOW: Final = 256 * 1024
"""Bytes that are read from a larger log at a time: the next entries that are asked for are mostly among them."""
_REFERENCE_BYTES: Final = len(PREFIX) + 64


class ScannedLog:
    """A log that was read completely.

    Attributes:
        ref: The ref of the log.
        status: The status of its file before.
        tree: Its tree.
        named: The hashes of the blobs that its entries name.
    """

    def __init__(self, ref: str, store: Store) -> None:
        self.ref = ref
        self.status = FileStatus.at(ref)
        self.tree = Tree()
        self.named: set[str] = set()
        self._store = store
        self._kept: bytearray | None = bytearray()
        self._last = b""
        self._window = (0, b"")  # the offset of bytes that were read again, and these bytes

    def take(self, data: bytes) -> None:
        """Add the next bytes of the log."""
        self.tree.read(data)
        self.named.update(referenced_hashes(self._last + data))
        self._last = (self._last + data)[-_REFERENCE_BYTES:]
        if self._kept is not None:
            self._kept += data
            if len(self._kept) > MAX_KEPT_BYTES:
                self._kept = None

    def read(self, rows: Sequence[int]) -> list[bytes]:
        """Return the entries of rows."""
        return [self.tree.entry(row, self._bytes(*self.tree.span(row))) for row in rows]

    def _bytes(self, start: int, end: int) -> bytes:
        if self._kept is not None:
            return bytes(self._kept[start:end])
        first, data = self._window
        if not first <= start <= end <= first + len(data):
            first, data = start, bytes_of(self._store, self.ref, start, max(end, start + _WINDOW))
            self._window = first, data
        return data[start - first : end - first]
