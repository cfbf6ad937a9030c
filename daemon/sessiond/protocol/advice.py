"""The text of the error table: each error kind's meaning, whether it is retryable, and the next action.

`errors.CODES` has the codes. The server chooses the kind.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Advice:
    """The texts of one error kind. `retryable` is that of `data.retryable`: the same request may succeed later."""

    means: str
    action: str
    retryable: bool = False


GENERAL: Final = (
    "parse",
    "invalidRequest",
    "methodNotFound",
    "invalidParams",
    "internal",
    "notInitialized",
    "cancelled",
    "tooLarge",
    "overloaded",
    "unsupportedVersion",
    "outcomeUnknown",
    "unreachable",
)
"""Error kinds that any method may return."""

ADVICE: Final[dict[str, Advice]] = {
    "parse": Advice("The message is not JSON.", "Fix the client. The reply's `id` is null."),
    "invalidRequest": Advice(
        "The message is JSON, but no JSON-RPC 2.0 request, notification or reply.", "Fix the client."
    ),
    "methodNotFound": Advice(
        "This daemon has no such method.",
        "Look into `methods` of the handshake before you call; see `didYouMean`.",
    ),
    "invalidParams": Advice(
        "A parameter is missing, unknown, of the wrong type or out of range; `path` says which. For an unknown one, "
        "`didYouMean` lists similar names.",
        "Fix the client.",
    ),
    "internal": Advice(
        "A defect of the daemon. Nothing of the request was kept unless the message says so.",
        "Report it with `reportId`, which stands beside the stack in the daemon's log.",
    ),
    "notInitialized": Advice(
        "An LSP request came before `initialize`. Methods of this document never answer so.",
        "Send `initialize` first.",
        retryable=True,
    ),
    "cancelled": Advice("The client cancelled the request with `$/cancelRequest`.", "Nothing."),
    "unauthenticated": Advice(
        "A client came over TCP and did not show the token in its first message. The daemon closes the connection.",
        "Send `server/authenticate` first, with what the file `tcp-token` beside the daemon's log holds.",
    ),
    "sessionNotFound": Advice(
        "No session has this id or path.",
        "See `didYouMean`, or ask `session/resolve` or `session/list`.",
    ),
    "sessionTrashed": Advice(
        "The session was moved to the trash; `trashId` is its id there. Nothing was written.",
        "Call `trash/restore` with this `trashId`, then send the same request again.",
    ),
    "entryNotFound": Advice(
        "The session has no entry with this id.", "See `didYouMean`, or read `session/tree`."
    ),
    "blobNotFound": Advice(
        "No blob has this hash.", "Take what the entry itself says; `blob/collect` lists what is missing."
    ),
    "leafConflict": Advice(
        "The leaf is not `expectedLeafId`: somebody appended or branched in between. Nothing was written.",
        "Read the `missing` lines up to `seq`, then decide: append to `currentLeaf`, or branch.",
        retryable=True,
    ),
    "idReused": Advice(
        "The session already has an entry with this id and other content, or the `commandId` belongs to another "
        "request. Nothing was written.",
        "Take a new id. A retry must send the very same entry, or the very same params.",
    ),
    "alreadyExists": Advice(
        "There already is a session with this id, or another file of the same session is open.",
        "Take another id, or open the one there is.",
    ),
    "cursorExpired": Advice(
        "The cursor belongs to another query or to a state that is gone.", "Start again without a cursor."
    ),
    "tooLarge": Advice(
        "A frame, an entry, a batch or a context has more than `limit` (it has `actual`).",
        "Split what you send; the handshake's `limits` say how much is taken. Of a context, leave images out or "
        "compact the session.",
    ),
    "nothingToCompact": Advice(
        "The path ends in a compaction already, or nothing lies before the safe cut. Nothing was written.",
        "Go on. `session/prepareCompaction` says which of the two.",
    ),
    "noSummarizer": Advice(
        "No client declared `summarize`, and no command is configured. Nothing was written.",
        "Give the summary yourself, or set `command` under `[summarizer]` in config.toml.",
    ),
    "summarizerFailed": Advice(
        "Whoever was to write the summary left, failed or wrote nothing. Nothing was changed.",
        "Send the request again, or give the summary yourself.",
        retryable=True,
    ),
    "wouldBreakTree": Advice(
        "The entry would make the tree senseless; `rule` says how. A compaction may not split a tool call "
        "from its result, and its `firstKeptEntryId` must lie on the path.",
        "Choose another place.",
    ),
    "invalidEntry": Advice(
        "A draft is no entry: not an object, without `type` or a field of its type, or with a bad id.",
        "Fix the draft; `path` says where.",
    ),
    "foreignWriter": Advice(
        "Another program cut short, changed, replaced or removed the file while it was open. What is there is left "
        "as it is.",
        "Open the session again and read what is there; or put the file back and send the same request again.",
    ),
    "readOnly": Advice(
        "The session cannot be written: its file is damaged, or may not be written; `writeBlock` of the session says "
        "which.",
        "Read it, or fork it into a session that can be written. A right that comes back is noticed.",
    ),
    "unsupportedVersion": Advice(
        "Client and daemon share no version of the protocol, or a file has a version that this daemon cannot "
        "write; `supported` lists what it can.",
        "Update the client or the daemon, whichever is older.",
    ),
    "draining": Advice(
        "The daemon is about to end and takes no more writes.",
        "Connect again (that starts a new daemon) and send the same request.",
        retryable=True,
    ),
    "overloaded": Advice(
        "Too many clients are attached, too much waits to be written or to be summarized, or too many files are open. "
        "Nothing of the request was kept.",
        "Send the same request again after `retryAfterMs`.",
        retryable=True,
    ),
    "damaged": Advice(
        "The file's header cannot be read; `path`, `line` and `byteOffset` say where. No byte was changed.",
        "Fix the file by hand, or leave it. `session/open` by path still shows what could be read.",
    ),
    "foreignDialect": Advice(
        "The file is a session of another program: `dialect` names its format, `path` the file. Such files are "
        "imported, not opened, migrated or appended to. No byte was changed.",
        "Run `importCommand`, or call `session/import`. If `importCommand` is absent, the format has no importer.",
    ),
    "outcomeUnknown": Advice(
        "The daemon ended before it answered: what was asked may have been carried out, or not. "
        "Only `sessiond attach` answers so.",
        "Look before you send it again. A request with a `commandId` is sent again without such an answer; an append "
        "whose entries bring their own ids is simply sent again.",
    ),
    "unreachable": Advice(
        "The daemon ended and cannot be started again; the message says why. Only `sessiond attach` answers so.",
        "Fix that, then send the same request again.",
        retryable=True,
    ),
    "storageFull": Advice(
        "The disk or the quota of the user is full. Nothing of the request was kept.",
        "Free some space, then send the same request again.",
        retryable=True,
    ),
    "storageFailed": Advice(
        "The disk refused (`errno`). Nothing of the request was kept.",
        "Look at the disk, then send the same request again.",
        retryable=True,
    ),
}
