"""Every params, result and notification of the wire. The docstring of a Params is its method's documentation.

Field names are camelCase on the wire. A field left out of a result has its default. Entries travel exactly
as they are stored (`Entry`), so fields that sessiond does not know reach the client untouched.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

SessionId = Annotated[str, Meta(min_length=1, max_length=128)]
EntryId = Annotated[str, Meta(min_length=1, max_length=64)]
Limit = Annotated[int, Meta(ge=1, le=10_000)]
Seq = Annotated[int, Meta(ge=0)]

Entry = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/$defs/Entry"})]
"""One entry as its line has it: any JSON object with `type`, `id`, `parentId`, `timestamp`."""

Draft = Annotated[Raw, Meta(extra_json_schema={"$ref": "#/$defs/Draft"})]
"""An entry before it has an id, a parent and a timestamp; it may bring its own."""

Message = Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
"""A message in the shape that the context's format names."""

Json = Annotated[Raw, Meta(extra_json_schema={})]

Durability = Literal["synced", "written"]
Filter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The base of all that crosses the wire; unknown fields are ignored so that both ends may grow."""


# --- shared shapes -----------------------------------------------------------------------------------------


class SessionInfo(Wire, frozen=True):
    """What a picker shows of a session."""

    session_id: str
    path: str | None  # null for a session that lives in memory only
    cwd: str
    title: str | None
    tags: list[str]
    created_at: str  # ISO 8601, UTC
    updated_at: str  # timestamp of the last message, else of the header
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


class Problem(Wire, frozen=True):
    """Something in a session file that could not be taken as it is. The bytes stay as they are."""

    line: int  # 1-based physical line
    byte_offset: int
    reason: str
    severity: Literal["error", "warning"] = "error"


class Terminal(Wire, frozen=True):
    """Where a client sits: what continue-recent is scoped to. The client says, the daemon has no terminal."""

    id: Annotated[str, Meta(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9._%@+:-]+$")]
    kind: str = "tty"
    cwd: str | None = None
    pid: Annotated[int, Meta(ge=1)] | None = None  # session leader: while it lives, its session is taken


class Origin(Wire, frozen=True):
    """Who caused a change: a client of this daemon, or a foreign program that wrote to the file."""

    kind: Literal["client", "foreign"]
    client_id: str | None = None


class After(Wire, frozen=True):
    """A place in a session's log: everything up to and including line `seq` is known."""

    seq: Seq


# --- sessions ----------------------------------------------------------------------------------------------


class CreateParams(Wire, frozen=True):
    """Start a session and open it.

    Until its first assistant message it is a draft: as durable as any other, hidden from lists.
    `id` may be 8 to 128 characters of `[A-Za-z0-9_-]`, the first a letter or digit; without it the daemon
    makes a UUID4. `ephemeral` keeps it in memory only.
    """

    cwd: str
    id: SessionId | None = None
    title: str | None = None
    tags: list[str] | None = None
    parent_session: str | None = None
    ephemeral: bool = False
    terminal: Terminal | None = None


class SessionResult(Wire, frozen=True):
    """A session and what is wrong with its file, if anything."""

    session: SessionInfo
    problems: list[Problem]


class OpenParams(Wire, frozen=True):
    """Open a session by id or by path, and subscribe to it.

    A damaged file opens read-only and is reported, never replaced. An id may be cut to a unique prefix.
    """

    session_id: SessionId | None = None
    path: str | None = None
    terminal: Terminal | None = None


class CloseParams(Wire, frozen=True):
    """Stop using a session. Closing a draft as its last client moves the draft to the trash."""

    session_id: SessionId


class CloseResult(Wire, frozen=True):
    """Whether other clients still have it open, and where a draft went."""

    clients: int
    trashed: str | None


class ContinueParams(Wire, frozen=True):
    """Find the session that this terminal should go on with, and open it.

    First the terminal's own breadcrumb, then the newest session of `cwd` that no other living terminal
    holds, then a new one. With `create` false no session is made: a held one is better than none. `because`
    says why.
    """

    cwd: str
    terminal: Terminal | None = None
    create: bool = True


class Because(Wire, frozen=True):
    """Why `session/continue` chose this session."""

    rule: Literal["breadcrumb", "recent", "created"]
    message: str


class ContinueResult(Wire, frozen=True):
    """The chosen session and the reason."""

    session: SessionInfo
    because: Because
    created: bool
    problems: list[Problem]


class ListParams(Wire, frozen=True):
    """List sessions, newest first, a page at a time.

    `cwd` limits the list to one folder, unless `all` is true. `query` looks at id, title, first prompt, cwd.
    Drafts are left out unless `drafts` is true.
    """

    cwd: str | None = None
    all: bool = False
    tags: list[str] | None = None
    query: str | None = None
    sort: Literal["updated", "created", "title"] = "updated"
    cursor: str | None = None
    limit: Limit = 50
    drafts: bool = False


class ListResult(Wire, frozen=True):
    """One page of sessions; `nextCursor` is null on the last."""

    sessions: list[SessionInfo]
    next_cursor: str | None


class InfoParams(Wire, frozen=True):
    """What is known of a session, with the problems of its file. Does not open or subscribe."""

    session_id: SessionId


class ForkParams(Wire, frozen=True):
    """Cut the path to an entry into a new session, labels rebuilt, and open that.

    `position` `before` leaves the entry itself out. The source is not changed; `parentSession` names it.
    """

    session_id: SessionId | None = None
    path: str | None = None
    leaf_id: EntryId | None = None
    position: Literal["at", "before"] = "at"
    cwd: str | None = None
    title: str | None = None


# --- the tree ----------------------------------------------------------------------------------------------


class AppendParams(Wire, frozen=True):
    """Add entries to a session: all of them, or none.

    Without `parentId` the first attaches to the session's leaf; each next one to the one before it; an
    entry's own `parentId` wins. With `expectedLeaf` the append is refused (`leafConflict`) when the leaf is
    another, or with `onConflict` `branch` becomes a sibling below `expectedLeaf`. `advance` false leaves the
    session's leaf where it is. An entry may bring its own id, and may then be sent again for ever without
    being doubled.
    """

    session_id: SessionId
    entries: Annotated[list[Draft], Meta(min_length=1, max_length=10_000)]
    parent_id: EntryId | UnsetType | None = UNSET
    expected_leaf: EntryId | UnsetType | None = UNSET
    on_conflict: Literal["reject", "branch"] = "reject"
    advance: bool = True
    durability: Durability = "synced"


class Appended(Wire, frozen=True):
    """One entry of an append: `created` now, or a `duplicate` of what an earlier try had stored."""

    id: str
    seq: int
    status: Literal["created", "duplicate"]


class AppendResult(Wire, frozen=True):
    """The leaf and the last line after the append."""

    leaf_id: str | None
    seq: int
    entries: list[Appended]
    branched: bool


class EntriesParams(Wire, frozen=True):
    """Read entries in log order: after a seq, around an entry, or exactly the given ids."""

    session_id: SessionId
    after: Seq | After | None = None
    around: EntryId | None = None
    ids: list[EntryId] | None = None
    cursor: str | None = None
    limit: Limit = 200


class EntriesResult(Wire, frozen=True):
    """Entries as stored, with the seq of each; `nextCursor` is null when nothing is left."""

    entries: list[Entry]
    seqs: list[int]
    next_cursor: str | None


class PathParams(Wire, frozen=True):
    """Read the entries from the root to `leafId` (default: the session's leaf), root first."""

    session_id: SessionId
    leaf_id: EntryId | None = None
    cursor: str | None = None
    limit: Limit = 10_000


class TreeParams(Wire, frozen=True):
    """Read the tree as flat rows in preorder, children in log order: a chain of 100,000 must not nest.

    `filter` is one of the seed's five. `query` keeps rows whose text contains every word. Hidden rows hand
    their children to the nearest visible ancestor.
    """

    session_id: SessionId
    filter: Filter = "default"
    query: str | None = None
    root_id: EntryId | None = None
    cursor: str | None = None
    limit: Limit = 1_000


class TreeNode(Wire, frozen=True):
    """One visible row of the tree."""

    id: str
    parent_id: str | None  # the nearest visible ancestor
    depth: int  # number of visible ancestors
    indent: int  # number of visible forks above: what a drawing indents by, so that chains stay flat
    seq: int
    type: str
    timestamp: str | None
    child_count: int  # visible children
    on_path: bool  # lies on the path to the session's leaf
    role: str | None
    preview: str  # one line of at most 120 characters
    label: str | None
    last_sibling: bool


class TreeResult(Wire, frozen=True):
    """A page of rows; `leafId` is where the next entry would attach."""

    nodes: list[TreeNode]
    leaf_id: str | None
    total: int  # entries in the session, visible or not
    next_cursor: str | None


class ContextParams(Wire, frozen=True):
    """What a model would see at `leafId` (default: the session's leaf).

    `agent` is the agents' own message format: entries pass through as they are, a compaction stands for what
    it replaced, branch summaries and custom messages become messages.
    """

    session_id: SessionId
    leaf_id: EntryId | None = None
    format: Literal["agent"] = "agent"


class ContextResult(Wire, frozen=True):
    """Messages in order, with the entry that each came from, and the settings in force at the leaf."""

    messages: list[Message]
    entry_ids: list[str]
    models: dict[str, str]  # role -> "provider/model"
    thinking_level: str
    mode: str
    injected_ttsr_rules: list[str]
    leaf_id: str | None
    mode_data: Json  # null without one
    configured_thinking_level: str | None
    service_tier: Json  # null without one


class BranchParams(Wire, frozen=True):
    """Move the leaf to an entry, or with null to before the first; `summary` says there what was left behind.

    The move is a line of the log, so it survives a restart; nothing is removed.
    """

    session_id: SessionId
    target_id: EntryId | None
    summary: str | None = None
    details: Json | UnsetType = UNSET
    from_extension: bool | None = None
    expected_leaf: EntryId | UnsetType | None = UNSET


class BranchResult(Wire, frozen=True):
    """The leaf after the move; `entryId` is the branch summary when one was written."""

    leaf_id: str | None
    seq: int
    entry_id: str | None


class LabelParams(Wire, frozen=True):
    """Bookmark an entry; an absent or empty `label` removes the bookmark."""

    session_id: SessionId
    target_id: EntryId
    label: Annotated[str, Meta(max_length=1_000)] | None = None


class RenameParams(Wire, frozen=True):
    """Give the session a title; an empty one takes it away. The title is a line of the log."""

    session_id: SessionId
    title: Annotated[str, Meta(max_length=1_000)]


class TagParams(Wire, frozen=True):
    """Add and remove words to filter sessions by, or with `tags` replace them all."""

    session_id: SessionId
    add: list[str] | None = None
    remove: list[str] | None = None
    tags: list[str] | None = None


class ChangeResult(Wire, frozen=True):
    """The line that recorded the change, and the session after it."""

    entry_id: str
    seq: int
    session: SessionInfo


# --- watching ----------------------------------------------------------------------------------------------


class SubscribeParams(Wire, frozen=True):
    """Hear of every change of a session from now on, and with `after` of what was missed since.

    Exactly what came after `after.seq` is replayed as `session/appended`, before anything live. When that
    would be too much, `mode` is `snapshot` and says so: read the tree anew.
    """

    session_id: SessionId
    after: Seq | After | None = None


class SubscribeResult(Wire, frozen=True):
    """How the gap is closed: `replay` of lines `fromSeq` to `toSeq`, or a `snapshot` as of `toSeq`."""

    mode: Literal["replay", "snapshot"]
    from_seq: int
    to_seq: int
    session: SessionInfo
    reason: str | None


class UnsubscribeParams(Wire, frozen=True):
    """Hear no more of a session; it stays open for this client."""

    session_id: SessionId


class UnsubscribeResult(Wire, frozen=True):
    """Whether there was a subscription."""

    was_subscribed: bool


class FlushParams(Wire, frozen=True):
    """Wait until every line of a session (of all, without `sessionId`) would survive a power cut."""

    session_id: SessionId | None = None


class FlushResult(Wire, frozen=True):
    """How many sessions had something to sync."""

    flushed: int


# --- the server --------------------------------------------------------------------------------------------


class StatusParams(Wire, frozen=True):
    """How the daemon is: version, process, sockets, sessions, memory."""


class StatusResult(Wire, frozen=True):
    """Sizes in bytes, times in seconds or ISO 8601."""

    version: str
    pid: int
    epoch: str  # one per start of the daemon
    home: str
    socket: str | None
    started_at: str
    uptime: float
    open_sessions: int
    clients: int
    rss_bytes: int
    lsp_loaded: bool
    draining: bool


class ClientsParams(Wire, frozen=True):
    """Who is attached."""


class ClientInfo(Wire, frozen=True):
    """One attached connection."""

    client_id: str
    name: str | None
    version: str | None
    connected_at: str
    framing: Literal["content-length", "json-lines", "memory"]
    sessions: list[str]
    subscriptions: list[str]
    queued_bytes: int
    terminal: Terminal | None = None


class ClientsResult(Wire, frozen=True):
    """All attached clients, the asking one included."""

    clients: list[ClientInfo]


class StopParams(Wire, frozen=True):
    """Stop the daemon once all is on disk. Other clients are cut off, and may start it again."""


class StopResult(Wire, frozen=True):
    """The process that is about to end."""

    pid: int


# --- notifications -----------------------------------------------------------------------------------------


class CreatedNote(Wire, frozen=True):
    """A session was created, or a draft became one. Sent to every client."""

    session: SessionInfo
    origin: Origin


class AppendedNote(Wire, frozen=True):
    """Lines were added. `replay` marks those sent to close a gap."""

    session_id: str
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
    seq: int
    origin: Origin


class ChangedNote(Wire, frozen=True):
    """Title, tags, labels or path of a session changed."""

    session: SessionInfo
    changed: list[Literal["title", "tags", "labels", "path", "readOnly"]]
    origin: Origin


class DeletedNote(Wire, frozen=True):
    """A session left the list: its draft went to the trash."""

    session_id: str
    trashed: str | None
    origin: Origin


class LaggedNote(Wire, frozen=True):
    """The client read too slowly and was unsubscribed: subscribe again after `lastSeq`."""

    session_id: str
    last_seq: int


# --- handshake ---------------------------------------------------------------------------------------------


class InitializeOptions(Wire, frozen=True):
    """`initializationOptions.sessiond` of the LSP `initialize`: who the client is, and what it wants."""

    protocol_versions: list[int] = msgspec.field(default_factory=lambda: [1])
    client_id: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    terminal: Terminal | None = None
    opt_out: list[str] = []  # notifications this client does not want


class Limits(Wire, frozen=True):
    """Bounds a client should know instead of finding out."""

    max_frame_bytes: int
    max_page: int
    max_batch: int
    max_in_flight: int


class Handshake(Wire, frozen=True):
    """`capabilities.experimental.sessiond` of the reply to `initialize`."""

    protocol_version: int
    epoch: str
    client_id: str
    methods: list[str]
    limits: Limits
