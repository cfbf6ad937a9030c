"""The shapes that several methods share, and the base of all that crosses the wire."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Raw

from sessiond.session.tree.problems import ProblemKind, Severity

SessionId = Annotated[str, Meta(min_length=1, max_length=128)]
EntryId = Annotated[str, Meta(min_length=1, max_length=64)]
CommandId = Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[^\x00]+$")]
"""What a client calls a request that writes, so that it can send the request again: see "Repeating a request"."""

Limit = Annotated[int, Meta(ge=1, le=10_000)]
Seq = Annotated[int, Meta(ge=0)]
LogId = Annotated[str, Meta(min_length=1, max_length=128)]
"""Which log a position is in; opaque."""
Tokens = Annotated[int, Meta(ge=0, le=1_000_000_000)]
ProgressToken = Annotated[str, Meta(min_length=1, max_length=128)] | int
"""What a client calls a piece of work whose progress it wants to hear of, as `workDoneToken` of LSP."""

Entry = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/$defs/Entry"})]
"""One entry as its line has it: any JSON object with `type`, `id`, `parentId`, `timestamp`."""

Draft = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/$defs/Draft"})]
"""An entry before it has an id, a parent and a timestamp; it may bring its own."""

Message = Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
"""A message in the shape that the context's format names."""

Json = Annotated[Raw, Meta(extra_json_schema={})]

Durability = Literal["synced", "written"]
Format = Literal["agent", "openai", "anthropic", "google"]
Filter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The base of all that crosses the wire. A client ignores fields that it does not know."""


class Params(Wire, frozen=True, forbid_unknown_fields=True):
    """The base of request params, and of the objects in them. The daemon refuses fields that it does not know."""


WriteBlockReason = Literal[
    "damaged",
    "newerVersion",
    "permissionDenied",
    "readOnlyDisk",
    "diskFull",
    "failed",
    "notSynced",
    "replaced",
]


class WriteBlock(Wire, frozen=True):
    """Why a session takes no writes at present.

    `damaged`: its header cannot be read. `newerVersion`: of a format newer than 3. `permissionDenied`: the file may
    not be written. `readOnlyDisk`, `diskFull`, `failed`: what the disk said to the last write. `notSynced`: the disk
    could not make the last writes durable, nor take a new file. `replaced`: another program cut the file short,
    replaced or removed it. All but the first two end by themselves when the cause is gone; a write may be tried at
    any time.
    """

    reason: WriteBlockReason
    message: str
    since: str  # ISO 8601, UTC


class SessionInfo(Wire, frozen=True):
    """What a picker shows of a session."""

    session_id: str
    path: str | None  # null for a session that lives in memory only
    cwd: str
    title: str | None
    tags: list[str]
    created_at: str  # ISO 8601, UTC
    updated_at: str  # when an entry of any type was last written, or the session created, if that is later
    message_count: int  # user and assistant messages, all branches
    entry_count: int
    first_prompt: str | None  # at most 200 characters, one line
    leaf_id: str | None
    seq: int  # ordinal of the last line; the header is 0
    size_bytes: int
    parent_session: str | None
    draft: bool  # no assistant message yet: hidden from lists
    read_only: bool
    ephemeral: bool = False  # never touches the disk
    problems: int = 0  # how many lines could not be taken as they are
    write_block: WriteBlock | None = None  # only of a session that is open
    log_id: str | None = None  # which log this is, see "Positions"; not in lists


class Problem(Wire, frozen=True):
    """Something in a session file that could not be taken as it is. The bytes stay as they are."""

    kind: ProblemKind  # what to match: see "Damage"
    line: int  # 1-based physical line
    byte_offset: int  # of its first byte
    reason: str  # a sentence about this line
    severity: Severity = "error"


class Terminal(Wire, frozen=True):
    """The terminal that a client runs in: what breadcrumbs and holds belong to.

    `id` is computed by the recipe under "The identity of a terminal". `pid` is the first process of the terminal, its
    session leader, and `startTime` the start time of that process as field 22 of `/proc/PID/stat` has it.
    """

    id: Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9._%@+:-]+$")]
    kind: str = "tty"
    cwd: str | None = None
    pid: Annotated[int, Meta(ge=1)] | None = None  # while it runs, no other terminal is given the session
    start_time: Annotated[int, Meta(ge=0)] | None = None  # clock ticks after boot; tells a reused `pid` apart


class Origin(Wire, frozen=True):
    """Who caused a change: a client, a foreign program that wrote to the file, or the daemon by itself."""

    kind: Literal["client", "foreign", "daemon"]
    client_id: str | None = None


class After(Params, frozen=True):
    """A position in a log: everything up to and including line `seq` of the log `logId` is known."""

    log_id: LogId
    seq: Seq
