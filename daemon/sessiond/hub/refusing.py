"""Why a session takes no writes: one word for programs, a sentence for people. It decides nothing itself."""

import errno
from typing import TYPE_CHECKING

from sessiond.hub import clock
from sessiond.hub.errors import UnsupportedVersion
from sessiond.protocol import types as t
from sessiond.store.base import LogReplaced, StorageFailed, StorageFull, SyncFailed

if TYPE_CHECKING:
    from sessiond.hub.live import LiveSession


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
