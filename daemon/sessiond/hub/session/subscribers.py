"""Who watches a session and how they hear of it: encode once, send to many, replay gaps, wait for nobody.

A line of the log reaches a subscriber exactly once and in order: by `session/appended`, live or as a replay.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from msgspec import Raw

from sessiond.protocol import methods as m, types as t
from sessiond.rpc.message import encode_notification
from sessiond.store.errors import LogReplaced, StorageFailed

log = logging.getLogger(__name__)

SOFT_LIMIT: Final = 8 * 1024 * 1024
"""Bytes queued for a client above which it is told that it lags (decision 0026)."""
REPLAY_SLICE: Final = 128 * 1024
LARGE: Final = 1024 * 1024
"""Bytes of lines above which each subscriber has them at its own pace, as a replay: copies cost memory."""
PLACE_SECONDS: Final = 10.0
"""How long a subscriber may take to read a single large line while others wait for room."""
_NOTHING: Final = b'"no entry"'
"""What stands in the place of entries in a note that is encoded without them; in a text its quotes would be escaped."""
REPLAY_LIMIT: Final = 64 * 1024 * 1024
"""A larger gap is answered with a snapshot: reading the tree anew is cheaper than all of its lines."""


class Subscriber(Protocol):
    """A client as the hub sees it."""

    client_id: str

    @property
    def queued_bytes(self) -> int:
        """What this client has not read yet."""

    def wants(self, notification: str) -> bool:
        """Whether it has not opted out of a notification."""

    def send(self, body: bytes) -> None:
        """Queue an encoded message."""

    def send_parts(self, parts: list[bytes]) -> None:
        """Queue an encoded message that is in parts, without joining them."""

    async def drained(self) -> None:
        """Wait until little is queued, or the client is gone."""

    def place(self, size: int) -> AbstractAsyncContextManager[None]:
        """Room for so many bytes, of that which all subscribers share, for the time of the block."""


@dataclass
class _Subscription:
    subscriber: Subscriber
    next_row: int
    pump: asyncio.Task[None] | None = None
    """What replays to it; None when it hears everything live."""

    @property
    def live(self) -> bool:
        return self.pump is None


@dataclass
class Subscribers:
    """The subscribers of one session."""

    session_id: str
    rows: Callable[[], int]
    """How many rows are committed."""
    page_rows: Callable[[int, int], tuple[list[int], int]]
    """The rows from one on, up to a number of bytes, and how many these are; see `LiveSession.page_rows`."""
    read_rows: Callable[[Sequence[int]], list[bytes]]
    leaf_id: Callable[[], str | None]
    log_id: Callable[[], str]
    _all: dict[str, _Subscription] = field(default_factory=dict)

    def __contains__(self, client_id: str) -> bool:
        return client_id in self._all

    def __len__(self) -> int:
        return len(self._all)

    def add(self, subscriber: Subscriber, *, next_row: int) -> None:
        """Send `subscriber` every line from `next_row` on. What is there already follows in later loop ticks."""
        self.remove(subscriber.client_id)
        subscription = self._all[subscriber.client_id] = _Subscription(subscriber, next_row)
        if next_row < self.rows():
            self._catch_up(subscription)

    def rename(self, client_id: str, new_id: str) -> None:
        """A subscriber goes by another id now."""
        if client_id in self._all:
            self._all[new_id] = self._all.pop(client_id)

    def remove(self, client_id: str) -> bool:
        """Stop sending; whether there was a subscription."""
        subscription = self._all.pop(client_id, None)
        if subscription is not None and subscription.pump is not None:
            subscription.pump.cancel()
        return subscription is not None

    def appended(self, entries: Sequence[bytes], seqs: Sequence[int], origin: t.Origin) -> None:
        """Tell of committed lines."""
        if not self._all or not seqs:
            return
        if sum(map(len, entries)) > LARGE:
            self.catch_up()
            return
        body: bytes | None = None
        for subscription in list(self._all.values()):
            if not subscription.live:
                continue
            if body is None:
                body = self._note(entries, seqs, origin)
            self._send(subscription, body)
            subscription.next_row = seqs[-1] + 1

    def catch_up(self) -> None:
        """Much has been added at once: let everybody have it as a replay, at the pace at which they read."""
        for subscription in self._all.values():
            if subscription.live:
                self._catch_up(subscription)

    def lag(self, client_id: str) -> None:
        """Send this subscriber no more, and tell it so."""
        subscription = self._all.get(client_id)
        if subscription is not None:
            self._drop(subscription)

    def cut_off(self) -> None:
        """No more will come from here: tell everybody to subscribe again."""
        for subscription in list(self._all.values()):
            self._drop(subscription)

    def let_go(self) -> None:
        """Send nothing more to anybody; each will be told why by other means."""
        for client_id in list(self._all):
            self.remove(client_id)

    def tell(self, notification: m.Notification[Any], note: t.Wire) -> None:
        """Tell of something that is not a line."""
        if not self._all:
            return
        body = encode_notification(notification.name, note)
        for subscription in self._all.values():
            if subscription.live and subscription.subscriber.wants(notification.name):
                subscription.subscriber.send(body)

    def _send(self, subscription: _Subscription, body: bytes) -> None:
        subscriber = subscription.subscriber
        if subscriber.queued_bytes > SOFT_LIMIT:
            self._drop(subscription)
        elif subscriber.wants(m.APPENDED.name):
            subscriber.send(body)

    def _drop(self, subscription: _Subscription) -> None:
        """Send no more, and say from where on: a gap is never silent."""
        self.remove(subscription.subscriber.client_id)
        note = t.LaggedNote(
            session_id=self.session_id, log_id=self.log_id(), last_seq=subscription.next_row - 1
        )
        subscription.subscriber.send(encode_notification(m.LAGGED.name, note))

    def _note(
        self, entries: Sequence[bytes], seqs: Sequence[int], origin: t.Origin | None, *, replay: bool = False
    ) -> bytes:
        return encode_notification(
            m.APPENDED.name,
            t.AppendedNote(
                session_id=self.session_id, log_id=self.log_id(),
                entries=[Raw(entry) for entry in entries], seqs=list(seqs),
                seq=seqs[-1], leaf_id=self.leaf_id(), origin=origin, replay=replay,
            ),
        )  # fmt: skip

    def _note_in_parts(self, entries: Sequence[bytes], seqs: Sequence[int]) -> list[bytes]:
        """The note of a replay, its entries uncopied: each copy of what is large holds the loop."""
        note = self._note([_NOTHING], seqs, None, replay=True)
        head, _, tail = note.partition(b"[%b]" % _NOTHING)
        parts = [part for entry in entries for part in (b",", entry)]
        return [head, b"[", *parts[1:], b"]", tail]

    def _catch_up(self, subscription: _Subscription) -> None:
        subscription.pump = asyncio.get_running_loop().create_task(self._replay(subscription))

    async def _replay(self, subscription: _Subscription) -> None:
        subscriber = subscription.subscriber
        try:
            while subscription.next_row < self.rows():
                seqs, size = self.page_rows(subscription.next_row, REPLAY_SLICE)
                if size > LARGE:
                    await self._send_large(subscription, seqs, size)
                else:
                    self._send_page(subscription, self.read_rows(seqs), seqs)
                await subscriber.drained()
        except (StorageFailed, LogReplaced) as error:
            log.warning("a replay to client %s ended: %s", subscriber.client_id, error)
            subscription.pump = None
            self._drop(subscription)
        else:
            subscription.pump = None

    async def _send_large(self, subscription: _Subscription, seqs: Sequence[int], size: int) -> None:
        """Send a page with a large line. Who does not read it soon makes room for the next, all the same."""
        async with subscription.subscriber.place(size):  # hundreds may wait for the same large line
            if subscription.subscriber.wants(m.APPENDED.name):
                subscription.subscriber.send_parts(self._note_in_parts(self.read_rows(seqs), seqs))
            subscription.next_row = seqs[-1] + 1
            with suppress(TimeoutError):
                async with asyncio.timeout(PLACE_SECONDS):
                    await subscription.subscriber.drained()

    def _send_page(self, subscription: _Subscription, entries: Sequence[bytes], seqs: Sequence[int]) -> None:
        if seqs and subscription.subscriber.wants(m.APPENDED.name):
            subscription.subscriber.send(self._note(entries, seqs, None, replay=True))
        subscription.next_row = seqs[-1] + 1 if seqs else self.rows()
