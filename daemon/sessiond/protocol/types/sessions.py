"""The life of sessions: create, open, close, continue, list, info, fork."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sessiond.protocol.types.shared import (
    CommandId,
    EntryId,
    Limit,
    Params,
    Problem,
    SessionId,
    SessionInfo,
    Terminal,
    Wire,
)


class CreateParams(Params, frozen=True):
    """Start a session and open it.

    Until its first assistant message or update of the working state it is a draft: as durable as any other,
    hidden from lists.
    `id` may be 8 to 128 characters of `[A-Za-z0-9_-]`, the first a letter or digit; without it the daemon
    makes a UUID4. `ephemeral` keeps it in memory only.
    A `title` is stored in the header and in a first entry, a `session_info`, which pi reads.
    """

    cwd: str  # the folder of the session, an absolute path
    id: SessionId | None = None  # the id of the new session; default: a UUID4
    title: str | None = None  # the title
    tags: list[str] | None = None  # words to filter sessions by
    parent_session: str | None = None  # what the session was made from: a session id or the path of a file
    ephemeral: bool = False  # keep the session in memory only
    terminal: Terminal | None = None  # default: the terminal of `initialize`
    command_id: CommandId | None = None  # requests with the same one take effect once


class SessionResult(Wire, frozen=True):
    """A session and what is wrong with its file, if anything."""

    session: SessionInfo
    problems: list[Problem]
    duplicate: bool = False  # an earlier request with this `commandId` has done it
    missing_blobs: list[str] = msgspec.field(default_factory=list)  # of a fork: what it names and nobody has


class OpenParams(Params, frozen=True):
    """Open a session by id or by path, and subscribe to it.

    A damaged file opens read-only and is reported, never replaced. With `bind`
    false the session is only looked at: the terminal gets no breadcrumb and holds nothing.
    """

    session_id: SessionId | None = None  # the whole id of the session; this or `path`
    path: str | None = None  # the absolute path of a session file
    terminal: Terminal | None = None  # default: the terminal of `initialize`
    bind: bool = True  # let the terminal remember and hold the session


class CloseParams(Params, frozen=True):
    """Stop using a session. Closing a draft as its last client moves the draft to the trash."""

    session_id: SessionId  # the whole id of the session


class CloseResult(Wire, frozen=True):
    """Whether other clients still have it open, and where a draft went."""

    clients: int
    trashed: str | None


class ContinueParams(Params, frozen=True):
    """Find the session that this terminal should go on with, and open it.

    First the terminal's own breadcrumb for `cwd`, then the most recently updated session of `cwd` that no other living
    terminal holds, then a new one. With `create` false no session is made: a held one is better than none. `because`
    says why. With a new one, `former` names folders that are gone and may be what `cwd` was called before.
    `bind` says whether the terminal remembers and holds the session; the default is the value of `create`. A session
    that another terminal holds is never bound. Without a terminal sessions without a message count, too.
    """

    cwd: str  # the folder, an absolute path
    terminal: Terminal | None = None  # default: the terminal of `initialize`
    create: bool = True  # create a session when there is none to go on with
    bind: bool | None = None  # let the terminal remember and hold the session; default: the value of `create`
    command_id: CommandId | None = None  # requests with the same one take effect once

    @property
    def binds(self) -> bool:
        """Whether the terminal is to remember the session."""
        return self.create if self.bind is None else self.bind


class Because(Wire, frozen=True):
    """Why `session/continue` chose this session."""

    rule: Literal["breadcrumb", "recent", "created"]
    message: str


class FormerFolder(Wire, frozen=True):
    """A folder that sessions belong to and that is gone: `session/move` would let them belong to another."""

    cwd: str
    session_ids: list[str]  # the most recently updated first
    message: str  # why this folder is named


class ContinueResult(Wire, frozen=True):
    """The chosen session and the reason."""

    session: SessionInfo
    because: Because
    created: bool
    problems: list[Problem]
    former: list[FormerFolder]
    duplicate: bool = False  # an earlier request with this `commandId` has done it


class ListParams(Params, frozen=True):
    """List sessions, the most recently updated first, a page at a time.

    `cwd` limits the list to one folder, unless `all` is true. `query` looks at id, title, first prompt, cwd.
    Drafts are left out unless `drafts` is true. A cursor leads forth or back, and holds its place when sessions
    are added.
    """

    cwd: str | None = None  # only sessions of this folder
    all: bool = False  # sessions of all folders, whatever `cwd` is
    tags: list[str] | None = None  # only sessions with all of these tags
    query: str | None = None  # only sessions whose id, title, first prompt or cwd has this text
    sort: Literal["updated", "created", "title"] = "updated"  # the order: by time or title
    cursor: str | None = None  # from an earlier result; without it, the first page
    limit: Limit = 50  # sessions a page
    drafts: bool = False  # list draft sessions, too


class ListedSession(SessionInfo, frozen=True, kw_only=True):
    """What a picker shows of a session, and how it stands at its leaf.

    `lifecycle`: the last turn is `complete`; `interrupted` (a prompt or a tool result that nobody answered, tool
    calls without results, an answer cut at its length), `aborted` by a person, or ended in an `error`; or nothing
    was said yet: `empty`. `model` is the model that goes on, as `provider/id`.
    """

    lifecycle: Literal["complete", "interrupted", "aborted", "error", "empty"]
    model: str | None


class ListProblem(Wire, frozen=True):
    """A session file that could not be read for the list or the search."""

    path: str
    message: str


class ListResult(Wire, frozen=True):
    """One page of sessions.

    `nextCursor` is null on the last page, `previousCursor` on the first; `total` counts the sessions of all pages.
    `problems` names files that are missing from the list, or in part from the search, at most 100 of them.
    """

    sessions: list[ListedSession]
    total: int
    next_cursor: str | None
    previous_cursor: str | None
    problems: list[ListProblem]


class InfoParams(Params, frozen=True):
    """What is known of a session, with the problems of its file. Does not open or subscribe."""

    session_id: SessionId  # the whole id of the session


class ResolveParams(Params, frozen=True):
    """Find the sessions that a person may mean by an id or by the first characters of one.

    Other methods take whole ids only. A client that lets people type ids asks here first, and sends the id that it
    gets. `query` of fewer than 4 characters matches whole ids only.
    """

    query: Annotated[str, Meta(min_length=1, max_length=128)]  # an id or its first characters
    limit: Annotated[int, Meta(ge=1, le=100)] = 20  # sessions of the result


class ResolveResult(Wire, frozen=True):
    """The sessions whose id begins with `query`, drafts included, in the order of their ids.

    With `exact`, `query` is the whole id of the first one. `more` says that there are others than these.
    """

    sessions: list[ListedSession]
    exact: bool
    more: bool


class ForkParams(Params, frozen=True):
    """Cut the path to an entry into a new session, labels rebuilt, and open that.

    `position` `before` leaves the entry itself out. With `whole`, which goes with neither, the new session has every
    entry and every label of all branches, with the same ids, and the same leaf. The source is not changed;
    `parentSession` names it.
    """

    session_id: SessionId | None = None  # the whole id of the source; this or `path`
    path: str | None = None  # the absolute path of the source's file
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the source's leaf
    position: Literal["at", "before"] = "at"  # `before` leaves that entry itself out
    whole: bool = False  # copy all branches instead of one path
    cwd: str | None = None  # the folder of the new session; default: that of the source
    title: str | None = None  # the title of the new session
    command_id: CommandId | None = None  # requests with the same one take effect once


class MoveParams(Params, frozen=True):
    """Let a session belong to another folder, as when a project was renamed.

    Its file moves to the sessions of `cwd`, an absolute path, and the header says so from then on; the file as it was
    is kept beside it. Whoever has the session open goes on.
    """

    session_id: SessionId  # the whole id of the session
    cwd: str  # the new folder, an absolute path
    command_id: CommandId | None = None  # requests with the same one take effect once
