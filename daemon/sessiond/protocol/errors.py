"""The error kinds: for each its code, the type of its details, and whether a retry helps.

Clients match `data.kind`, never the message. The codes of JSON-RPC and LSP are used unchanged. Other codes are outside
the ranges that those reserve (decision 0030). `advice` has the text of each kind.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Final, Generic, TypeVar, cast

import msgspec
from msgspec import Meta

from sessiond.error_text import TemplatedError
from sessiond.protocol import error_details as d
from sessiond.protocol.enums import opened
from sessiond.protocol.types.shared import Wire

D = TypeVar("D", bound=Wire | None)


class ErrorData(Wire, frozen=True):
    """The `data` of every error. `kind` is the stable name to match, and determines the type of `details`."""

    kind: Annotated[str, opened("ErrorKind")]
    retryable: bool  # whether the same request may succeed later, without a change by the client
    # the details of this kind, as the table of kinds says; null for a kind without details
    details: Annotated[Any, Meta(extra_json_schema={"anyOf": [{"type": "object"}, {"type": "null"}]})]


@dataclass(frozen=True)
class ErrorKind(Generic[D]):
    """An error kind: its name, its code, and the type of its details (`NoneType` for none).

    A kind is retryable if the same request may succeed later without a change by the client: the cause passes, or
    another party removes it. Any method may return a general one.
    """

    name: str
    code: int
    details: type[D]
    retryable: bool = False
    general: bool = False

    def data(self, details: D) -> ErrorData:
        """Return the `data` of an error of this kind."""
        return ErrorData(kind=self.name, retryable=self.retryable, details=details)

    def read(self, data: Mapping[str, Any]) -> D | None:
        """Return the details in the `data` of an error; None if it has another kind, or other details."""
        if data.get("kind") != self.name:
            return None
        try:
            return msgspec.convert(data.get("details"), self.details)
        except msgspec.ValidationError:
            return None


PARSE: Final = ErrorKind("parse", -32700, NoneType, general=True)
INVALID_REQUEST: Final = ErrorKind("invalidRequest", -32600, NoneType, general=True)
METHOD_NOT_FOUND: Final = ErrorKind("methodNotFound", -32601, d.MethodNotFoundDetails, general=True)
INVALID_PARAMS: Final = ErrorKind("invalidParams", -32602, d.InvalidParamsDetails, general=True)
INTERNAL: Final = ErrorKind("internal", -32603, d.InternalDetails, general=True)
NOT_INITIALIZED: Final = ErrorKind("notInitialized", -32002, NoneType, general=True)
CANCELED: Final = ErrorKind("canceled", -32800, NoneType, general=True)
UNAUTHENTICATED: Final = ErrorKind("unauthenticated", 1401, NoneType)
SESSION_NOT_FOUND: Final = ErrorKind("sessionNotFound", 1404, d.SessionNotFoundDetails)
ENTRY_NOT_FOUND: Final = ErrorKind("entryNotFound", 1404, d.EntryNotFoundDetails)
BLOB_NOT_FOUND: Final = ErrorKind("blobNotFound", 1404, d.BlobNotFoundDetails)
LEAF_CONFLICT: Final = ErrorKind("leafConflict", 1409, d.LeafConflictDetails)
ID_REUSED: Final = ErrorKind("idReused", 1409, d.IdReusedDetails)
ALREADY_EXISTS: Final = ErrorKind("alreadyExists", 1409, d.AlreadyExistsDetails)
CURSOR_EXPIRED: Final = ErrorKind("cursorExpired", 1410, NoneType)
SESSION_TRASHED: Final = ErrorKind("sessionTrashed", 1410, d.SessionTrashedDetails)
NOTHING_TO_COMPACT: Final = ErrorKind("nothingToCompact", 1412, NoneType)
TOO_LARGE: Final = ErrorKind("tooLarge", 1413, d.TooLargeDetails, general=True)
FOREIGN_DIALECT: Final = ErrorKind("foreignDialect", 1415, d.ForeignDialectDetails)
WOULD_BREAK_TREE: Final = ErrorKind("wouldBreakTree", 1422, d.WouldBreakTreeDetails)
INVALID_ENTRY: Final = ErrorKind("invalidEntry", 1422, d.InvalidEntryDetails)
FOREIGN_WRITER: Final = ErrorKind("foreignWriter", 1423, d.ForeignWriterDetails)
READ_ONLY: Final = ErrorKind("readOnly", 1423, d.ReadOnlyDetails)
NO_SUMMARIZER: Final = ErrorKind("noSummarizer", 1424, NoneType)
SUMMARIZER_FAILED: Final = ErrorKind("summarizerFailed", 1424, NoneType, retryable=True)
UNSUPPORTED_VERSION: Final = ErrorKind("unsupportedVersion", 1426, d.UnsupportedVersionDetails, general=True)
DRAINING: Final = ErrorKind("draining", 1429, d.RetryLaterDetails, retryable=True)
OVERLOADED: Final = ErrorKind("overloaded", 1429, d.RetryLaterDetails, retryable=True, general=True)
SESSION_DAMAGED: Final = ErrorKind("sessionDamaged", 1500, d.SessionDamagedDetails)
BLOB_DAMAGED: Final = ErrorKind("blobDamaged", 1500, d.BlobDamagedDetails)
OUTCOME_UNKNOWN: Final = ErrorKind("outcomeUnknown", 1502, d.OutcomeUnknownDetails, general=True)
UNREACHABLE: Final = ErrorKind("unreachable", 1503, NoneType, retryable=True, general=True)
STORE_UNREACHABLE: Final = ErrorKind("storeUnreachable", 1503, NoneType, retryable=True, general=True)
STORAGE_FULL: Final = ErrorKind("storageFull", 1507, d.StorageDetails, retryable=True)
STORAGE_FAILED: Final = ErrorKind("storageFailed", 1507, d.StorageDetails, retryable=True)

KINDS: Final[dict[str, ErrorKind[Any]]] = {
    kind.name: kind for kind in tuple(vars().values()) if isinstance(kind, ErrorKind)
}
"""Every error kind that a client may receive. A new kind is a change of the protocol."""

CODES: Final[dict[str, int]] = {kind.name: kind.code for kind in KINDS.values()}


class KnownError(TemplatedError, Generic[D]):
    """The base of exceptions that a request is answered with: the class says the kind, the exception its details."""

    kind: ErrorKind[D]

    def details(self) -> D:
        """Return the details. A class defines this method only if its kind has details."""
        return cast("D", None)
