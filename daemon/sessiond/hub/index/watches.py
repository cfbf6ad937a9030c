"""The watches of the session list: each client that shows a list receives the changed rows at its own pace.

A watch stores its filter and the position up to which its client knows the list, but no rows. A client that does not
read therefore needs no memory, and receives the newest rows when it reads again. All watches share one check of the
files (decision 0033).
"""

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from sessiond.hub.errors import Draining, Overloaded
from sessiond.hub.index.index import Index
from sessiond.hub.index.listing import ListDelta
from sessiond.hub.session.observers import ListObserver
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.message import encode_notification
from sessiond.store.errors import StorageFailed

if TYPE_CHECKING:
    from sessiond.hub.session.live import LiveSession

log = logging.getLogger(__name__)

MAX_WATCHES: Final = 64
"""The number of watches of one client, of lists and of trees."""
MAX_ROWS_IN_NOTIFICATION: Final = 200
"""The number of sessions in one notification."""
MIN_CHECK_SECONDS: Final = 0.05
"""The minimum time between two checks of the files."""
MAX_CHECK_SECONDS: Final = 2.0
"""The maximum time between two checks. The system does not report every change of a file."""
RETRY_SECONDS: Final = 1.0
"""The time until the next attempt after the index could not be read."""
_PAUSE_FACTOR: Final = 4.0
"""Checks pause for this multiple of the time that the last one took, because they take the interpreter lock."""


class Watcher(Protocol):
    """A client that watches lists."""

    def receives(self, notification: str) -> bool:
        """Whether the client has not opted out of a notification."""

    def send(self, body: bytes) -> None:
        """Queue an encoded message."""

    async def drained(self) -> None:
        """Wait until few bytes are queued or the client has disconnected."""


@dataclass
class _Watch:
    watch_id: str
    watcher: Watcher
    filter: t.ListFilter
    interval: float
    position: int
    """The position up to which the client was sent all changes."""
    complete_at: int
    """The last position at which the client knew the list; 0 if it is not known."""
    replayed_to: int
    """The position at which the watch began. Earlier changes are a replay."""
    task: "asyncio.Task[None] | None" = None


class Watches:
    """All watches of the daemon.

    Args:
        index: The index.
        observe: Adds an observer of all sessions, and returns a function that removes it.
        epoch: The epoch of the daemon.
        spawn: Runs a coroutine in the background.
    """

    def __init__(
        self,
        index: Index,
        observe: "Callable[[ListObserver[LiveSession]], Callable[[], None]]",
        epoch: str,
        spawn: Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"],
    ) -> None:
        self._index = index
        self._observe = observe
        self._epoch = epoch
        self._spawn = spawn
        self._all: dict[Watcher, dict[str, _Watch]] = {}
        self._change_noted = asyncio.Event()
        self._checking: asyncio.Task[None] | None = None
        self._stop_observing: Callable[[], None] | None = None
        self._pending_deltas: dict[tuple[bytes, int, int], asyncio.Task[ListDelta | None]] = {}

    async def add(self, watcher: Watcher, params: t.WatchParams, others: int) -> t.WatchResult:
        """Begin a watch. Its notifications follow the response.

        Args:
            watcher: The client.
            params: The params of the request.
            others: The number of the client's watches of trees.

        Raises:
            Overloaded: The client has too many watches.
            StorageFailed: The index cannot be read.
        """
        oldest, newest = await self._index.known_positions()
        position = self._index.position
        if self.count(watcher) + others >= MAX_WATCHES:
            raise Overloaded(f"this client has {MAX_WATCHES} watches already")
        snapshot = self._reason_for_a_snapshot(params.after, oldest, newest)
        replays = params.after if snapshot is None else None
        begin, complete_at = (position, position) if replays is None else (replays.position, 0)
        watch = _Watch(
            "w-" + os.urandom(6).hex(),
            watcher,
            params.filter,
            params.interval_ms / 1000,
            begin,
            complete_at,
            position,
        )
        self._all.setdefault(watcher, {})[watch.watch_id] = watch
        if self._checking is None:
            self._stop_observing = self._observe(self)
            self._checking = self._spawn(self._check_repeatedly())
        watch.task = self._spawn(self._follow(watch))
        reason, message = snapshot or (None, None)
        return t.WatchResult(
            watch_id=watch.watch_id,
            mode="replay" if snapshot is None else "snapshot",
            epoch=self._epoch,
            position=position,
            reason=reason,
            message=message,
        )

    def __len__(self) -> int:
        return sum(map(len, self._all.values()))

    def count(self, watcher: Watcher) -> int:
        """Return the number of watches of a client."""
        return len(self._all.get(watcher, ()))

    def remove(self, watcher: Watcher, watch_id: str) -> bool:
        """End a watch. Returns whether there was one."""
        watch = self._all.get(watcher, {}).pop(watch_id, None)
        if watch is None:
            return False
        if watch.task is not None:
            watch.task.cancel()
        if not self._all[watcher]:
            del self._all[watcher]
        if not self._all:
            self._stop_checking()
        return True

    def remove_all(self, watcher: Watcher) -> None:
        """End all watches of a client that has disconnected."""
        for watch_id in list(self._all.get(watcher, ())):
            self.remove(watcher, watch_id)

    def note_change(self, *_: object) -> None:
        """Note that rows may have changed: the files are checked soon. Cheap enough for every append."""
        self._change_noted.set()

    grew = written = note_change
    """The methods of `hub.session.observers.ListObserver`."""

    def _stop_checking(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
        if self._stop_observing is not None:
            self._stop_observing()
        self._checking = self._stop_observing = None

    def _reason_for_a_snapshot(
        self, after: t.ListPosition | None, oldest: int, newest: int
    ) -> tuple[str, str] | None:
        if after is None:
            return "noPosition", "No position to continue after was given."
        if after.epoch != self._epoch:
            return "otherEpoch", "The position was counted by another daemon."
        if after.position > newest:
            return "beyondEnd", "The list has never reached this position."
        if after.position < oldest:
            return "tooOld", "Too many sessions have changed since this position."
        return None

    async def _check_repeatedly(self) -> None:
        """Check the files after each noted change. If rows have changed, the index wakes the watches."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(MAX_CHECK_SECONDS):
                    await self._change_noted.wait()
            self._change_noted.clear()
            began = time.monotonic()
            try:
                await self._index.known_positions()
            except Draining:
                return
            except StorageFailed as error:
                log.warning("changes of the list are not sent: %s", error)
                self._change_noted.set()
                await asyncio.sleep(RETRY_SECONDS)
            await asyncio.sleep(max(MIN_CHECK_SECONDS, _PAUSE_FACTOR * (time.monotonic() - began)))

    async def _follow(self, watch: _Watch) -> None:
        """Send a client the changes that it has not received. Runs until the watch ends."""
        try:
            while True:
                await watch.watcher.drained()
                await self._index.wait_beyond(watch.position)
                try:
                    delta = await self._delta(watch)
                except StorageFailed as error:
                    log.warning("changes of the list are not sent: %s", error)
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                if delta is None:
                    self._lapse(watch)
                    return
                sent = self._send(watch, delta)
                if sent and delta.is_last:
                    await asyncio.sleep(watch.interval)
        except Draining:
            return

    async def _delta(self, watch: _Watch) -> ListDelta | None:
        """Return the next changes for a watch. Equal concurrent queries are sent to the index once."""
        key = msgspec.json.encode(watch.filter), watch.position, watch.complete_at
        task = self._pending_deltas.get(key)
        if task is None:
            reading = self._index.delta(
                watch.filter, watch.position, complete_at=watch.complete_at, limit=MAX_ROWS_IN_NOTIFICATION
            )
            task = self._pending_deltas[key] = asyncio.get_running_loop().create_task(reading)
            task.add_done_callback(lambda done: self._delta_is_done(key, done))
        return await asyncio.shield(task)

    def _delta_is_done(self, key: tuple[bytes, int, int], task: "asyncio.Task[ListDelta | None]") -> None:
        del self._pending_deltas[key]
        if not task.cancelled():
            task.exception()  # retrieved, in case every watch has ended meanwhile

    def _send(self, watch: _Watch, delta: ListDelta) -> bool:
        """Send the changes if there are any for this filter. Returns whether a notification was sent."""
        replay = watch.position < watch.replayed_to
        watch.position = delta.position
        if delta.is_complete:
            watch.complete_at = delta.position
        if not delta.rows and not delta.removed:
            return False
        note = t.SessionsChangedNote(
            watch_id=watch.watch_id, epoch=self._epoch, position=delta.position,
            changed=delta.rows, removed=delta.removed, replay=replay,
        )  # fmt: skip
        if watch.watcher.receives(m.SESSIONS_CHANGED.name):
            watch.watcher.send(encode_notification(m.SESSIONS_CHANGED.name, note))
        return True

    def _lapse(self, watch: _Watch) -> None:
        watch.task = None  # it is the current task and ends by itself
        self.remove(watch.watcher, watch.watch_id)
        note = t.WatchLapsedNote(
            watch_id=watch.watch_id,
            reason="tooOld",
            message="More sessions have changed than the daemon remembers.",
        )
        watch.watcher.send(encode_notification(m.WATCH_LAPSED.name, note))
