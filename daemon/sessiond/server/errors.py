"""Maps exceptions to errors of the protocol: kind, message, retryability and details."""

import difflib
import errno
import logging
import os
from collections.abc import Callable
from typing import Any, Final

import sessiond
from sessiond.error_text import TemplatedError
from sessiond.hub import errors as hub
from sessiond.protocol import versions
from sessiond.protocol.advice import ADVICE
from sessiond.protocol.errors import CODES, ErrorData
from sessiond.protocol.methods import METHODS
from sessiond.store import errors as store
from sessiond.store.blobs import BlobDamaged

log = logging.getLogger(__name__)


class InvalidParams(TemplatedError):
    """Raised when the params of a request do not have the type of its method.

    Args:
        method: The method of the request.
        problem: What is wrong, without a period.
        place: The JSON path of the value, which begins with `$`.
        did_you_mean: Known names that are similar to an unknown one.
        hint: A whole sentence, or empty.

    """

    sentence = "{method}: {problem}.{hint}"

    def __init__(
        self,
        method: str,
        problem: str,
        place: str = "$",
        did_you_mean: list[str] | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(method=method, problem=problem, hint=f" {hint}".rstrip())
        self.place = place
        self.did_you_mean = did_you_mean or None


class MethodNotFound(TemplatedError):
    """Raised for a request with an unknown method. `did_you_mean` has the most similar known one."""

    sentence = "There is no method {method!r:.80}."
    advice = "{hint}"

    def __init__(self, method: str) -> None:
        near = difflib.get_close_matches(method[:80], METHODS, 1)
        hint = f"Did you mean {near[0]}?" if near else "See `sessiond schema`."
        super().__init__(method=method, hint=hint)
        self.did_you_mean = near or None


class UnsupportedProtocol(TemplatedError):
    """Raised when client and daemon share no version of the protocol."""

    sentence = "This daemon (sessiond {build}) speaks {ours} of the protocol, the client {theirs}."
    advice = "Update the older of the two; `sessiond restart` restarts the daemon."

    def __init__(self, theirs: list[int]) -> None:
        super().__init__(
            build=sessiond.__version__, ours=versions.named(versions.spoken()), theirs=versions.named(theirs)
        )


class NotInitialized(TemplatedError):
    """Raised for an LSP request before the handshake."""

    sentence = "The first request of an LSP client is `initialize`."


class InvalidRequest(TemplatedError):
    """Raised for a request that is not allowed in the present state of its connection."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class Cancelled(TemplatedError):
    """Raised when the client cancels a request before its response."""

    sentence = "The request was cancelled."


def explain(error: Exception) -> tuple[int, str, ErrorData]:
    """Return the code, the message and the data for an exception.

    An exception that is not in the table becomes `internal`. Its `reportId` identifies the stack trace in the log.
    """
    if isinstance(error, OSError):
        error = _refusal(error)
    for kind, name, details in _TABLE:
        if isinstance(error, kind):
            data = ErrorData(kind=name, retryable=ADVICE[name].retryable, **details(error))
            return CODES[name], str(error), data
    report = os.urandom(6).hex()
    log.error("report %s", report, exc_info=error)
    message = f"Something went wrong inside the daemon; its log has the report {report}."
    return (
        CODES["internal"],
        message,
        ErrorData(kind="internal", retryable=ADVICE["internal"].retryable, report_id=report),
    )


def _refusal(error: OSError) -> store.StorageFailed:
    """Convert an error of the system that no layer assigned to one of the daemon's files."""
    where = error.filename if isinstance(error.filename, str) else None
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return store.TooManyOpenFiles(error.errno, where)
    kind = store.StorageFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else store.StorageFailed
    reason = error.strerror or str(error) or type(error).__name__
    return kind(f"{where}: {reason}" if where else reason, path=where, errno=error.errno)


_Details = Callable[[Any], dict[str, Any]]


def _nothing(_error: Exception) -> dict[str, Any]:
    return {}


def _damaged(error: hub.Damaged) -> dict[str, Any]:
    return {"path": error.path, "line": error.problem.line, "byte_offset": error.problem.offset}


def _storage(error: store.StorageFailed) -> dict[str, Any]:
    return {"path": error.path, "errno": error.errno}


_TABLE: Final[tuple[tuple[type[Exception], str, _Details], ...]] = (
    (InvalidParams, "invalidParams", lambda e: {"path": e.place, "did_you_mean": e.did_you_mean}),
    (hub.IncompatibleParams, "invalidParams", lambda _e: {"path": "$"}),
    (MethodNotFound, "methodNotFound", lambda e: {"did_you_mean": e.did_you_mean}),
    (UnsupportedProtocol, "unsupportedVersion", lambda _e: {"supported": versions.spoken()}),
    (NotInitialized, "notInitialized", _nothing),
    (InvalidRequest, "invalidRequest", _nothing),
    (Cancelled, "cancelled", _nothing),
    (hub.SessionNotFound, "sessionNotFound", lambda e: {"id": e.ref, "did_you_mean": e.did_you_mean}),
    (store.LogNotFound, "sessionNotFound", lambda e: {"id": e.ref}),
    (hub.NotInTrash, "sessionNotFound", lambda e: {"id": e.ref, "did_you_mean": e.did_you_mean}),
    (
        hub.SessionTrashed,
        "sessionTrashed",
        lambda e: {"id": e.session_id, "trash_id": e.trash_id, "trash_path": e.trash_path},
    ),
    (hub.EntryNotFound, "entryNotFound", lambda e: {"id": e.entry_id, "did_you_mean": e.did_you_mean}),
    (
        hub.LeafConflict,
        "leafConflict",
        lambda e: {"current_leaf": e.current, "log_id": e.log_id, "seq": e.seq, "missing": e.missing},
    ),
    (hub.IdReused, "idReused", lambda e: {"id": e.entry_id, "log_id": e.log_id, "seq": e.seq}),
    (hub.CommandReused, "idReused", lambda e: {"id": e.command_id}),
    (store.LogExists, "alreadyExists", lambda e: {"id": e.ref}),
    (hub.CursorExpired, "cursorExpired", _nothing),
    (hub.InvalidEntry, "invalidEntry", lambda e: {"path": e.place}),
    (hub.TooLarge, "tooLarge", lambda e: {"actual": e.actual, "limit": e.limit}),
    (hub.ContextTooLarge, "tooLarge", lambda e: {"actual": e.actual, "limit": e.limit}),
    (hub.EntryTooLarge, "tooLarge", lambda e: {"actual": e.actual, "limit": e.limit}),
    (hub.WouldBreakTree, "wouldBreakTree", lambda e: {"id": e.entry_id, "rule": e.rule}),
    (hub.NothingToCompact, "nothingToCompact", _nothing),
    (hub.NoSummarizer, "noSummarizer", _nothing),
    (hub.SummarizerFailed, "summarizerFailed", _nothing),
    (hub.BlobNotFound, "blobNotFound", lambda e: {"id": e.hash}),
    (BlobDamaged, "damaged", lambda e: {"path": e.path}),
    (hub.ReadOnly, "readOnly", lambda e: {"path": e.path}),
    (store.LogReadOnly, "readOnly", _nothing),
    (store.LogReplaced, "foreignWriter", lambda e: {"path": e.path}),
    (hub.UnsupportedVersion, "unsupportedVersion", lambda _e: {"supported": [1, 2, 3]}),
    (hub.Draining, "draining", lambda _e: {"retry_after_ms": 200}),
    (hub.Overloaded, "overloaded", lambda _e: {"retry_after_ms": 500}),
    (hub.Damaged, "damaged", _damaged),
    (
        hub.ForeignDialect,
        "foreignDialect",
        lambda e: {"path": e.path, "dialect": e.dialect, "import_command": e.import_command},
    ),
    (store.TooManyOpenFiles, "overloaded", lambda e: _storage(e) | {"retry_after_ms": 500}),
    (store.StorageFull, "storageFull", _storage),
    (store.StorageFailed, "storageFailed", _storage),
)
