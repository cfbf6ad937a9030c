"""What the daemon tells without being asked."""

from typing import Literal

from sessiond.protocol.types.shared import Entry, Origin, SessionInfo, Wire


class CreatedNote(Wire, frozen=True):
    """A session was created, or a draft became one. Sent to every client."""

    session: SessionInfo
    origin: Origin


class AppendedNote(Wire, frozen=True):
    """Lines were added. `replay` marks those sent to close a gap."""

    session_id: str
    log_id: str
    entries: list[Entry]
    seqs: list[int]
    seq: int  # of the last line
    leaf_id: str | None
    origin: Origin | None = None
    replay: bool = False


class LeafMovedNote(Wire, frozen=True):
    """The leaf went elsewhere than to a new entry, or to a summary of the branch that it left."""

    session_id: str
    leaf_id: str | None
    previous_leaf_id: str | None
    log_id: str
    seq: int
    origin: Origin


class ChangedNote(Wire, frozen=True):
    """Title, tags, labels, path or folder of a session changed, or whether it takes writes (`writeBlock`)."""

    session: SessionInfo
    changed: list[Literal["title", "tags", "labels", "path", "cwd", "readOnly", "writeBlock"]]
    origin: Origin


class DeletedNote(Wire, frozen=True):
    """A session went to the trash: somebody deleted it, or its draft was closed. Nobody has it open any more."""

    session_id: str
    trashed: str | None
    origin: Origin
    reason: str | None = None


class RestoredNote(Wire, frozen=True):
    """A session is back from the trash. Sent to every client."""

    session: SessionInfo
    origin: Origin


class CompactionNeededNote(Wire, frozen=True):
    """A session has outgrown what its settings leave of the context window.

    Sent to whoever watches it, once until it is compacted or the leaf moves elsewhere. With a `summarizer`, the
    daemon compacts by itself; without one, somebody else has to.
    """

    session_id: str
    leaf_id: str
    tokens: int
    context_window: int
    reserve_tokens: int
    summarizer: Literal["client", "command"] | None


class LaggedNote(Wire, frozen=True):
    """The client read too slowly and was unsubscribed: subscribe again after `lastSeq` of `logId`."""

    session_id: str
    log_id: str
    last_seq: int
