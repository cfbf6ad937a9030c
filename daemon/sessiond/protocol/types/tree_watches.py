"""Watches of the tree of a session: session/watchTree, and their notifications."""

from typing import Annotated

from msgspec import Meta

from sessiond.protocol.enums import Filter, opened
from sessiond.protocol.types.shared import EntryId, Limit, LogId, Params, SessionId, Wire
from sessiond.protocol.types.tree import TreeNode


class WatchTreeParams(Params, frozen=True):
    """Watch a tree: receive its rows, and then what changes, as `session/treeChanged`. No subscription is needed.

    The rows are those of `session/tree` in the layout `path`, in the same order. The notifications follow the response.
    The client has no rows at first. Without `limit`, it receives those around `aroundId`, and then all others. With
    `limit`, it receives at most that many, and later also rows between them, and those beyond the first or the last
    row of the view if the client has that row. `server/unwatch` and the end of the connection end the watch. A client
    may have up to 64 watches, of lists and of trees.
    """

    session_id: SessionId  # the session's full id
    filter: Filter = "default"  # which rows are visible
    query: str | None = None  # only rows with all of these words
    open_ids: Annotated[list[EntryId], Meta(max_length=10_000)] | None = None  # the open branches
    open_all: bool = False  # every branch is open
    around_id: EntryId | None = (
        None  # the entry around which the first rows are; default: the leaf. Its branches are opened.
    )
    limit: Limit | None = None  # the number of rows; default: all
    interval_ms: Annotated[int, Meta(ge=20, le=60_000)] = 50  # minimum time between two changes


class WatchTreeResult(Wire, frozen=True):
    """The watch. Its rows come as `session/treeChanged`."""

    watch_id: str  # unique on this connection, and never used again


class TreeChange(Wire, frozen=True):
    """A change of the rows that a client has: `removed` rows from `place` on become `nodes`."""

    place: int  # counts from 0, among the rows of the client
    removed: int  # a number of rows, which may be 0
    nodes: list[TreeNode]  # the new rows in their place


class EntryLabel(Wire, frozen=True):
    """The label of an entry."""

    entry_id: str  # the entry, which may have no row
    label: str | None  # its label; null without one


class TreeChangedNote(Wire, frozen=True):
    """Rows of a watched tree changed (`session/watchTree`).

    The client applies `changes` in their order, then `labels`. A row is on the path to the leaf if its `indent` is 0
    and it is not after the row at `pathEnd`; the sent rows have the present `onPath`, and the client updates its
    other rows.
    """

    watch_id: str  # the id of the watch
    session_id: str  # the id of the session
    log_id: LogId  # the log of the seqs
    seq: int  # the rows are those of the log up to this line
    leaf_id: str | None  # the entry below which the next entry is placed; null before the first entry
    entry_count: int  # entries in the session, visible or not
    visible_count: int  # rows of the whole view
    preceding_count: int  # rows of the view before those of the client
    path_end: int | None  # place in the view of the last row on the path to the leaf; null without one
    changes: list[TreeChange]  # at most 500 new rows
    labels: list[EntryLabel]  # labels that changed
    more: bool  # whether rows between those of the client are missing until the next notification


class TreeLapsedNote(Wire, frozen=True):
    """A watch of a tree ended. A client that still shows the tree watches again, and receives all rows."""

    watch_id: str  # the id of the watch
    reason: Annotated[str, opened("TreeLapseReason")]
    message: str  # a sentence about the reason
