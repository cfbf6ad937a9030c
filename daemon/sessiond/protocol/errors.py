"""Error kinds and their codes. Clients match `data.kind`, never the message.

The codes of JSON-RPC and LSP are used unchanged. Other codes are outside the ranges that those reserve (decision
0030).
"""

from typing import Final

import msgspec

PARSE: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL: Final = -32603
NOT_INITIALIZED: Final = -32002
CANCELLED: Final = -32800

CODES: Final[dict[str, int]] = {
    "parse": PARSE,
    "invalidRequest": INVALID_REQUEST,
    "methodNotFound": METHOD_NOT_FOUND,
    "invalidParams": INVALID_PARAMS,
    "internal": INTERNAL,
    "notInitialized": NOT_INITIALIZED,
    "cancelled": CANCELLED,
    "unauthenticated": 1401,
    "sessionNotFound": 1404,
    "entryNotFound": 1404,
    "blobNotFound": 1404,
    "leafConflict": 1409,
    "idReused": 1409,
    "alreadyExists": 1409,
    "cursorExpired": 1410,
    "sessionTrashed": 1410,
    "nothingToCompact": 1412,
    "tooLarge": 1413,
    "foreignDialect": 1415,
    "wouldBreakTree": 1422,
    "invalidEntry": 1422,
    "foreignWriter": 1423,
    "readOnly": 1423,
    "noSummarizer": 1424,
    "summarizerFailed": 1424,
    "unsupportedVersion": 1426,
    "draining": 1429,
    "overloaded": 1429,
    "damaged": 1500,
    "outcomeUnknown": 1502,
    "unreachable": 1503,
    "storageFull": 1507,
    "storageFailed": 1507,
}
"""Every error kind that a client may receive. A new kind is a change of the protocol."""


class ErrorData(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """The `data` of every error.

    `kind` is the stable name to match. `retryable` says whether the same request may succeed later. The other fields
    are present where they apply to the error.
    """

    kind: str
    retryable: bool
    id: str | None = None  # the id that the error is about
    did_you_mean: list[str] | None = None  # similar ids or names
    current_leaf: str | msgspec.UnsetType | None = msgspec.UNSET  # of `leafConflict`
    seq: int | None = None  # of `leafConflict`: the seq of the last line; of `idReused`: of the stored entry
    log_id: str | None = None
    missing: int | None = None  # of `leafConflict`: number of lines after that of the expected leaf
    trash_id: str | None = None  # of `sessionTrashed`: the id of the session in the trash
    trash_path: str | None = None  # of `sessionTrashed`: the file in the trash
    path: str | None = None  # a file, or the place of an invalid value in the params
    line: int | None = None  # physical line, 1-based
    byte_offset: int | None = None
    errno: int | None = None
    limit: int | None = None
    actual: int | None = None
    supported: list[int] | None = None  # supported versions
    rule: str | None = None  # of `wouldBreakTree`
    report_id: str | None = None  # identifies the error in the daemon's log
    retry_after_ms: int | None = None  # milliseconds to wait before a retry
    dialect: str | None = None  # of `foreignDialect`: the format of the file
    import_command: str | None = None  # of `foreignDialect`: the command that imports the file
