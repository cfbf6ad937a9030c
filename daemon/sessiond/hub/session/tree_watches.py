"""The watches of the tree of a session: each client that shows the tree receives the rows that changed, at its pace.

A watch stores which rows its client has, but no texts. A client that does not read therefore needs little memory, and
receives the difference to the newest rows when it reads again. All rows come as notifications, the first ones too.
"""

import asyncio
import logging
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import msgspec

from sessiond.hub.execution.slices import context_of
from sessiond.hub.session.log_reader import LogReader
from sessiond.protocol import methods as m, types as t
from sessiond.protocol.enums import TreeLapseReason
from sessiond.rpc.message import encode_notification
from sessiond.session.tree.tree import NONE
from sessiond.session.views import tree_view
from sessiond.session.views.outline import Open
from sessiond.session.views.watched_view import (
    NOTHING,
    RowChange,
    Snapshot,
    WatchedView,
    changes,
    different_labels,
    window_around,
    window_in,
)
from sessiond.store.errors import LogReplaced, StorageFailed

log = logging.getLogger(__name__)

FIRST_ROWS: Final = 500
"""Rows that a client which watches all rows receives first."""
_ROWS_IN_NOTIFICATION: Final = 500
_MAX_GROWTH: Final = 4
"""A client that watches some rows may have this many times as many, after which the watch ends."""
_PAUSE_FACTOR: Final = 4.0
"""A watch pauses for this multiple of the time that the last comparison took."""

_MESSAGES: Final[dict[TreeLapseReason, str]] = {
    "otherLog": "The file of the session was replaced or rewritten.",
    "closed": "The session was closed.",
    "deleted": "The session is in the trash.",
    "outOfSight": "The rows of the watch have moved to other places, or there are too many of them.",
    "unreadable": "The session cannot be read.",
}


class TreeWatcher(Protocol):
    """A client that watches trees."""

    def receives(self, notification: str) -> bool:
        """Whether the client has not opted out of a notification."""

    def send(self, body: bytes) -> None:
        """Queue an encoded message."""

    async def drained(self) -> None:
        """Wait until few bytes are queued or the client has disconnected."""


class _Lapsed(Exception):
    """Raised if a watch cannot continue."""

    def __init__(self, reason: TreeLapseReason) -> None:
        super().__init__(reason)
        self.reason: TreeLapseReason = reason


@dataclass
class _Watch:
    watch_id: str
    watcher: TreeWatcher
    view: WatchedView
    limit: int | None
    interval: float
    snapshot: Snapshot = NOTHING
    """The rows of the view, as of the last notification."""
    window: range = range(0)
    """The places of the rows that the client has."""
    has_grown: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None


class TreeWatches:
    """The watches of one session's tree.

    Args:
        reader: The log of the session.
        session_id: The id of the session.
    """

    def __init__(self, reader: LogReader, session_id: str) -> None:
        self.session_id = session_id
        self._reader = reader
        self._all: dict[str, _Watch] = {}

    def __len__(self) -> int:
        return len(self._all)

    def count(self, watcher: TreeWatcher) -> int:
        """Return the number of watches of a client."""
        return sum(watch.watcher is watcher for watch in self._all.values())

    def add(self, watcher: TreeWatcher, params: t.WatchTreeParams) -> t.WatchTreeResult:
        """Begin a watch. Its notifications follow the response.

        Raises:
            EntryNotFound: `aroundId` names no entry.
        """
        reader = self._reader
        around = NONE if params.around_id is None else reader.row(params.around_id)
        rows = map(reader.tree.row, params.open_ids or ())
        open = Open(params.open_all, frozenset(row for row in rows if row is not None))
        watch = _Watch(
            "w-" + os.urandom(6).hex(), watcher, WatchedView(params.filter, params.query or "", open, around),
            params.limit, params.interval_ms / 1000,
        )  # fmt: skip
        self._all[watch.watch_id] = watch
        watch.task = asyncio.get_running_loop().create_task(self._follow(watch), context=context_of(watcher))
        return t.WatchTreeResult(watch_id=watch.watch_id)

    def remove(self, watcher: TreeWatcher, watch_id: str) -> bool:
        """End a watch. Returns whether there was one."""
        watch = self._all.get(watch_id)
        if watch is None or watch.watcher is not watcher:
            return False
        del self._all[watch_id]
        if watch.task is not None:
            watch.task.cancel()
        return True

    def remove_all(self, watcher: TreeWatcher) -> None:
        """End all watches of a client that has disconnected."""
        for watch_id in list(self._all):
            self.remove(watcher, watch_id)

    def lapse_all(self, reason: TreeLapseReason) -> None:
        """End all watches and notify the clients."""
        for watch in list(self._all.values()):
            self.remove(watch.watcher, watch.watch_id)
            _send_lapsed(watch, reason)

    def note_growth(self) -> None:
        """Note that lines were committed: clients receive the changes soon. Cheap enough for every append."""
        for watch in self._all.values():
            watch.has_grown.set()

    async def _follow(self, watch: _Watch) -> None:
        """Send a client its rows, and then the changes. Runs until the watch ends."""
        reason: TreeLapseReason
        try:
            while True:
                await watch.watcher.drained()
                watch.has_grown.clear()
                began = time.monotonic()
                await self._update(watch)
                await asyncio.sleep(max(watch.interval, _PAUSE_FACTOR * (time.monotonic() - began)))
                await watch.has_grown.wait()
        except _Lapsed as lapsed:
            reason = lapsed.reason
        except LogReplaced:
            reason = "otherLog"
        except StorageFailed:
            reason = "unreadable"
        except Exception:  # the client must not continue with old rows
            log.exception("session %s: a watch of the tree has ended", self.session_id)
            reason = "unreadable"
        if self._all.pop(watch.watch_id, None) is not None:
            _send_lapsed(watch, reason)

    async def _update(self, watch: _Watch) -> None:
        """Send a client the difference between the rows that it has and those that it is to have now."""
        reader = self._reader
        tree, outline = reader.tree, reader.outline

        def read(rows: Sequence[int]) -> list[bytes]:
            if reader.tree is not tree:
                raise _Lapsed("otherLog")
            return reader.read_rows(rows)

        new = await reader.drive(watch.view.snapshot(tree, outline, read, reader.read_stored))
        for window in _windows(watch, new):
            old = watch.snapshot
            found = await reader.drive(changes(old, new, watch.window, window))
            labels = [
                t.EntryLabel(entry_id=name, label=new.labels[name].text if name in new.labels else None)
                for name in (different_labels(old.labels, new.labels) if old is not NOTHING else ())
            ]
            if old is new and not found:
                continue
            for part in _parts(found, window, is_first=not watch.window):
                await watch.watcher.drained()
                changed: list[t.TreeChange] = []
                for place, removed, places in part.changes:
                    shapes = new.shapes(places)
                    on_path = new.on_path(places, shapes)
                    nodes = await reader.drive(
                        tree_view.nodes_of(tree, outline, shapes, on_path, new.labels, read)
                    )
                    changed.append(
                        t.TreeChange(
                            place=place,
                            removed=removed,
                            nodes=msgspec.convert(nodes, list[t.TreeNode], from_attributes=True),
                        )
                    )
                if reader.tree is not tree:
                    raise _Lapsed("otherLog")
                self._send(watch, new, part, changed, labels)
                labels = []
            watch.snapshot, watch.window = new, window

    def _send(
        self,
        watch: _Watch,
        new: Snapshot,
        part: "_Part",
        changed: list[t.TreeChange],
        labels: list[t.EntryLabel],
    ) -> None:
        leaf = new.moment.leaf
        note = t.TreeChangedNote(
            watch_id=watch.watch_id, session_id=self.session_id, log_id=self._reader.log.log_id,
            seq=new.moment.end - 1, leaf_id=None if leaf == NONE else self._reader.tree.id(leaf),
            entry_count=new.entry_count, visible_count=len(new), preceding_count=part.preceding,
            path_end=None if new.tip == NONE else new.tip, changes=changed, labels=labels, more=part.more,
        )  # fmt: skip
        if watch.watcher.receives(m.TREE_CHANGED.name):
            watch.watcher.send(encode_notification(m.TREE_CHANGED.name, note))


class _Part(NamedTuple):
    """The changes of one notification.

    Attributes:
        changes: The changes.
        preceding: The number of rows of the view before those of the client.
        more: Whether rows between those of the client are missing until the next notification.
    """

    changes: list[RowChange]
    preceding: int
    more: bool


def _windows(watch: _Watch, new: Snapshot) -> Iterator[range]:
    """Yield the places of the rows that a client should have; if it has no rows, first some of them."""
    if watch.snapshot is NOTHING:
        yield window_around(new, watch.view.shown_row, watch.limit or FIRST_ROWS)
    elif watch.limit is not None:
        window = window_in(new, watch.snapshot, watch.window)
        if window is None or len(window) > max(_MAX_GROWTH * watch.limit, len(watch.window)):
            raise _Lapsed("outOfSight")
        yield window
    if watch.limit is None:
        yield range(len(new))


def _parts(found: list[RowChange], window: range, *, is_first: bool) -> list[_Part]:
    """Divide changes among notifications. Rows before those of the client come last, the nearest first."""
    before = None
    if found and not is_first and found[-1].place == 0 and not found[-1].removed:
        *found, before = found
    groups: list[list[RowChange]] = [[]]
    room = _ROWS_IN_NOTIFICATION
    for place, removed, places in found:
        for start in range(places.start, max(places.stop, places.start + 1), _ROWS_IN_NOTIFICATION):
            rows = range(start, min(start + _ROWS_IN_NOTIFICATION, places.stop))
            if len(rows) > room:
                groups.append([])
                room = _ROWS_IN_NOTIFICATION
            room -= len(rows)
            is_rest = start > places.start
            groups[-1].append(RowChange(place + start - places.start, 0 if is_rest else removed, rows))
    preceding = window.start if before is None else before.rows.stop
    parts = [_Part(group, preceding, group is not groups[-1]) for group in groups if group or before is None]
    if before is not None:
        for stop in range(before.rows.stop, before.rows.start, -_ROWS_IN_NOTIFICATION):
            start = max(stop - _ROWS_IN_NOTIFICATION, before.rows.start)
            parts.append(_Part([RowChange(0, 0, range(start, stop))], start, more=False))
    return parts


def _send_lapsed(watch: _Watch, reason: TreeLapseReason) -> None:
    note = t.TreeLapsedNote(watch_id=watch.watch_id, reason=reason, message=_MESSAGES[reason])
    watch.watcher.send(encode_notification(m.TREE_LAPSED.name, note))
