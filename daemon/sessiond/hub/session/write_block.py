"""Why a session takes no writes, and what a refused append is told. It decides nothing itself."""

import errno
from typing import TYPE_CHECKING, Final

from sessiond.hub import clock
from sessiond.hub.errors import CommandReused, IdReused, LeafConflict, UnsupportedVersion, WouldBreakTree
from sessiond.protocol import types as t
from sessiond.session.tree.tree import Tree
from sessiond.store.base import LogReplaced, StorageFailed, StorageFull, SyncFailed

if TYPE_CHECKING:
    from sessiond.hub.session.live import LiveSession

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


def refusal_of(live: "LiveSession", since_ns: int) -> t.Refuses | None:
    """Why nothing can be written to a session, or why the last write failed; None when all is well."""
    lasting, trouble = live.read_only, live.log.trouble
    if lasting is not None:
        reason: t.RefusalReason = "noRight"
        if live.tree.damaged:
            reason = "damaged"
        elif isinstance(lasting, UnsupportedVersion):
            reason = "newerVersion"
        elif isinstance(trouble, StorageFailed) and trouble.errno == errno.EROFS:
            reason = "readOnlyDisk"
        return t.Refuses(reason=reason, message=str(lasting), since=clock.iso(since_ns))
    if trouble is None:
        return None
    return t.Refuses(reason=_reason(trouble), message=str(trouble), since=clock.iso(since_ns))


def _reason(trouble: StorageFailed | LogReplaced) -> t.RefusalReason:
    if isinstance(trouble, LogReplaced):
        return "replaced"
    if isinstance(trouble, StorageFull):
        return "full"
    if isinstance(trouble, SyncFailed):
        return "notSynced"
    return "readOnlyDisk" if trouble.errno == errno.EROFS else "failed"
