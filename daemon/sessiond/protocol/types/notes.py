"""The notifications that the daemon sends."""

from typing import Annotated

from sessiond.protocol.enums import opened
from sessiond.protocol.types.shared import Entry, Origin, SessionInfo, Wire


class CreatedNote(Wire, frozen=True):
    """A session was created, or a draft became a session. Sent to every client."""

    session: SessionInfo
    origin: Origin


class AppendedNote(Wire, frozen=True):
    """Lines were added. `replay` is true for lines that close a gap."""

    session_id: str
    log_id: str
    entries: list[Entry]
    seqs: list[int]
    seq: int  # of the last line
    leaf_id: str | None
    origin: Origin | None = None
    replay: bool = False


class LeafMovedNote(Wire, frozen=True):
    """The leaf moved to an earlier entry, to before the first entry, or to a new branch summary.

    When the leaf moves to any other new entry, only `session/appended` reports it.
    """

    session_id: str
    leaf_id: str | None
    previous_leaf_id: str | None
    log_id: str
    seq: int
    origin: Origin


class ChangedNote(Wire, frozen=True):
    """The title, tags, labels, path, folder or write block (`writeBlock`) of a session changed."""

    session: SessionInfo
    changed: list[Annotated[str, opened("SessionChange")]]
    origin: Origin


class DeletedNote(Wire, frozen=True):
    """A session moved to the trash: a client deleted it, or its draft was closed. It is closed for every client."""

    session_id: str  # the full id of the session
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

    session_id: str
    leaf_id: str
    tokens: int
    context_window: int
    reserve_tokens: int
    summarizer: Annotated[str, opened("Summarizer")] | None


class LaggedNote(Wire, frozen=True):
    """The client read too slowly, and its subscription was canceled. It subscribes again after `lastSeq` of `logId`."""

    session_id: str
    log_id: str
    last_seq: int
