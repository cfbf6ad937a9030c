"""The tree: append, entries, path, tree, label, rename, tag."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sessiond.protocol.types.shared import (
    After,
    CommandId,
    Draft,
    Durability,
    Entry,
    EntryId,
    Filter,
    Format,
    Limit,
    Params,
    SessionId,
    SessionInfo,
    Wire,
)


class AppendParams(Params, frozen=True):
    """Add entries to a session: all of them, or none.

    Without `parentId` the first attaches to the session's leaf; each next one to the one before it; an
    entry's own `parentId` wins. With `expectedLeaf` the append is refused (`leafConflict`) when the leaf is
    another, or with `onConflict` `branch` becomes a sibling below `expectedLeaf`. `advance` false leaves the
    session's leaf where it is. An entry may bring its own id, and may then be sent again for ever without
    being doubled.

    With a provider's `format`, an item of `entries` may be a message as that provider has it, or its whole
    answer, alone or as the `message` of an entry. It is stored in the agents' own format; one that holds tool
    results becomes several entries, of which the first has its id and the others that id with `-1`, `-2` and so
    on.
    """

    session_id: SessionId  # the whole id of the session
    entries: Annotated[list[Draft], Meta(min_length=1, max_length=10_000)]  # in the order of the log
    format: Format = "agent"  # the format of the messages in `entries`
    parent_id: EntryId | UnsetType | None = UNSET  # null makes the first entry a root
    expected_leaf: EntryId | UnsetType | None = UNSET  # the leaf that the client knows
    on_conflict: Literal["reject", "branch"] = "reject"  # `branch` appends in spite of a conflict
    advance: bool = True  # move the session's leaf to the last entry
    durability: Durability = "synced"  # what the response waits for


class Appended(Wire, frozen=True):
    """One entry of an append: `created` now, or a `duplicate` of what an earlier try had stored."""

    id: str
    seq: int
    status: Literal["created", "duplicate"]


class AppendResult(Wire, frozen=True):
    """The leaf and the last line after the append."""

    leaf_id: str | None
    log_id: str
    seq: int
    entries: list[Appended]
    branched: bool


class EntriesParams(Params, frozen=True):
    """Read entries in log order: after a position, around an entry, or exactly the given ids.

    A position in another log than the session's is refused with `cursorExpired`. Entries travel as they are stored.
    With `resolveBlobs`, images and cut texts that lie in blobs are put back.
    """

    session_id: SessionId  # the whole id of the session
    after: After | None = None  # the position behind which the page begins
    around: EntryId | None = None  # the entry in the middle of the page
    ids: list[EntryId] | None = None  # exactly these entries
    cursor: str | None = None  # from an earlier result; without it, the first page
    limit: Limit = 200  # entries a page
    resolve_blobs: bool = False  # put images and cut texts back that lie in blobs


class EntriesResult(Wire, frozen=True):
    """Entries as stored, with the seq of each; `nextCursor` is null when nothing is left.

    `missingBlobs` are the hashes of blobs that were to be put back and are not there: their references stay.
    """

    log_id: str
    entries: list[Entry]
    seqs: list[int]
    next_cursor: str | None
    missing_blobs: list[str] = msgspec.field(default_factory=list)


class PathParams(Params, frozen=True):
    """Read the entries from the root to `leafId` (default: the session's leaf), root first."""

    session_id: SessionId  # the whole id of the session
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf
    cursor: str | None = None  # from an earlier result; without it, the first page
    limit: Limit = 10_000  # entries a page
    resolve_blobs: bool = False  # put images and cut texts back that lie in blobs


class EntryDocumentParams(Params, frozen=True):
    """Read one entry as a Markdown document, to be shown by an editor.

    All that was said stands in fences that it cannot end. Texts that were cut are whole again.
    """

    session_id: SessionId  # the whole id of the session
    entry_id: EntryId  # the id of the entry


class EntryDocumentResult(Wire, frozen=True):
    """The document. `uri` names it: `sessiond://session/<session id>/entry/<entry id>.md`, ids percent-encoded."""

    uri: str
    language_id: str  # always "markdown"
    text: str


class TreeParams(Params, frozen=True):
    """Read the tree as flat rows in preorder, children in log order: a chain of 100,000 must not nest.

    `filter` chooses the types of rows. `query` keeps rows whose text contains every word. Hidden rows hand
    their children to the nearest visible ancestor. With `around` the page is the one with that entry, or with its
    nearest visible ancestor, in the middle, and `cursor` is of no effect.
    """

    session_id: SessionId  # the whole id of the session
    filter: Filter = "default"  # which rows are visible
    query: str | None = None  # only rows with all of these words
    root_id: EntryId | None = None  # only this entry and those below it
    around: EntryId | None = None  # the entry in the middle of the page
    cursor: str | None = None  # from an earlier result; without it, the first page
    limit: Limit = 1_000  # rows a page


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
    """A page of rows; `leafId` is where the next entry would attach.

    `bars` is for drawing a page that does not begin the view: of each fork above its first row, the uppermost first
    (roots that are several count as one), whether more branches of it follow. `above`, where `around` was asked for,
    are the rows above the first one that are forks or begin a branch: where the page hangs.
    """

    nodes: list[TreeNode]
    log_id: str
    leaf_id: str | None
    total: int  # entries in the session, visible or not
    next_cursor: str | None
    shown: int = 0  # rows of the whole view
    before: int = 0  # rows of it that come before this page
    bars: list[bool] = msgspec.field(default_factory=list)
    above: list[TreeNode] = msgspec.field(default_factory=list)


class LabelParams(Params, frozen=True):
    """Bookmark an entry; an absent or empty `label` removes the bookmark."""

    session_id: SessionId  # the whole id of the session
    target_id: EntryId  # the id of the entry
    label: Annotated[str, Meta(max_length=1_000)] | None = None  # the label; empty or null removes it
    command_id: CommandId | None = None  # requests with the same one take effect once


class RenameParams(Params, frozen=True):
    """Give the session a title; an empty one takes it away. The title is a line of the log.

    The server also writes it to the title slot or the header, where oh-my-pi reads it.
    """

    session_id: SessionId  # the whole id of the session
    title: Annotated[str, Meta(max_length=1_000)]  # the title; an empty one removes it
    command_id: CommandId | None = None  # requests with the same one take effect once


class TagParams(Params, frozen=True):
    """Add and remove words to filter sessions by, or with `tags` replace them all."""

    session_id: SessionId  # the whole id of the session
    add: list[str] | None = None  # tags to add
    remove: list[str] | None = None  # tags to remove
    tags: list[str] | None = None  # the tags that replace all others
    command_id: CommandId | None = None  # requests with the same one take effect once


class ChangeResult(Wire, frozen=True):
    """The line that recorded the change, and the session after it."""

    entry_id: str
    log_id: str
    seq: int
    session: SessionInfo
    duplicate: bool = False  # an earlier request with this `commandId` has done it
