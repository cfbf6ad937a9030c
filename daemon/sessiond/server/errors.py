"""Answers with exceptions: their kind, message, retryability and details.

Most classes say their kind. The table has those of the store, which does not import the protocol.
"""

import errno
import logging
import os
from collections.abc import Callable
from typing import Any, Final, TypeVar

import sessiond
from sessiond.hub import errors as hub
from sessiond.protocol import error_details as d, errors as kinds, versions
from sessiond.protocol.errors import D, ErrorData, ErrorKind, KnownError
from sessiond.protocol.methods import METHODS
from sessiond.protocol.types import Wire
from sessiond.store import errors as store
from sessiond.store.blobs import BlobDamaged

log = logging.getLogger(__name__)

E = TypeVar("E", bound=Exception)


class InvalidParams(KnownError[d.InvalidParamsDetails]):
    """Raised when the params of a request do not have the type of its method.

    Args:
        method: The method of the request.
        problem: The problem as a sentence without a period.
        place: The JSON path of the value, which begins with `$`.
        did_you_mean: Known names that are similar to an unknown one.
        hint: A whole sentence, or empty.

    """

    kind = kinds.INVALID_PARAMS
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

    def details(self) -> d.InvalidParamsDetails:
        return d.InvalidParamsDetails(path=self.place, did_you_mean=self.did_you_mean or [])


class MethodNotFound(KnownError[d.MethodNotFoundDetails]):
    """Raised for a request with an unknown method. `did_you_mean` has the most similar known one."""

    kind = kinds.METHOD_NOT_FOUND
    sentence = "There is no method {method!r:.80}."
    advice = "{hint}"

    def __init__(self, method: str) -> None:
        import difflib  # only errors need it

        suggestions = difflib.get_close_matches(method[:80], METHODS, 1)
        hint = f"Did you mean {suggestions[0]}?" if suggestions else "See `sessiond schema`."
        super().__init__(method=method, hint=hint)
        self.did_you_mean = suggestions or None

    def details(self) -> d.MethodNotFoundDetails:
        return d.MethodNotFoundDetails(did_you_mean=self.did_you_mean or [])


class UnsupportedProtocol(KnownError[d.UnsupportedVersionDetails]):
    """Raised when client and daemon share no version of the protocol."""

    kind = kinds.UNSUPPORTED_VERSION
    sentence = "This daemon (sessiond {build}) speaks {ours} of the protocol, the client {theirs}."
    advice = "Update the older of the two; `sessiond restart` restarts the daemon."

    def __init__(self, theirs: list[int]) -> None:
        super().__init__(
            build=sessiond.__version__, ours=versions.named(versions.spoken()), theirs=versions.named(theirs)
        )
        self.theirs = theirs

    def details(self) -> d.UnsupportedVersionDetails:
        return d.UnsupportedVersionDetails(
            supported_versions=versions.spoken(), requested_versions=self.theirs[:100]
        )


class NotInitialized(KnownError[None]):
    """Raised for an LSP request before the handshake."""

    kind = kinds.NOT_INITIALIZED
    sentence = "The first request of an LSP client is `initialize`."


class InvalidRequest(KnownError[None]):
    """Raised for a request that is not allowed in the present state of its connection."""

    kind = kinds.INVALID_REQUEST
    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class Canceled(KnownError[None]):
    """Raised when the client cancels a request before its response."""

    kind = kinds.CANCELED
    sentence = "The request was canceled."


def explain(error: Exception) -> tuple[int, str, ErrorData]:
    """Return the code, the message and the data for an exception.

    An exception without a kind becomes `internal`. Its `reportId` identifies the stack trace in the log.
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
    if isinstance(error, KnownError):
        return error.kind.code, str(error), error.kind.data(error.details())
    for exception, kind, details in _OF_STORE:
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


def _storage(error: store.StorageFailed) -> d.StorageDetails:
    return d.StorageDetails(path=error.path, errno=error.errno)


_OF_STORE: Final[tuple[Row, ...]] = (
    _row(store.LogNotFound, kinds.SESSION_NOT_FOUND, lambda e: hub.not_found(e.ref)),
    _row(
        store.LogCopied, kinds.ALREADY_EXISTS,
        lambda e: d.AlreadyExistsDetails(session_id=e.ref, path=e.other),
    ),
    _row(
        store.LogExists, kinds.ALREADY_EXISTS,
        lambda e: d.AlreadyExistsDetails(session_id=e.ref, path=None),
    ),
    _row(BlobDamaged, kinds.BLOB_DAMAGED, lambda e: d.BlobDamagedDetails(hash=e.hash, path=e.path)),
    _row(store.LogReadOnly, kinds.READ_ONLY, lambda _e: d.ReadOnlyDetails(path=None)),
    _row(store.LogReplaced, kinds.FOREIGN_WRITER, lambda e: d.ForeignWriterDetails(path=e.path)),
    _row(store.TooManyOpenFiles, kinds.OVERLOADED, lambda _e: d.RetryLaterDetails(retry_after_ms=500)),
    _row(store.LogMoved, kinds.OVERLOADED, lambda _e: d.RetryLaterDetails(retry_after_ms=500)),
    _row(
        store.OutcomeUnknown, kinds.OUTCOME_UNKNOWN,
        lambda e: d.OutcomeUnknownDetails(entry_ids=e.entry_ids),
    ),
    _row(store.StoreUnreachable, kinds.STORE_UNREACHABLE, lambda _e: None),
    _row(store.StorageFull, kinds.STORAGE_FULL, _storage),
    _row(store.StorageFailed, kinds.STORAGE_FAILED, _storage),
)  # fmt: skip
"""The kind and the details of each exception of the store. The first row whose class matches is used."""
