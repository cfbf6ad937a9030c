"""The errors of every store: refused reads and writes, and logs that are missing, existing, replaced or read-only."""

import errno
import resource

from sessiond.error_text import TemplatedError


class StorageFailed(TemplatedError):
    """Raised when the system refuses to read or write; `errno` is None if the system reported none."""

    sentence = "The disk refused: {reason}."
    advice = "Nothing of this request was kept; it may be sent again."

    def __init__(self, reason: str, *, path: str | None = None, errno: int | None = None) -> None:
        super().__init__(reason=reason)
        self.reason = reason
        self.path = path
        self.errno = errno


class StorageFull(StorageFailed):
    """Raised when the disk or the quota of the user is full."""

    sentence = "There is no room left: {reason}."
    advice = "Nothing of this request was kept; free some space and send it again."


class TooManyOpenFiles(StorageFailed):
    """Raised when the process, or the whole system, has no file descriptor left."""

    sentence = "Cannot open {reason}."
    advice = "Send the request again, or raise the daemon's limit (`ulimit -n`, `LimitNOFILE=`)."

    def __init__(self, number: int | None, path: str | None) -> None:
        """Create the error.

        Args:
            number: `EMFILE`, or `ENFILE` if the whole system has no descriptor left.
            path: The file that was to be opened.
        """
        granted, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = f"limit {granted}" if number == errno.EMFILE else "in the whole system"
        what = "the session file" if path and path.endswith(".jsonl") else path or "a file"
        super().__init__(f"{what}: too many open files ({limit})", path=path, errno=number)


class SyncFailed(StorageFailed):
    """Raised when a sync fails, so that the durability of the written bytes is unknown."""

    sentence = "The disk did not take for good what was written: {reason}. Nothing of this request was kept."
    advice = (
        "What was acknowledged is kept in memory, and is written to a new file as soon as the disk takes one. "
        "Look at the disk, and send the request again."
    )


class LogNotFound(TemplatedError):
    """Raised for an id or ref of which the store has no log."""

    sentence = "No file holds a session named {ref}."

    def __init__(self, ref: str) -> None:
        super().__init__(ref=ref)
        self.ref = ref


class LogExists(TemplatedError):
    """Raised when a log is to be created with an id that is taken."""

    sentence = "There already is a session named {ref}."
    advice = "Choose another id, or open that one."

    def __init__(self, ref: str) -> None:
        super().__init__(ref=ref)
        self.ref = ref


class LogCopied(LogExists):
    """Raised when a copy of the file of an open session is to be opened; `other` is None for one in memory."""

    sentence = "{path} holds session {ref}, and so does {other}, which is open."
    advice = "`sessiond import {path}` makes a session of its own of it."

    def __init__(self, ref: str, path: str, other: str | None) -> None:
        TemplatedError.__init__(self, ref=ref, path=path, other=other or "one in memory")
        self.ref = ref
        self.other = other


class LogReplaced(TemplatedError):
    """Raised when the open file of a log was shortened, changed or replaced by another program."""

    sentence = "The file at {path} was cut short or replaced by another program."
    advice = "It is left as it is; open it again to read it."

    def __init__(self, path: str) -> None:
        super().__init__(path=path)
        self.path = path


class LogGone(LogReplaced):
    """Raised when the open file of a log is no longer at its path."""

    sentence = "The file at {path} is gone: another program has moved or removed it."
    advice = "Put it back and send the request again. `sessiond export` may still save what it held."


class LogReadOnly(TemplatedError):
    """Raised for a write to a log that was opened for reading, or whose file may not be written."""

    sentence = "Nothing can be added to this session: {reason}."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
