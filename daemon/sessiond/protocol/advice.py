"""The text of the error table: what each error kind means, and the next action. `errors` has the kinds."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Advice:
    """The texts of one error kind: the state and its cause, and the next action of the client or its user."""

    means: str
    action: str


ADVICE: Final[dict[str, Advice]] = {
    "parse": Advice("The message is not JSON.", "Fix the client. The `id` of the response is null."),
    "invalidRequest": Advice(
        "The message is JSON, but not a request, notification or response of JSON-RPC 2.0; or the connection does "
        "not allow the request at this time.",
        "Fix the client.",
    ),
    "methodNotFound": Advice(
        "The daemon has no method of this name.",
        "Read `methods` of the handshake before you call a method. `didYouMean` lists similar methods.",
    ),
    "invalidParams": Advice(
        "A parameter is missing, unknown, of the wrong type or out of range, or contradicts another one. `path` names "
        "it. For an unknown parameter, `didYouMean` lists similar names.",
        "Fix the client.",
    ),
    "internal": Advice(
        "The daemon has a defect. The request had no effect, unless the message says otherwise.",
        "Report the defect. `reportId` identifies the stack trace in the daemon's log.",
    ),
    "notInitialized": Advice(
        "The client sent a request of LSP before `initialize`. The methods of this document do not need `initialize`.",
        "Send `initialize` first.",
    ),
    "canceled": Advice(
        "The client canceled the request with `$/cancelRequest`. The request had no effect.",
        "The client needs no action.",
    ),
    "unauthenticated": Advice(
        "A client on TCP sent no token, or a wrong one, in its first message. The daemon closes the connection.",
        "Connect again and send `server/authenticate` first, with the content of the file `tcp-token` in the folder of "
        "the daemon's log.",
    ),
    "sessionNotFound": Advice(
        "No session has this id or path.",
        "Use an id of `didYouMean`, or call `session/resolve` or `session/list`.",
    ),
    "sessionTrashed": Advice(
        "A client deleted the session, or closed its draft. `trashId` is its id in the trash. The request had no "
        "effect.",
        "Call `trash/restore` with `trashId`, then send the same request again.",
    ),
    "entryNotFound": Advice(
        "The session has no entry with this id.", "Use an id of `didYouMean`, or call `session/tree`."
    ),
    "blobNotFound": Advice(
        "The daemon has no blob with this hash.",
        "Show the entry without the blob. `blob/collect` lists the hashes that entries name and the daemon does not "
        "have.",
    ),
    "leafConflict": Advice(
        "The leaf is not `expectedLeafId`, because another client or program appended or branched. The request had no "
        "effect.",
        "Read the last `missingCount` lines, up to `lastSeq`. Then send a new request with `currentLeafId` as "
        "`expectedLeafId`, or one that branches.",
    ),
    "idReused": Advice(
        "The session has an entry with this id and other content, or the `commandId` belongs to another request. The "
        "request had no effect.",
        "Use a new id for a new request. To repeat a request, send the same entries or the same params.",
    ),
    "alreadyExists": Advice(
        "A session with this id exists, or another file of the same session is open.",
        "Use another id, or open the existing session.",
    ),
    "cursorExpired": Advice(
        "The cursor or the position belongs to another query, or to a state that no longer exists.",
        "Send the request again without it, and read from the beginning.",
    ),
    "tooLarge": Advice(
        "A message, an entry, a batch or a context has more than `limitBytes`; `actualBytes` is its size.",
        "Divide the message: `limits` of the handshake has the limits. For a context, omit images, or compact the "
        "session.",
    ),
    "nothingToCompact": Advice(
        "The path ends in a compaction, or has no entry before the safe cut. The request had no effect.",
        "Continue without a compaction. `reason` of `session/prepareCompaction` says which of the two applies.",
    ),
    "noSummarizer": Advice(
        "No client declared `summarize`, and `config.toml` has no command. The request had no effect.",
        "Send the summary with the request, attach a client that declares `summarize`, or set `command` under "
        "`[summarizer]` in `config.toml`.",
    ),
    "summarizerFailed": Advice(
        "The summarizer disconnected, failed, took too long or returned no text. The request had no effect.",
        "Send the same request again, or send the summary with the request.",
    ),
    "wouldBreakTree": Advice(
        "The compaction violates a rule of the tree; `rule` names it. The request had no effect.",
        "Choose another parent or another `firstKeptEntryId`. `session/prepareCompaction` returns a safe one.",
    ),
    "invalidEntry": Advice(
        "A draft is not a valid entry: it is not an object, has no `type`, has no field that its type requires, or has "
        "an invalid id. `path` names the place. The daemon stored no entry of the request.",
        "Fix the draft.",
    ),
    "foreignWriter": Advice(
        "Another program truncated, changed, moved or removed the file of the open session. The daemon leaves the file "
        "as it is.",
        "Open the session again and read its present state. If the file was moved or removed, put it back and send the "
        "same request again.",
    ),
    "readOnly": Advice(
        "The session accepts no writes, because its header cannot be read, or its file is not writable. `writeBlock` "
        "of the session has the reason.",
        "Read the session, or fork it into a session that can be written. After its permissions change, the daemon "
        "accepts writes without a restart.",
    ),
    "unsupportedVersion": Advice(
        "The client and the daemon support no common version of the protocol, or a session file has a format version "
        "that the daemon cannot write. `supportedVersions` lists the versions of the daemon.",
        "Update the client or the daemon, whichever is older.",
    ),
    "draining": Advice(
        "The daemon is stopping. The request had no effect.",
        "Connect again, which starts a new daemon, and send the same request again.",
    ),
    "overloaded": Advice(
        "A limit is reached: of clients, of writes that wait for the disk, of requests for summaries, or of open "
        "files. The request had no effect.",
        "Send the same request again after `retryAfterMs`.",
    ),
    "sessionDamaged": Advice(
        "The header of the session file cannot be read. `path`, `line` and `byteOffset` name the place. The daemon "
        "changed no byte.",
        "Repair the file by hand. `sessiond doctor FILE` lists its problems.",
    ),
    "blobDamaged": Advice(
        "The content of the blob's file does not have the hash of the blob. The daemon leaves the file as it is.",
        "Show the entry without the blob. `sessiond doctor --fix` restores the blob if the trash has a good copy.",
    ),
    "foreignDialect": Advice(
        "The file is a session of another program. `dialect` names its format. The daemon imports such files; it does "
        "not open them or append to them. It changed no byte.",
        "Run `importCommand`, or call `session/import`.",
    ),
    "outcomeUnknown": Advice(
        "The outcome of the request is unknown: the daemon ended before it responded, or it lost the store before the "
        "store confirmed the write. For a daemon that ended, `sessiond attach` responds with this error, and only to "
        "requests that it cannot send again: without a `commandId`, or with entries that have no ids.",
        "If `entryIds` has an id for each entry, send the same entries again with these ids: stored ones are "
        "duplicates then. Otherwise read the session before you send the request again.",
    ),
    "unreachable": Advice(
        "The daemon ended and cannot be started; the message has the reason. Only `sessiond attach` responds with this "
        "error.",
        "Remove the cause, then send the same request again.",
    ),
    "storeUnreachable": Advice(
        "The server that stores the sessions cannot be reached; the message has the reason. The request had no effect. "
        "Open sessions can be read and are marked as `stale`.",
        "Send the same request again later. The daemon reconnects by itself.",
    ),
    "storageFull": Advice(
        "The disk, or the quota of the user, is full. The request had no effect.",
        "Free disk space, then send the same request again.",
    ),
    "storageFailed": Advice(
        "The system refused to read or write; `errno` is its error number. The request had no effect.",
        "Remove the cause, such as a missing permission or a failing disk, then send the same request again.",
    ),
}
