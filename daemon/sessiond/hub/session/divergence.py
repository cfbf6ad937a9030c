"""Whether other readers of a session's file see the same session as this one."""

from collections.abc import Callable

from sessiond.hub.session.log_reader import LogReader
from sessiond.session.tree.tree import Tree


class Divergence:
    """Records the rows of a session as loaded, and reports once that other readers may see different rows.

    Args:
        reader: The log of the session.
        report: Called once, before other readers of the file may see a different session; None if no report is needed.
    """

    def __init__(self, reader: LogReader, report: Callable[[], None] | None) -> None:
        self._reader = reader
        self._report = report
        self._tree: Tree | None = None
        self._rows = 0

    def loaded(self) -> None:
        """Record that the rows of the tree are those of the file."""
        self._tree, self._rows = self._reader.tree, self._reader.tree.committed

    def begin(self) -> None:
        """Report that the session may differ from its file from now on."""
        if self._report is not None:
            report, self._report = self._report, None
            report()

    @property
    def is_as_loaded(self) -> bool:
        """Whether the rows are those that were loaded, as other readers of the file see them."""
        tree = self._reader.tree
        return tree is self._tree and tree.committed == self._rows
