"""A log of the store as an import reads it, without opening its session."""

from collections.abc import Sequence

from sessiond.hub.transfer.source_state import FileStatus
from sessiond.session.tree.tree import Tree


class ScannedLog:
    """A log that was read completely: its bytes, and the status of its file before."""

    def __init__(self, ref: str) -> None:
        self.ref = ref
        self.status = FileStatus.at(ref)
        self.tree = Tree()
        self.data = bytearray()

    def take(self, data: bytes) -> None:
        """Add the next bytes of the log."""
        self.tree.read(data)
        self.data += data

    def read(self, rows: Sequence[int]) -> list[bytes]:
        """Return the entries of rows."""
        return [self.tree.entry(row, bytes(self.data[slice(*self.tree.span(row))])) for row in rows]
