"""Maps exceptions to errors of the protocol: kind, message, retryability and details."""

import errno
import logging
import os
from collections.abc import Callable
from typing import Any, Final, TypeVar

import sessiond
from sessiond.error_text import TemplatedError
from sessiond.hub import errors as hub
from sessiond.protocol import error_details as d, errors as kinds, versions
from sessiond.protocol.errors import ErrorData, ErrorKind
from sessiond.protocol.methods import METHODS
from sessiond.protocol.types import Wire
from sessiond.store import errors as store
from sessiond.store.blobs import BlobDamaged

log = logging.getLogger(__name__)

D = TypeVar("D", bound=Wire | None)
E = TypeVar("E", bound=Exception)


class InvalidParams(TemplatedError):
    """Raised when the params of a request do not have the type of its method.

    Args:
        method: The method of the request.
        problem: The problem as a sentence without a period.
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
        import difflib  # only errors need it

        suggestions = difflib.get_close_matches(method[:80], METHODS, 1)
        hint = f"Did you mean {suggestions[0]}?" if suggestions else "See `sessiond schema`."
        super().__init__(method=method, hint=hint)
        self.did_you_mean = suggestions or None


class UnsupportedProtocol(TemplatedError):
    """Raised when client and daemon share no version of the protocol."""

    sentence = "This daemon (sessiond {build}) speaks {ours} of the protocol, the client {theirs}."
    advice = "Update the older of the two; `sessiond restart` restarts the daemon."

    def __init__(self, theirs: list[int]) -> None:
        super().__init__(
            build=sessiond.__version__, ours=versions.named(versions.spoken()), theirs=versions.named(theirs)
        )
        self.theirs = theirs


class NotInitialized(TemplatedError):
    """Raised for an LSP request before the handshake."""

    sentence = "The first request of an LSP client is `initialize`."


class InvalidRequest(TemplatedError):
    """Raised for a request that is not allowed in the present state of its connection."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class Canceled(TemplatedError):
    """Raised when the client cancels a request before its response."""

    sentence = "The request was canceled."


def explain(error: Exception) -> tuple[int, str, ErrorData]:
    """Return the code, the message and the data for an exception.

    An exception that is not in the table becomes `internal`. Its `reportId` identifies the stack trace in the log.
    """
    if isinstance(error, OSError):
        error = _refusal(error)
    elif isinstance(error, MemoryError):
        error = hub.Overloaded("the system gives it no memory for this request")
    elif isinstance(error, hub.ChildFailed):
        log.warning("%s", error)
        error = hub.Overloaded(
            f"the process that was to do the work {error.reason}; its memory may be limited"
        )
    for exception, kind, details in _TABLE:
        if isinstance(error, exception):
            return kind.code, str(error), kind.data(details(error))
    report = os.urandom(6).hex()
    log.error("report %s", report, exc_info=error)
    message = f"Something went wrong inside the daemon; its log has the report {report}."
    return kinds.INTERNAL.code, message, kinds.INTERNAL.data(d.InternalDetails(report_id=report))


def _refusal(error: OSError) -> store.StorageFailed:
    """Convert an error of the system that no layer assigned to one of the daemon's files."""
    where = error.filename if isinstance(error.filename, str) else None
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return store.TooManyOpenFiles(error.errno, where)
    kind = store.StorageFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else store.StorageFailed
    reason = error.strerror or str(error) or type(error).__name__
    return kind(f"{where}: {reason}" if where else reason, path=where, errno=error.errno)


Row = tuple[type[Exception], ErrorKind[Any], Callable[[Any], Wire | None]]


def _row(exception: type[E], kind: ErrorKind[D], details: Callable[[E], D]) -> Row:
    """Return a row of the table. mypy compares the return type of `details` with the type of the kind's details."""
    return exception, kind, details


def _bare(exception: type[Exception], kind: ErrorKind[None]) -> Row:
    """Return a row for a kind without details."""
    return exception, kind, lambda _error: None


def _not_found(error: hub.SessionNotFound | hub.NotInTrash | store.LogNotFound) -> d.SessionNotFoundDetails:
    is_path = error.ref.startswith("/")
    suggestions = None if isinstance(error, store.LogNotFound) else error.did_you_mean
    return d.SessionNotFoundDetails(
        session_id=None if is_path else error.ref,
        path=error.ref if is_path else None,
        did_you_mean=suggestions or [],
    )


def _conflict(error: hub.LeafConflict) -> d.LeafConflictDetails:
    return d.LeafConflictDetails(
        current_leaf_id=error.current,
        last_seq=error.seq,
        log_id=error.log_id or "",
        missing_count=error.missing,
    )


def _too_large(error: hub.TooLarge | hub.ContextTooLarge | hub.EntryTooLarge) -> d.TooLargeDetails:
    return d.TooLargeDetails(limit_bytes=error.limit, actual_bytes=error.actual)


def _storage(error: store.StorageFailed) -> d.StorageDetails:
    return d.StorageDetails(path=error.path, errno=error.errno)


_TABLE: Final[tuple[Row, ...]] = (
    _row(
        InvalidParams, kinds.INVALID_PARAMS,
        lambda e: d.InvalidParamsDetails(path=e.place, did_you_mean=e.did_you_mean or []),
    ),
    _row(
        hub.IncompatibleParams, kinds.INVALID_PARAMS,
        lambda _e: d.InvalidParamsDetails(path="$", did_you_mean=[]),
    ),
    _row(
        hub.TooManyTags, kinds.INVALID_PARAMS,
        lambda _e: d.InvalidParamsDetails(path="$.add", did_you_mean=[]),
    ),
    _row(
        MethodNotFound, kinds.METHOD_NOT_FOUND,
        lambda e: d.MethodNotFoundDetails(did_you_mean=e.did_you_mean or []),
    ),
    _row(
        UnsupportedProtocol, kinds.UNSUPPORTED_VERSION,
        lambda e: d.UnsupportedVersionDetails(
            supported_versions=versions.spoken(), requested_versions=e.theirs[:100]
        ),
    ),
    _bare(NotInitialized, kinds.NOT_INITIALIZED),
    _bare(InvalidRequest, kinds.INVALID_REQUEST),
    _bare(Canceled, kinds.CANCELED),
    _row(hub.SessionNotFound, kinds.SESSION_NOT_FOUND, _not_found),
    _row(store.LogNotFound, kinds.SESSION_NOT_FOUND, _not_found),
    _row(hub.NotInTrash, kinds.SESSION_NOT_FOUND, _not_found),
    _row(
        hub.SessionTrashed, kinds.SESSION_TRASHED,
        lambda e: d.SessionTrashedDetails(
            session_id=e.session_id, trash_id=e.trash_id, trash_path=e.trash_path
        ),
    ),
    _row(
        hub.EntryNotFound, kinds.ENTRY_NOT_FOUND,
        lambda e: d.EntryNotFoundDetails(entry_id=e.entry_id, did_you_mean=e.did_you_mean or []),
    ),
    _row(hub.LeafConflict, kinds.LEAF_CONFLICT, _conflict),
    _row(
        hub.IdReused, kinds.ID_REUSED,
        lambda e: d.IdReusedDetails(entry_id=e.entry_id, command_id=None, log_id=e.log_id, seq=e.seq),
    ),
    _row(
        hub.CommandReused, kinds.ID_REUSED,
        lambda e: d.IdReusedDetails(entry_id=None, command_id=e.command_id, log_id=None, seq=None),
    ),
    _row(
        store.LogCopied, kinds.ALREADY_EXISTS,
        lambda e: d.AlreadyExistsDetails(session_id=e.ref, path=e.other),
    ),
    _row(
        store.LogExists, kinds.ALREADY_EXISTS,
        lambda e: d.AlreadyExistsDetails(session_id=e.ref, path=None),
    ),
    _bare(hub.CursorExpired, kinds.CURSOR_EXPIRED),
    _row(hub.InvalidEntry, kinds.INVALID_ENTRY, lambda e: d.InvalidEntryDetails(path=e.place)),
    _row(hub.TooLarge, kinds.TOO_LARGE, _too_large),
    _row(hub.ContextTooLarge, kinds.TOO_LARGE, _too_large),
    _row(hub.EntryTooLarge, kinds.TOO_LARGE, _too_large),
    _row(
        hub.WouldBreakTree, kinds.WOULD_BREAK_TREE,
        lambda e: d.WouldBreakTreeDetails(rule=e.rule, entry_id=e.entry_id),
    ),
    _bare(hub.NothingToCompact, kinds.NOTHING_TO_COMPACT),
    _bare(hub.NoSummarizer, kinds.NO_SUMMARIZER),
    _bare(hub.SummarizerFailed, kinds.SUMMARIZER_FAILED),
    _row(hub.BlobNotFound, kinds.BLOB_NOT_FOUND, lambda e: d.BlobNotFoundDetails(hash=e.hash)),
    _row(BlobDamaged, kinds.BLOB_DAMAGED, lambda e: d.BlobDamagedDetails(hash=e.hash, path=e.path)),
    _row(hub.ReadOnly, kinds.READ_ONLY, lambda e: d.ReadOnlyDetails(path=e.path)),
    _row(store.LogReadOnly, kinds.READ_ONLY, lambda _e: d.ReadOnlyDetails(path=None)),
    _row(store.LogReplaced, kinds.FOREIGN_WRITER, lambda e: d.ForeignWriterDetails(path=e.path)),
    _row(
        hub.UnsupportedVersion, kinds.UNSUPPORTED_VERSION,
        lambda e: d.UnsupportedVersionDetails(supported_versions=[1, 2, 3], requested_versions=[e.version]),
    ),
    _row(hub.Draining, kinds.DRAINING, lambda _e: d.RetryLaterDetails(retry_after_ms=200)),
    _row(hub.Overloaded, kinds.OVERLOADED, lambda _e: d.RetryLaterDetails(retry_after_ms=500)),
    _row(
        hub.Damaged, kinds.SESSION_DAMAGED,
        lambda e: d.SessionDamagedDetails(path=e.path, line=e.problem.line, byte_offset=e.problem.offset),
    ),
    _row(
        hub.ForeignDialect, kinds.FOREIGN_DIALECT,
        lambda e: d.ForeignDialectDetails(path=e.path, dialect=e.dialect, import_command=e.import_command),
    ),
    _row(store.TooManyOpenFiles, kinds.OVERLOADED, lambda _e: d.RetryLaterDetails(retry_after_ms=500)),
    _row(store.LogMoved, kinds.OVERLOADED, lambda _e: d.RetryLaterDetails(retry_after_ms=500)),
    _row(
        store.OutcomeUnknown, kinds.OUTCOME_UNKNOWN,
        lambda e: d.OutcomeUnknownDetails(entry_ids=e.entry_ids),
    ),
    _bare(store.StoreUnreachable, kinds.STORE_UNREACHABLE),
    _row(store.StorageFull, kinds.STORAGE_FULL, _storage),
    _row(store.StorageFailed, kinds.STORAGE_FAILED, _storage),
)  # fmt: skip
"""The kind and the details of each exception. The first row whose class matches the exception is used."""
