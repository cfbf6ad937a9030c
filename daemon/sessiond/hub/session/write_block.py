"""Why a session takes no writes, and what a refused append is told. It decides nothing itself."""

import errno
from typing import Final

from sessiond.hub import clock
from sessiond.hub.errors import (
    CommandReused,
    HubError,
    IdReused,
    LeafConflict,
    UnsupportedVersion,
    WouldBreakTree,
)
from sessiond.protocol import types as t
from sessiond.session.tree.tree import Tree
from sessiond.store.errors import LogReplaced, StorageFailed, StorageFull, SyncFailed

RESTS_ON_LINES: Final = (LeafConflict, IdReused, CommandReused, WouldBreakTree)
"""Refusals of an append because of lines that may not be committed yet."""


def as_committed(refusal: Exception, tree: Tree) -> Exception:
    """Return a refusal once the lines are committed that it rests on; another program may have added lines to them."""
    if not isinstance(refusal, LeafConflict) or refusal.current == tree.leaf_id:
        return refusal
    row = 0 if refusal.expected is None else tree.row(refusal.expected)
    if row is None or refusal.expected == tree.leaf_id:
        return refusal
    missing = tree.seq - row
    return LeafConflict(refusal.expected, tree.leaf_id, log_id=refusal.log_id, seq=tree.seq, missing=missing)


def refusal_of(
    tree: Tree, lasting: HubError | None, trouble: StorageFailed | LogReplaced | None, since_ns: int
) -> t.WriteBlock | None:
    """Return why a session takes no writes, as the protocol names it.

    Args:
        tree: The tree of the session.
        lasting: Why nothing may be written to it at all, or None.
        trouble: What the last write to its log met, or None.
        since_ns: Since when that is so, in nanoseconds since 1970.

    Returns:
        The reason, or None when the session takes writes.

    """
    if lasting is not None:
        reason: t.WriteBlockReason = "permissionDenied"
        if tree.damaged:
            reason = "damaged"
        elif isinstance(lasting, UnsupportedVersion):
            reason = "newerVersion"
        elif isinstance(trouble, StorageFailed) and trouble.errno == errno.EROFS:
            reason = "readOnlyDisk"
        return t.WriteBlock(reason=reason, message=str(lasting), since=clock.iso(since_ns))
    if trouble is None:
        return None
    return t.WriteBlock(reason=_reason(trouble), message=str(trouble), since=clock.iso(since_ns))


def _reason(trouble: StorageFailed | LogReplaced) -> t.WriteBlockReason:
    if isinstance(trouble, LogReplaced):
        return "replaced"
    if isinstance(trouble, StorageFull):
        return "diskFull"
    if isinstance(trouble, SyncFailed):
        return "notSynced"
    return "readOnlyDisk" if trouble.errno == errno.EROFS else "failed"
