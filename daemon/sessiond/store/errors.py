"""The errors of every store: refused reads and writes, and logs that are missing, existing, replaced or read-only."""

import errno
import resource
from collections.abc import Sequence

from sessiond.error_text import TemplatedError


class StorageFailed(TemplatedError):
    """Raised when the system refuses to read or write; `errno` is None if the system reported none."""

    sentence = "Storage error: {reason}."
    advice = "The request stored nothing; it may be sent again."

    def __init__(self, reason: str, *, path: str | None = None, errno: int | None = None) -> None:
        super().__init__(reason=reason)
        self.reason = reason
        self.path = path
        self.errno = errno


class StorageFull(StorageFailed):
    """Raised when the disk or the quota of the user is full."""

    sentence = "No disk space is left: {reason}."
    advice = "The request stored nothing; free some space and send it again."


class DamagedPackedLog(StorageFailed):
    """Raised when a packed log was cut off or changed, so that its lines cannot be found."""

    sentence = "{reason}."
    advice = "`sessiond doctor --fix` saves the lines that can be read, and keeps the file."


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
        name = "the session file" if path and path.endswith((".jsonl", ".jsonl.zst")) else path or "a file"
        super().__init__(f"{name}: too many open files ({limit})", path=path, errno=number)


class SyncFailed(StorageFailed):
    """Raised when a sync fails, so that the durability of the written bytes is unknown."""

    sentence = "Cannot sync the session file: {reason}. The request stored nothing."
    advice = (
        "Acknowledged entries are in memory, and are written to a new file as soon as the disk accepts one. "
        "Check the disk, and send the request again."
    )


class StoreUnreachable(StorageFailed):
    """Raised when the server of a store cannot be reached and nothing was sent to it."""

    sentence = "The store cannot be reached: {reason}."
    advice = "The request stored nothing; it may be sent again."


class OutcomeUnknown(TemplatedError):
    """Raised when the connection to a store was lost after a write was sent: the lines may be stored or not.

    It is no `StorageFailed`, which promises that nothing was stored.
    """

    sentence = "The connection to the store was lost before it confirmed the write: {reason}."
    advice = "Send the same entries with the same ids again; those that are stored are not stored twice."

    def __init__(self, reason: str, *, entry_ids: Sequence[str] = ()) -> None:
        """Create the error. `entry_ids` are the ids of the entries of the request, in their order, if it has any."""
        super().__init__(reason=reason)
        self.reason = reason
        self.entry_ids = list(entry_ids)


class LogMoved(TemplatedError):
    """Raised for a batch if another daemon's lines came first, or if one of its ids is in the log.

    No line of the batch and of the batches queued after it is stored. The lines that came first are in
    `Log.foreign_bytes`.
    """

    sentence = "Another daemon has added lines to session {ref}."
    advice = "The request stored nothing; it may be sent again."

    def __init__(self, ref: str) -> None:
        super().__init__(ref=ref)
        self.ref = ref


class LogNotFound(TemplatedError):
    """Raised for an id or ref without a log in the store."""

    sentence = "No file contains a session with the id {ref}."

    def __init__(self, ref: str) -> None:
        super().__init__(ref=ref)
        self.ref = ref


class LogExists(TemplatedError):
    """Raised when a log is to be created with an id that is taken."""

    sentence = "A session with the id {ref} already exists."
    advice = "Choose another id, or open that session."

    def __init__(self, ref: str) -> None:
        super().__init__(ref=ref)
        self.ref = ref


class LogCopied(LogExists):
    """Raised when a copy of the file of an open session is to be opened; `other` is None for one in memory."""

    sentence = "{path} contains session {ref}, which is already open ({other})."
    advice = "`sessiond import {path}` copies it into a new session."

    def __init__(self, ref: str, path: str, other: str | None) -> None:
        TemplatedError.__init__(self, ref=ref, path=path, other=other or "it is in memory")
        self.ref = ref
        self.other = other


class LogReplaced(TemplatedError):
    """Raised when the open file of a log was shortened, changed or replaced by another program."""

    sentence = "Another program truncated, changed or replaced the file {path}."
    advice = "The file is unchanged by sessiond; open it again to read it."

    def __init__(self, path: str) -> None:
        super().__init__(path=path)
        self.path = path


class LogGone(LogReplaced):
    """Raised when the open file of a log is no longer at its path."""

    sentence = "The file {path} is missing: another program moved or removed it."
    advice = "Move it back and send the request again. `sessiond export` may still save its content."


class LogReadOnly(TemplatedError):
    """Raised for a write to a log that was opened for reading, or whose file may not be written."""

    sentence = "The session accepts no entries: {reason}."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
