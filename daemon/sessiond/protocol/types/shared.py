"""The types that several methods share, and the base classes of all messages."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from sessiond.protocol.enums import opened
from sessiond.session.tree import origin as tree_origin

SessionId = Annotated[str, Meta(min_length=1, max_length=128)]
EntryId = Annotated[str, Meta(min_length=1, max_length=64)]
CommandId = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[^\x00]+$")]
"""The id that a client chooses for a request that writes, so that it can repeat the request.

See "Repeating a request".
"""

Title = Annotated[str, Meta(max_length=1_000)]
Tag = Annotated[str, Meta(min_length=1, max_length=100)]

Path = Annotated[str, Meta(max_length=4_096)]
Limit = Annotated[int, Meta(ge=1, le=10_000)]
Seq = Annotated[int, Meta(ge=0)]
LogId = Annotated[str, Meta(min_length=1, max_length=128)]
"""Identifies the log that a position is in. Opaque to clients."""
Tokens = Annotated[int, Meta(ge=0, le=1_000_000_000)]
ProgressToken = Annotated[str, Meta(min_length=1, max_length=128)] | int
"""The token that a client chooses to receive the progress of a request, as `workDoneToken` in LSP."""

Entry = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/$defs/Entry"})]
"""An entry exactly as stored in its line: a JSON object with `type`, `id`, `parentId` and `timestamp`."""

Draft = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/$defs/Draft"})]
"""An entry before it has an id, a parent and a timestamp. A draft may also supply these itself."""

Appendable = Annotated[
    Raw, Meta(extra_json_schema={"anyOf": [{"$ref": "#/$defs/Draft"}, {"type": "object"}]})
]
"""A draft; or, with the format of a provider, a message or a response of that provider."""

Message = Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
"""A message in the format of the context."""

Json = Annotated[Raw, Meta(extra_json_schema={})]


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of all types on the wire. The server sends every field; a client ignores fields that it does not know.

    A field whose default is `UNSET` is the exception: it is absent where it does not apply.
    """


class Sent(Wire, frozen=True, omit_defaults=True):
    """The base of what clients send besides params. An absent field has its default."""


class Params(Sent, frozen=True, forbid_unknown_fields=True):
    """The base of request params, and of the objects in them. The server rejects fields that it does not know."""


class StoredEntry(Wire, frozen=True, gc=False):
    """One line of a log."""

    seq: int  # the seq of the line
    entry: Entry  # the entry as it is stored
    attachment_ids: list[EntryId] | UnsetType = (
        UNSET  # entries with files that the agent wrote beside this one
    )


class WriteBlock(Wire, frozen=True):
    """The reason why a session accepts no writes at present.

    All reasons except `damaged` and `newerVersion` end without a restart when their cause is gone. A client may try a
    write at any time.
    """

    reason: Annotated[str, opened("WriteBlockReason")]  # why, as a word
    message: str  # why, as a sentence
    since_at: str  # when it began, ISO 8601, UTC


AgentName = Annotated[str, Meta(min_length=1, max_length=128)]


class LineageStep(Wire, frozen=True):
    """A session that was handed over to another agent by `session/resume`."""

    agent: str  # the name of the agent in which it was held; `sessiond` for a session that was read from none
    session_id: str  # its id here; the session may have been deleted


class MissingHistory(Wire, frozen=True):
    """The history that a fork does not repeat, in a session of its agent whose file was not found."""

    session_id: str  # the id of that session in the agent
    line_count: int  # the lines of its file that come before the fork


class SessionOrigin(Wire, frozen=True):
    """The session of an agent from which a session was read by an import or by following the agent.

    `agent` is the name of the agent, such as `claude-code`, or of the format of the source. A copy of the whole tree
    has the origin of its source.
    """

    agent: str  # the name of the agent
    session_id: str  # the id of the session in the agent
    path: str | None  # the absolute path of the agent's file; null if it is not known
    version: str | None  # the version of the agent that began the session; null if it is not known
    gone: bool  # the agent's file does not exist any more
    archived: bool = False  # the agent has put the file among its archived sessions
    automated: bool = False  # a program gave the prompts, such as `claude -p` or `codex exec`, and no person
    lineage: list[LineageStep] | UnsetType = (
        UNSET  # the sessions that it goes on from, first to last; absent if none
    )
    # since the last message, no process of the agent has the session; false: one has it, or it is not known
    ended: bool = False
    missing_history: MissingHistory | UnsetType = UNSET  # absent if the history is whole

    @classmethod
    def of(
        cls, origin: tree_origin.LogOrigin | None, *, state: tree_origin.FileState, ended: bool
    ) -> "SessionOrigin | None":
        """Return an origin of a log in the form of the wire, or None.

        Args:
            origin: The origin.
            state: The state of its file.
            ended: Whether no process of the agent has the session.
        """
        if origin is None:
            return None
        steps = [LineageStep(step.agent, step.session_id) for step in origin.lineage]
        lacks = origin.missing_history
        return cls(
            agent=origin.agent, session_id=origin.session_id, path=origin.path, version=origin.version,
            gone=state == "gone", archived=state == "archived", automated=origin.automated, lineage=steps or UNSET,
            ended=ended,
            missing_history=UNSET if lacks is None else MissingHistory(lacks.session_id, lacks.line_count),
        )  # fmt: skip


class SessionSummary(Wire, frozen=True):
    """The facts of a session that its description and its list row have in common."""

    session_id: str  # the session's full id
    path: str | None  # the path of its file; null for an ephemeral session
    cwd: str  # the folder of the session
    title: str | None  # the title; null without one
    tags: list[str]  # the tags; the first 100 if the file has more
    created_at: str  # ISO 8601, UTC
    updated_at: str  # the time of the last write of an entry of any type, or `createdAt` if that is later
    first_prompt: str | None  # one line of at most 200 characters; null without a prompt
    leaf_id: str | None  # the leaf; null before the first entry
    size_bytes: int  # the size of the log
    parent_session_id: (
        str | None
    )  # the session that it was made from; null if there is none or its id is not known
    parent_path: (
        str | None
    )  # the file of that session, as the header names it; null if the header names an id only
    is_draft: bool  # true for a draft session: no assistant message yet, not listed by default
    read_only: bool  # true if the session cannot be written
    ephemeral: bool = False  # true for a session that is kept in memory only
    write_block: WriteBlock | None = None  # why an open session accepts no writes now; null if it does
    # why an open session may lack the latest lines of other daemons; null if it does not
    stale: str | None = None
    log_id: str | None = None  # the log of `lastSeq`, see "Positions"; null in lists
    origin: SessionOrigin | None = (
        None  # the session of an agent that it was read from; null if it began here
    )


class SessionInfo(SessionSummary, frozen=True, kw_only=True):
    """The summary of a session that a picker shows."""

    message_count: int  # user and assistant messages on all branches
    entry_count: int  # entries on all branches
    last_seq: int  # the seq of the last line; the header is 0
    problem_count: int = 0  # the number of problems in the file


class CharacterRange(Wire, frozen=True):
    """A part of a text, in the position encoding of the handshake."""

    start: int  # the position of its first character
    end: int  # the position after its last character


class Problem(Wire, frozen=True):
    """A part of a session file that could not be read as it is. The bytes of the file are unchanged."""

    kind: Annotated[str, opened("ProblemKind")]  # see "Damage"
    line: int  # physical line, 1-based
    byte_offset: int  # offset of the line's first byte
    message: str  # a sentence about this line
    severity: Annotated[str, opened("ProblemSeverity")] = "error"  # how severe it is


class Terminal(Sent, frozen=True):
    """The terminal in which a client runs. Breadcrumbs and holds belong to a terminal.

    `id` is computed by the recipe under "The identity of a terminal". `pid` is the first process of the terminal: its
    session leader. `startTime` is the start time of that process, field 22 of `/proc/PID/stat`.
    """

    id: Annotated[
        str, Meta(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9._%@+:-]+$")
    ]  # the id of the terminal
    kind: Annotated[str, Meta(max_length=100)] = "tty"  # the program that made it, such as `tmux`
    cwd: str | None = None  # the folder of the client
    pid: Annotated[int, Meta(ge=1)] | None = None  # while it runs, no other terminal is given the session
    start_time: Annotated[int, Meta(ge=0)] | None = None  # clock ticks since boot; identifies a reused `pid`


class Origin(Wire, frozen=True):
    """The cause of a change: a client, another program that wrote to the file (`foreign`), or the daemon."""

    kind: Annotated[str, opened("OriginKind")]  # the cause of the change
    client_id: str | None = None  # the client that sent the request; null for other origins
    server_id: str | None = (
        None  # the daemon that received the request (`serverId` of the handshake); null as above
    )
    agent: str | None = (
        None  # the name of the client's program (`clientInfo.name`); null as above or if not known
    )
    command_id: str | None = None  # the `commandId` of the request; null without one


class After(Params, frozen=True):
    """A position in a log. The client knows every line up to and including `seq` of the log `logId`."""

    log_id: LogId  # the log
    seq: Seq  # the seq of the last known line
