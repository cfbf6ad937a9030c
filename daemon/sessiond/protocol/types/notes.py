"""The notifications that the daemon sends."""

from typing import Annotated

from sessiond.protocol.enums import opened
from sessiond.protocol.types.sessions import ListedSession
from sessiond.protocol.types.shared import Origin, SessionInfo, StoredEntry, Wire


class CreatedNote(Wire, frozen=True):
    """A session was created: as a draft, or by an import or a fork. Sent to every client, once for each session."""

    session: SessionInfo  # the new session
    origin: Origin  # the cause


class AppendedNote(Wire, frozen=True):
    """Lines were added. Several notifications that follow each other may report the lines of one append.

    A notification has at least one line. Its size is limited: a larger batch is sent as a replay, in parts of about
    128 KiB, each with at least one line.
    """

    session_id: str  # the session
    log_id: str  # the log of the seqs
    items: list[StoredEntry]  # the lines, in log order; a line that is no entry is left out
    from_seq: int  # the seq of the first line
    to_seq: int  # the seq of the last line
    leaf_id: str | None  # the session's leaf after all lines of the log; null before the first entry
    origin: Origin | None = None  # the cause; null for a replay
    replay: bool = False  # true if the lines close a gap, or are too large to be sent to all at once


class LeafMovedNote(Wire, frozen=True):
    """The leaf moved to an earlier entry, to before the first entry, or to a new branch summary.

    When the leaf moves to any other new entry, only `session/appended` reports it.
    """

    session_id: str  # the session
    leaf_id: str | None  # the leaf now; null before the first entry
    previous_leaf_id: str | None  # the leaf before
    log_id: str  # the log of `seq`
    seq: int  # the seq of the line that recorded the move
    origin: Origin  # the cause


class ChangedNote(Wire, frozen=True):
    """The title, tags, labels, path, folder or write block of a session changed, or a draft became a session."""

    session: SessionInfo  # the session as it is now
    changed: list[Annotated[str, opened("SessionChange")]]  # the parts that changed, each once
    origin: Origin  # the cause


class DeletedNote(Wire, frozen=True):
    """A session moved to the trash: a client deleted it, or its draft was closed. It is closed for every client."""

    session_id: str  # the session's full id
    trash_id: str  # its id in the trash, for `trash/restore`
    trash_path: str | None  # its file in the trash, for information; null for an ephemeral session
    note: str | None  # the text of the request or of the daemon; null without one
    origin: Origin  # the cause of the deletion


class RestoredNote(Wire, frozen=True):
    """A session was restored from the trash. Sent to every client."""

    session: SessionInfo  # the session, at its former path
    origin: Origin  # the cause of the change


class ContextFilledNote(Wire, frozen=True):
    """A session is larger than its settings allow in the context window.

    Sent to subscribers, once until the session is compacted or the leaf moves elsewhere. If there is a `summarizer`,
    the server compacts the session automatically. If it is null, a client has to do so.
    """

    session_id: str  # the session's full id
    leaf_id: str  # the end of the path that is full
    tokens: int  # tokens of the context
    context_window: int  # tokens of the model's context window, from the settings
    reserve_tokens: int  # tokens that stay free for the response, from the settings
    summarizer: Annotated[str, opened("Summarizer")] | None  # the writer of summaries; null if there is none


class LaggedNote(Wire, frozen=True):
    """The client read too slowly, and its subscription was canceled. It subscribes again after `lastSeq` of `logId`."""

    session_id: str
    log_id: str
    last_seq: int


class SessionsChangedNote(Wire, frozen=True):
    """Rows of a watched list changed (`server/watch`).

    `changed` has at most 200 sessions with their current rows, as `session/list` returns them. They replace all rows
    that the client has of these sessions. `removed` names sessions that are not in the list any more, or that the
    client never had. `position` is the position after these changes.
    """

    watch_id: str  # the id of the watch
    epoch: str  # as in the handshake
    position: int  # the position after these changes
    changed: list[ListedSession]  # in no particular order
    removed: list[str]  # session ids
    replay: bool  # whether the change is older than the watch


class WatchLapsedNote(Wire, frozen=True):
    """A watch ended, because the server does not know all changes any more. The client watches and lists again."""

    watch_id: str  # the id of the watch
    reason: Annotated[str, opened("WatchLapseReason")]
    message: str  # a sentence about the reason
