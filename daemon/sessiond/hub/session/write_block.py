"""Determines why a session accepts no writes, and the error of a refused append."""

import errno
import time
from collections.abc import Callable
from typing import Final

from sessiond.hub import clock
from sessiond.hub.errors import (
    CommandReused,
    HubError,
    IdReused,
    LeafConflict,
    ReadOnly,
    UnsupportedVersion,
    WouldBreakTree,
)
from sessiond.hub.session.log_reader import LogReader
from sessiond.protocol import types as t
from sessiond.session.tree import entries
from sessiond.session.tree.tree import Tree
from sessiond.store.errors import LogReplaced, StorageFailed, StorageFull, StoreUnreachable, SyncFailed

RESTS_ON_LINES: Final = (LeafConflict, IdReused, CommandReused, WouldBreakTree)
"""Errors of an append that depend on lines which may still be pending."""


def as_committed(refusal: Exception, tree: Tree) -> Exception:
    """Return the error of an append after the lines that it depends on are committed.

    Another program may have added lines, so the leaf of a `LeafConflict` is updated.
    """
    if not isinstance(refusal, LeafConflict) or refusal.current == tree.leaf_id:
        return refusal
    row = 0 if refusal.expected is None else tree.row(refusal.expected)
    if row is None or refusal.expected == tree.leaf_id:
        return refusal
    missing = tree.seq - row
    return LeafConflict(refusal.expected, tree.leaf_id, log_id=refusal.log_id, seq=tree.seq, missing=missing)


class WriteBlockMonitor:
    """Holds the write block of one session, and reports when it changes.

    Attributes:
        current: Why the session accepts no writes, as last reported; None if it accepts writes.
    """

    def __init__(self, reader: LogReader, changed: Callable[[], None]) -> None:
        self.current: t.WriteBlock | None = None
        self._reader = reader
        self._changed = changed

    @property
    def read_only(self) -> HubError | None:
        """The reason why the session is read-only; None if it can be written."""
        tree, log = self._reader.tree, self._reader.log
        if tree.damaged:
            return ReadOnly("it has no valid header; the file is left as it is", path=log.path)
        if tree.version > entries.CURRENT_VERSION or tree.version < 1:
            return UnsupportedVersion(tree.version)
        if log.read_only is not None:
            return ReadOnly(log.read_only, path=log.path)
        return None

    def load(self) -> None:
        """Determine the write block of a session that was loaded. Nothing is reported."""
        self.current = self._determined()

    def update(self) -> None:
        """Determine whether the session accepts writes, and report a change once."""
        before, now = self.current, self._determined()
        if (before and before.reason) != (now and now.reason):
            self.current = now
            self._changed()

    def _determined(self) -> t.WriteBlock | None:
        reader = self._reader
        return _write_block(reader.tree, self.read_only, reader.log.write_error, time.time_ns())


def _write_block(
    tree: Tree, lasting: HubError | None, write_error: StorageFailed | LogReplaced | None, since_ns: int
) -> t.WriteBlock | None:
    """Return why a session accepts no writes, as the protocol names it.

    Args:
        tree: The tree of the session.
        lasting: Why the session is read-only, or None.
        write_error: The error of the last write to its log, or None.
        since_ns: The start of the write block, in nanoseconds since 1970.

    Returns:
        The reason, or None if the session accepts writes.
    """
    if lasting is not None:
        reason: t.WriteBlockReason = "permissionDenied"
        if tree.damaged:
            reason = "damaged"
        elif isinstance(lasting, UnsupportedVersion):
            reason = "newerVersion"
        elif isinstance(write_error, StorageFailed) and write_error.errno == errno.EROFS:
            reason = "readOnlyDisk"
        return t.WriteBlock(reason=reason, message=str(lasting), since_at=clock.iso(since_ns))
    if write_error is None:
        return None
    return t.WriteBlock(reason=_reason(write_error), message=str(write_error), since_at=clock.iso(since_ns))


def _reason(write_error: StorageFailed | LogReplaced) -> t.WriteBlockReason:
    if isinstance(write_error, LogReplaced):
        return "replaced"
    if isinstance(write_error, StoreUnreachable):
        return "storeUnreachable"
    if isinstance(write_error, StorageFull):
        return "diskFull"
    if isinstance(write_error, SyncFailed):
        return "notSynced"
    return "readOnlyDisk" if write_error.errno == errno.EROFS else "failed"
