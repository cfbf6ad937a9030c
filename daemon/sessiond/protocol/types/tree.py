"""Append, read entries, paths and trees; label, rename, tag."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sessiond.protocol.enums import (
    AppendPlacement,
    Direction,
    Durability,
    Filter,
    Format,
    Layout,
    OnConflict,
    opened,
)
from sessiond.protocol.types.shared import (
    After,
    Appendable,
    CommandId,
    EntryId,
    Limit,
    Params,
    SessionId,
    SessionInfo,
    StoredEntry,
    Tag,
    Wire,
)


class AppendParams(Params, frozen=True):
    """Add entries to a session: either all of them or none.

    If `parentId` is absent, the first entry is placed below the session's leaf. Each further entry is placed below the
    one before it. An entry's own `parentId` takes precedence. With `expectedLeafId`, the append fails with
    `leafConflict` if the leaf is another; with `onConflict` `branch`, the entries become a sibling branch below
    `expectedLeafId` instead. With `placement`, `parentId` and `expectedLeafId` that are null count as absent. If
    `advance` is false, the session's leaf is unchanged. An entry may supply its own id; a client may then resend it at
    any time without storing it twice.

    With a provider's `format`, an item of `entries` may be a message of that provider, or its complete response, alone
    or as the `message` of an entry. It is stored in the agents' own format. An item with tool results may become
    several entries: the first has the id of the item, the others that id with `-1`, `-2` and so on.
    """

    session_id: SessionId  # the session's full id
    entries: Annotated[list[Appendable], Meta(min_length=1, max_length=10_000)]  # in log order
    format: Format = "agent"  # the format of the messages in `entries`
    parent_id: EntryId | UnsetType | None = UNSET  # null makes the first entry a root
    expected_leaf_id: EntryId | UnsetType | None = UNSET  # the leaf that the client knows
    placement: AppendPlacement | None = None  # says in a word where the first entry is placed
    on_conflict: OnConflict = "reject"  # `branch` appends in spite of a conflict
    advance: bool = True  # move the session's leaf to the last entry
    durability: Durability = "synced"  # the level that the entries reach before the response


class Appended(Wire, frozen=True):
    """One entry of an append: `created` now, or a `duplicate` of an entry that is stored already."""

    id: str  # the id of the entry
    seq: int  # the seq of its line
    status: Annotated[str, opened("AppendStatus")]  # the result for the entry


class AppendResult(Wire, frozen=True):
    """The leaf and the last line after the append."""

    leaf_id: str | None  # the session's leaf; null before the first entry
    log_id: str  # the log of the seqs
    last_seq: int  # the seq of the last line of the log
    entries: list[
        Appended
    ]  # in the order of the request; with a provider's format an item may be several entries
    branched: bool  # true if the entries became a sibling branch because of a conflict


class EntriesParams(Params, frozen=True):
    """Read entries in log order: after a position, around an entry, or exactly the given ids.

    More than one of `after`, `aroundId` and `entryIds` is refused, and `backward` goes with none of them: it reads
    from the last line. A position in another log than the session's fails with `cursorExpired`. Entries are sent as
    they are stored. With `resolveBlobs`, images and cut texts that are stored as blobs are restored.
    """

    session_id: SessionId  # the session's full id
    after: After | None = None  # the position after which the page begins
    around_id: EntryId | None = None  # the entry in the middle of the page
    entry_ids: Annotated[list[EntryId], Meta(max_length=10_000)] | None = None  # exactly these entries
    direction: Direction = "forward"  # the order of the pages, and of the entries in a page
    cursor: str | None = None  # from an earlier result; default: none
    limit: Limit = 200  # maximum number of entries per page
    resolve_blobs: bool = False  # restore images and cut texts from their blobs


class EntriesResult(Wire, frozen=True):
    """A page of stored entries. A page ends early if its entries have more than about 2 MiB."""

    log_id: str  # the log of the seqs
    items: list[StoredEntry]  # at most `limit`, in the order of the request
    next_cursor: str | None  # the cursor of the next page; null on the last page
    missing_blobs: list[str] = msgspec.field(
        default_factory=list
    )  # hashes; their references stay in the entries


class PathParams(Params, frozen=True):
    """Read the entries from the root to `leafId` (default: the session's leaf), root first.

    With `backward`, the leaf is first: the first page is what a person sees when the session is opened.
    """

    session_id: SessionId  # the session's full id
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf
    direction: Direction = "forward"  # the order of the pages, and of the entries in a page
    cursor: str | None = None  # from an earlier result with the same direction; default: the first page
    limit: Limit = 10_000  # maximum number of entries per page
    resolve_blobs: bool = False  # restore images and cut texts from their blobs


class TreeParams(Params, frozen=True):
    """Read the tree as flat rows in preorder.

    Rows are flat so that a chain of 100,000 entries does not nest. `filter` selects the types of rows. `query` selects
    rows whose text contains every word. The children of a hidden row attach to their nearest visible ancestor. With
    `aroundId`, the page has that entry, or its nearest visible ancestor, in the middle; `cursor` beside it is refused.

    In the layout `log`, children are in log order, and the rows below a fork are indented. In the layout `path`, the
    path to the leaf has no indentation. Below a fork of it, first come its other branches, each as one row with the
    number of rows that are folded in it; then the path goes on. A branch of `openIds` shows its rows in the same way:
    one of its lines goes on, and other branches are folded beside it. Ids in `openIds` that begin no branch have no
    effect. Where no child is on the path to the leaf, the one with the newest visible row below it goes on. `aroundId`
    opens the branches that the entry is in. If the layout changes between two pages, the next page fails with
    `cursorExpired`.
    """

    session_id: SessionId  # the session's full id
    filter: Filter = "default"  # which rows are visible
    query: str | None = None  # only rows with all of these words
    root_id: EntryId | None = None  # only this entry and its descendants
    around_id: EntryId | None = None  # the entry in the middle of the page
    cursor: str | None = None  # from an earlier result; default: none
    limit: Limit = 1_000  # maximum number of rows per page
    layout: Layout = "log"  # the order and the indentation of the rows
    open_ids: Annotated[list[EntryId], Meta(max_length=10_000)] | None = (
        None  # layout `path`: the open branches
    )
    open_all: bool = False  # layout `path`: every branch is open


class TreeNode(Wire, frozen=True):
    """One visible row of the tree."""

    id: str  # the id of the entry
    parent_id: str | None  # the nearest visible ancestor
    depth: int  # number of visible ancestors
    indent: int  # layout `log`: number of visible forks above; `path`: number of branches that it is in
    seq: int  # the seq of its line
    type: str  # the type of the entry
    timestamp: str | None  # as it is stored; null without one
    child_count: int  # visible children
    on_path: bool  # whether it lies on the path to the session's leaf
    role: str | None  # the role of its message; null without one
    preview: (
        str  # one line of at most 120 characters, without Markdown; the error of a failed turn comes first
    )
    label: str | None  # the label; null without one
    last_sibling: (
        bool  # layout `log`: whether no visible sibling follows; `path`: whether no other branch follows
    )
    gutter: str = ""  # layout `path`: one character for each column before the row, at most the last 120
    hidden_count: int = 0  # layout `path`: the number of rows that are folded in this branch


class TreeResult(Wire, frozen=True):
    """A page of rows.

    The characters of a `gutter` are a line `|`, a blank, the beginning of a branch `+`, and that of the last branch of
    a fork `'`.
    """

    nodes: list[TreeNode]  # at most `limit`, in preorder
    log_id: str  # the log of the seqs
    leaf_id: str | None  # the entry below which the next entry is placed; null before the first entry
    entry_count: int  # entries in the session, visible or not
    next_cursor: str | None  # the cursor of the next page; null on the last page
    visible_count: int = 0  # rows of the whole view
    preceding_count: int = 0  # rows of the view before this page
    open_ids: list[str] = msgspec.field(default_factory=list)  # layout `path`: the branches that are open


class LabelsParams(Params, frozen=True):
    """List the labeled entries of a session, in log order."""

    session_id: SessionId  # the session's full id
    cursor: str | None = None  # from an earlier result; default: none
    limit: Limit = 1_000  # maximum number of labels per page


class LabeledEntry(Wire, frozen=True):
    """A labeled entry."""

    entry_id: str  # the entry
    label: str  # its label
    labeled_at: str | None  # when it was labeled, as the line says; null without a time
    seq: int  # the seq of the entry's line
    type: str  # the type of the entry
    role: str | None  # the role of its message; null without one
    preview: (
        str  # one line of at most 120 characters, without Markdown; the error of a failed turn comes first
    )


class LabelsResult(Wire, frozen=True):
    """A page of labels."""

    log_id: str  # the log of the seqs
    items: list[LabeledEntry]  # at most `limit`
    next_cursor: str | None  # the cursor of the next page; null on the last page


class LabelParams(Params, frozen=True):
    """Label an entry. An absent or empty `label` removes the label."""

    session_id: SessionId  # the session's full id
    entry_id: EntryId  # the id of the entry
    label: Annotated[str, Meta(max_length=1_000)] | None = None  # the label; empty or null removes it
    command_id: CommandId | None = None  # repeats take effect once


class RenameParams(Params, frozen=True):
    """Set the title of a session. An empty title removes it. The title is a line of the log.

    The server also writes the title to the title slot or the header, where oh-my-pi reads it.
    """

    session_id: SessionId  # the session's full id
    title: Annotated[str, Meta(max_length=1_000)]  # the title; an empty one removes it
    command_id: CommandId | None = None  # repeats take effect once


class TagParams(Params, frozen=True):
    """Add and remove tags of a session, or replace all of them with `tags`. Tags are words to filter sessions by.

    A session has at most 100 tags. A request that would exceed this limit is rejected with `invalidParams`, unless it
    adds no tag to a session that already exceeds it.
    """

    session_id: SessionId  # the session's full id
    add: Annotated[list[Tag], Meta(max_length=100)] | None = None  # tags to add
    remove: Annotated[list[Tag], Meta(max_length=100)] | None = None  # tags to remove
    tags: Annotated[list[Tag], Meta(max_length=100)] | None = None  # the tags that replace all others
    command_id: CommandId | None = None  # repeats take effect once


class ChangeResult(Wire, frozen=True):
    """The line that recorded the change, and the session after it."""

    record_id: str  # the id of that line
    log_id: str  # the log of `seq`
    seq: int  # the seq of that line
    session: SessionInfo  # the session after the change
    duplicate: bool = False  # an earlier request took effect
