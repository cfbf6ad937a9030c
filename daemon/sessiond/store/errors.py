"""The errors of every store: what a disk refuses, and logs that are missing, taken, replaced or read-only."""

import errno
import resource
from typing import ClassVar


class StorageFailed(Exception):
    """The disk refused: {reason}. Nothing of this request was kept; it may be sent again."""

    _TOLD: ClassVar = "The disk refused: {reason}. Nothing of this request was kept; it may be sent again."

    def __init__(self, reason: str, *, path: str | None = None, errno: int | None = None) -> None:
        super().__init__(self._TOLD.format(reason=reason))
        self.reason = reason
        self.path = path
        self.errno = errno


class StorageFull(StorageFailed):
    """There is no room left: {reason}. Nothing of this request was kept; free some space and send it again."""

    _TOLD = "There is no room left: {reason}. Nothing of this request was kept; free some space and send it again."


class TooManyOpenFiles(StorageFailed):
    """Cannot open {reason}. Send the request again, or raise the daemon's limit (`ulimit -n`, `LimitNOFILE=`)."""

    _TOLD = "Cannot open {reason}. Send the request again, or raise the daemon's limit (`ulimit -n`, `LimitNOFILE=`)."

    def __init__(self, number: int | None, path: str | None) -> None:
        """`number` is `EMFILE`, or `ENFILE` when the whole system has no descriptor left."""
        granted, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = f"limit {granted}" if number == errno.EMFILE else "in the whole system"
        what = "the session file" if path and path.endswith(".jsonl") else path or "a file"
        super().__init__(f"{what}: too many open files ({limit})", path=path, errno=number)


class SyncFailed(StorageFailed):
    """The disk did not take for good what was written: {reason}. Nothing of this request was kept.

    What was acknowledged is kept in memory, and is written to a new file as soon as the disk takes one. Look at
    the disk, and send the request again.
    """

    _TOLD = (
        "The disk did not take for good what was written: {reason}. Nothing of this request was kept. What was "
        "acknowledged is kept in memory, and is written to a new file as soon as the disk takes one. Look at the "
        "disk, and send the request again."
    )


class LogNotFound(Exception):
    """No file holds a session named {ref}."""

    def __init__(self, ref: str) -> None:
        super().__init__(f"No file holds a session named {ref}.")
        self.ref = ref


class LogExists(Exception):
    """There already is a session named {ref}. Choose another id, or open that one."""

    def __init__(self, ref: str) -> None:
        super().__init__(f"There already is a session named {ref}. Choose another id, or open that one.")
        self.ref = ref


class LogCopied(LogExists):
    """{path} holds session {ref}, and so does {other}, which is open.

    `sessiond import {path}` makes a session of its own of it.
    """

    def __init__(self, ref: str, path: str, other: str | None) -> None:
        super().__init__(ref)
        self.args = (
            f"{path} holds session {ref}, and so does {other or 'one in memory'}, which is open. "
            f"`sessiond import {path}` makes a session of its own of it.",
        )


class LogReplaced(Exception):
    """The file at {path} was cut short or replaced by another program.

    It is left as it is; open it again to read it.
    """

    _TOLD: ClassVar = (
        "The file at {path} was cut short or replaced by another program. "
        "It is left as it is; open it again to read it."
    )

    def __init__(self, path: str) -> None:
        super().__init__(self._TOLD.format(path=path))
        self.path = path


class LogGone(LogReplaced):
    """The file at {path} is gone: another program has moved or removed it.

    Put it back and send the request again. `sessiond export` may still save what it held.
    """

    _TOLD = (
        "The file at {path} is gone: another program has moved or removed it. Put it back and send the request "
        "again. `sessiond export` may still save what it held."
    )


class LogReadOnly(Exception):
    """Nothing can be added to this session: {reason}."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Nothing can be added to this session: {reason}.")
