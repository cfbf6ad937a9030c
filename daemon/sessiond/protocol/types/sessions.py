"""Create, open, close, continue, list, resolve, inspect, fork and move sessions."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sessiond.protocol.enums import ForkPosition, ListSort, opened
from sessiond.protocol.types.list_watches import ListPosition
from sessiond.protocol.types.shared import (
    AgentName,
    CommandId,
    EntryId,
    Limit,
    LineageStep,
    Params,
    Path,
    Problem,
    SessionId,
    SessionInfo,
    SessionSummary,
    Tag,
    Terminal,
    Title,
    Wire,
)


class CreateParams(Params, frozen=True):
    """Create a session and open it.

    The session is a draft session until its first assistant message or its first update of the working state. A draft
    session is as durable as any other and is not listed by default. `id` may be 8 to 128 characters of
    `[A-Za-z0-9_-]`, the first one a letter or digit; the default is a new UUID4. An `ephemeral` session is
    kept in memory only. A `title` is stored in the header and in a first entry of type `session_info`, which pi reads.
    The header names the parent, if one is given, as it does in a fork.
    """

    cwd: str  # the folder of the session, an absolute path
    id: SessionId | None = None  # the id of the new session; default: a UUID4
    title: Title | None = None  # the title
    tags: Annotated[list[Tag], Meta(max_length=100)] | None = None  # words to filter sessions by
    parent_session_id: SessionId | None = None  # the session from which it is made; a known session
    parent_path: Path | None = None  # instead of `parentSessionId`: the absolute path of its file
    ephemeral: bool = False  # keep the session in memory only
    terminal: Terminal | None = None  # default: the terminal of the handshake
    command_id: CommandId | None = None  # repeats take effect once


class SessionResult(Wire, frozen=True):
    """A session, and the problems of its file."""

    session: SessionInfo  # the session
    problems: list[Problem]  # the problems of its file, at most 100
    duplicate: bool = False  # an earlier request took effect
    missing_blobs: list[str] = msgspec.field(
        default_factory=list
    )  # of a fork: references without a blob, at most 100
    missing_blob_count: int = 0  # of a fork: the number of references without a blob


class OpenParams(Params, frozen=True):
    """Open a session by id or by path, and subscribe to it.

    A damaged file opens read-only. Its problems are reported, and the file is never replaced. If `bind` is false, the
    server writes no breadcrumb and records no hold for the terminal.
    """

    session_id: SessionId | None = None  # the session's full id; this or `path`
    path: str | None = None  # the absolute path of a session file
    terminal: Terminal | None = None  # default: the terminal of the handshake
    bind: bool = True  # write a breadcrumb and a hold for the terminal
    unpack: bool = False  # first make the file plain if it is packed


class CloseParams(Params, frozen=True):
    """Stop using a session. When its last client closes a draft session, the draft moves to the trash."""

    session_id: SessionId  # the session's full id


class CloseResult(Wire, frozen=True):
    """The number of other clients that have the session open, and the place of a trashed draft."""

    client_count: int  # other clients that have the session open
    trash_id: str | None  # the id of the draft in the trash; null if it did not move there
    trash_path: str | None  # the file of the draft in the trash, for information


class ContinueParams(Params, frozen=True):
    """Choose the session that this terminal continues, and open it.

    The server chooses the breadcrumb of the terminal for `cwd`, or else the most recently updated session of `cwd`
    that no other living terminal holds, or else a new session. `reason` gives the rule. If `create` is false, no
    session is created, and the server may choose a session that another terminal holds. With a new session,
    `formerFolders` lists folders that no longer exist and may be earlier names of `cwd`. `bind` determines whether the
    terminal gets a breadcrumb and a hold; the default is the value of `create`. A session that another terminal holds
    is never bound. With `project`, the sessions of the other folders of its project come after those of `cwd`. Sessions
    whose `origin.automated` is true come after the others of their folder. Without
    a terminal, the server also considers sessions without a message.
    """

    cwd: str  # the folder, an absolute path
    project: bool = False  # also choose among the sessions of the other folders of the project of `cwd`
    terminal: Terminal | None = None  # default: the terminal of the handshake
    create: bool = True  # create a session if there is none to continue
    bind: bool | None = None  # write a breadcrumb and a hold for the terminal; default: the value of `create`
    command_id: CommandId | None = None  # repeats take effect once

    @property
    def binds(self) -> bool:
        """Whether the server writes a breadcrumb and a hold for the terminal."""
        return self.create if self.bind is None else self.bind


class FormerFolder(Wire, frozen=True):
    """A folder that no longer exists and to which sessions belong. `session/move` assigns them to another folder."""

    cwd: str  # the folder
    session_ids: list[str]  # its sessions, the most recently updated first; at most 100
    session_count: int  # the number of its sessions
    message: str  # a sentence that says why this folder is listed


class ContinueResult(Wire, frozen=True):
    """The chosen session and the reason."""

    session: SessionInfo  # the chosen session
    reason: Annotated[str, opened("ContinueReason")]  # the rule by which the server chose it
    message: str  # the reason as a sentence
    created: bool  # the session is new
    problems: list[Problem]  # the problems of its file, at most 100
    former_folders: list[FormerFolder]  # folders that may be earlier names of `cwd`; at most 5
    duplicate: bool = False  # an earlier request took effect


class ListParams(Params, frozen=True):
    """List sessions, the most recently updated first, in pages.

    Without `cwd` and `project`, the list has the sessions of all folders. The project of a folder is the git repository
    that it is in, with all worktrees, or else the folder itself. `query` matches the id, title, first prompt, cwd and
    agent. Draft sessions are omitted unless `includeDrafts` is true. A cursor leads to the next or the previous page.
    Its place does not change when sessions are added. With `changedAfter`, the list has only the sessions that changed
    after that position. It fails with `cursorExpired` if the server does not know all changes since. `changedAfter`
    cannot be combined with `since` or `until`.

    `session/resume` hands a session over to another agent. The sessions that begin with one hand-over after the other
    are a lineage. With `foldLineages`, the list has one session of it, and `lineages` names the others.

    The server does not wait until it has read large files that it does not know yet: their rows are `provisional`. With
    `tags`, with `query` and in the order of titles, it reads the files of the list first, so that the result is final.
    """

    cwd: str | None = None  # only sessions of this folder; default: sessions of all folders
    project: Path | None = None  # only those of the project of this absolute folder
    tags: Annotated[list[Tag], Meta(max_length=100)] | None = None  # only sessions with all of these tags
    query: Annotated[str, Meta(max_length=1_000)] | None = (
        None  # only sessions whose id, title, first prompt, cwd or agent contains this text
    )
    agent: AgentName | None = None  # only sessions read from this agent
    automated: bool | None = None  # only sessions whose `origin.automated` is this; default: all
    since: str | None = None  # only sessions that were updated at this time or later, ISO 8601
    until: str | None = None  # only sessions whose last update was at this time or earlier, ISO 8601
    sort: ListSort = "updated"  # the order: by time or title
    cursor: Annotated[str, Meta(max_length=16_384)] | None = None  # from an earlier result; default: none
    limit: Limit = 50  # maximum number of sessions per page
    include_drafts: bool = False  # also list draft sessions
    with_total: bool = False  # also count the sessions of all pages
    changed_after: ListPosition | None = None  # only sessions that changed after this position; default: all
    fold_lineages: bool = False  # of the sessions of a lineage in one folder, only the last updated one


class ListedSession(SessionSummary, frozen=True, kw_only=True):
    """The summary of a session that a picker shows, and its state at the leaf.

    `lifecycle` is `complete` if the last turn is complete. It is `interrupted` after a prompt or a tool result without
    an answer, tool calls without results, or an answer that was cut at its length limit. It is `aborted` if a person
    aborted the turn, `error` if the turn ended in an error, and `empty` if there is no message. `model` is the model
    for the next turn, as `provider/id`.

    A row with `provisional` true is made from the beginning and the end of the file. The server reads the whole file
    soon after and sends the changed row to watches. In a provisional row, `messageCount`, `entryCount`, `lastSeq`,
    `problemCount` and `model` are null. `title`, `tags`, `firstPrompt`, `leafId` and `lifecycle` are those that the
    beginning and the end of the file show, and may change. All other members are final.
    """

    message_count: int | None  # user and assistant messages on all branches; null in a provisional row
    entry_count: int | None  # entries on all branches; null in a provisional row
    last_seq: int | None  # the seq of the last line; the header is 0; null in a provisional row
    problem_count: int | None  # the number of problems in the file; null in a provisional row
    lifecycle: (
        Annotated[str, opened("Lifecycle")] | None
    )  # the state of the last turn; null if a provisional row does not show it
    model: str | None  # the model for the next turn, as `provider/id`; null in a provisional row
    provisional: bool = False  # the server has not read the whole file yet


class ListProblem(Wire, frozen=True):
    """A session file that could not be read for the list or the search."""

    path: str  # the path of the file
    message: str  # a sentence that says why


class ListResult(Wire, frozen=True):
    """One page of sessions.

    `problems` names at most 100 files that are missing from the list, or that the search could read only in part.
    `epoch` and `position` are a position in the changes of the list: the page contains all changes up to it. After
    that of the first page, `server/watch` and `changedAfter` continue without a gap.

    Sessions in files of followed agents are missing, or old, until the server has read these. An agent whose files the
    server has not looked at yet counts as one in `unreadCount`. A request with `changedAfter` does not count.
    """

    sessions: list[ListedSession]  # the sessions of the page, at most `limit`
    total_count: int | None  # the number of sessions of all pages; null unless the request has `withTotal`
    next_cursor: str | None  # the cursor of the next page; null on the last page
    previous_cursor: str | None  # the cursor of the previous page; null on the first page
    problems: list[ListProblem]  # files that could not be read, at most 100
    epoch: str  # as in the handshake
    position: int  # the position of the last change that the page contains
    removed: list[str]  # with `changedAfter`, on the first page: changed sessions that are not in the list
    lineages: dict[str, list[LineageStep]] | UnsetType = (
        UNSET  # with `foldLineages`, the sessions that a listed one stands for
    )
    unread_count: int | UnsetType = (
        UNSET  # on the first page: files of followed agents that the server has not read yet, if there are any
    )


class InfoParams(Params, frozen=True):
    """Return the summary of a session and the problems of its file. Does not open or subscribe."""

    session_id: SessionId  # the session's full id


class ResolveParams(Params, frozen=True):
    """Find the sessions whose id is, or begins with, a text that a person typed.

    If no session has such an id, the result has the sessions that were read from an agent's session with such an id.

    Other methods take full ids only. A client that lets people type ids calls this method first, and sends an id of
    the result. A `query` of fewer than 4 characters matches full ids only.
    """

    query: Annotated[str, Meta(min_length=1, max_length=128)]  # an id or its first characters
    limit: Annotated[int, Meta(ge=1, le=100)] = 20  # maximum number of sessions in the result


class ResolveResult(Wire, frozen=True):
    """The sessions whose id begins with `query`, draft sessions included, ordered by id.

    If `exact` is true, `query` is the full id of the first session, here or in its agent. `more` is true if further
    sessions match.
    """

    sessions: list[ListedSession]  # the sessions, ordered by id; at most `limit`
    exact: bool  # `query` is the full id of the first session, here or in its agent
    more: bool  # further sessions match


class ForkParams(Params, frozen=True):
    """Copy the path to an entry into a new session, and open the new session.

    Labels on the path are copied. If `position` is `before`, the entry itself is not copied. If `whole` is true, which
    excludes `leafId` and `position`, the new session has every entry and label of all branches, with the same ids and
    the same leaf. The source is unchanged. `parentSessionId` and
    `parentPath` of the new session name it.
    """

    session_id: SessionId | None = None  # the full id of the source; this or `path`
    path: str | None = None  # the absolute path of the source's file
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the source's leaf
    position: ForkPosition = "at"  # `before` excludes that entry itself
    whole: bool = False  # copy all branches instead of one path
    cwd: str | None = None  # the folder of the new session; default: the folder of the source
    title: Title | None = None  # the title of the new session
    command_id: CommandId | None = None  # repeats take effect once


class MoveParams(Params, frozen=True):
    """Assign a session to another folder, for example after a project was renamed.

    The file moves to the sessions of `cwd`, an absolute path, and the header is rewritten with the new `cwd`. The
    original file stays beside it. Clients that have the session open keep it open.
    """

    session_id: SessionId  # the session's full id
    cwd: str  # the new folder, an absolute path
    command_id: CommandId | None = None  # repeats take effect once
