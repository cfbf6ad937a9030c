"""The subscribers of a session: encode once, send to many, replay gaps, and never block on a slow client.

A subscriber receives each line exactly once and in order, in `session/appended`, either live or as a replay.
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
"""If more bytes are queued for a client, it receives `session/lagged` (decision 0026)."""
REPLAY_SLICE: Final = 128 * 1024
"""The approximate size in bytes of one replay notification."""
LARGE: Final = 1024 * 1024
"""Lines with more bytes than this are sent as a replay, at the pace of each subscriber, because copies use memory."""
RESERVE_SECONDS: Final = 10.0
"""The time a subscriber may take to read a large line while others wait for memory."""
_NOTHING: Final = b'"no entry"'
"""The placeholder for entries in a notification encoded without them. In a JSON text its quotes are escaped."""
REPLAY_LIMIT: Final = 64 * 1024 * 1024
"""A gap of more bytes than this is answered with a snapshot: reading the tree is cheaper than reading all lines."""


class Subscriber(Protocol):
    """A client as the hub sees it."""

    client_id: str

    @property
    def queued_bytes(self) -> int:
        """The bytes that this client has not read yet."""

    def receives(self, notification: str) -> bool:
        """Whether the client has not opted out of a notification."""

    def send(self, body: bytes) -> None:
        """Queue an encoded message."""

    def send_parts(self, parts: list[bytes]) -> None:
        """Queue an encoded message in parts, without joining them."""

    async def drained(self) -> None:
        """Wait until little is queued or the client has disconnected."""

    def reserve(self, size: int) -> AbstractAsyncContextManager[None]:
        """Reserve bytes of the memory that all subscribers share, for the duration of the block."""


@dataclass
class _Subscription:
    subscriber: Subscriber
    next_row: int
    pump: asyncio.Task[None] | None = None
    """The task that replays lines; None while the subscriber is current."""

    @property
    def is_current(self) -> bool:
        """Whether it receives lines as they are committed, not as a replay."""
        return self.pump is None


@dataclass
class Subscribers:
    """The subscribers of one session."""

    session_id: str
    rows: Callable[[], int]
    """Returns the number of committed rows."""
    page_rows: Callable[[int, int], tuple[list[int], int]]
    """Returns the rows from a row on, up to a number of bytes, and their size; see `LiveSession.page_rows`."""
    read_rows: Callable[[Sequence[int]], list[bytes]]
    leaf_id: Callable[[], str | None]
    log_id: Callable[[], str]
    _all: dict[str, _Subscription] = field(default_factory=dict)

    def __contains__(self, client_id: str) -> bool:
        return client_id in self._all

    def __len__(self) -> int:
        return len(self._all)

    def add(self, subscriber: Subscriber, *, next_row: int) -> None:
        """Send `subscriber` every line from `next_row` on. Existing lines are sent in later turns of the event loop."""
        self.remove(subscriber.client_id)
        subscription = self._all[subscriber.client_id] = _Subscription(subscriber, next_row)
        if next_row < self.rows():
            self._catch_up(subscription)

    def rename(self, client_id: str, new_id: str) -> None:
        """Change the client id of a subscriber."""
        if client_id in self._all:
            self._all[new_id] = self._all.pop(client_id)

    def remove(self, client_id: str) -> bool:
        """Stop sending. Returns whether there was a subscription."""
        subscription = self._all.pop(client_id, None)
        if subscription is not None and subscription.pump is not None:
            subscription.pump.cancel()
        return subscription is not None

    def appended(
        self, entries: Sequence[bytes], seqs: Sequence[int], origin: t.Origin, leaf_id: str | None
    ) -> None:
        """Notify of committed lines. `leaf_id`: The leaf after them."""
        if not self._all or not seqs:
            return
        if sum(map(len, entries)) > LARGE:
            self.catch_up()
            return
        body: bytes | None = None
        for subscription in list(self._all.values()):
            if not subscription.is_current:
                continue
            if body is None:
                body = self._note(entries, seqs, origin, leaf_id)
            self._send(subscription, body)
            subscription.next_row = seqs[-1] + 1

    def catch_up(self) -> None:
        """Send new lines to all subscribers as a replay, at the pace of each."""
        for subscription in self._all.values():
            if subscription.is_current:
                self._catch_up(subscription)

    def lag(self, client_id: str) -> None:
        """Cancel the subscription of a client and send it `session/lagged`."""
        subscription = self._all.get(client_id)
        if subscription is not None:
            self._drop(subscription)

    def lag_all(self) -> None:
        """Cancel all subscriptions and send `session/lagged`: the clients have to subscribe again."""
        for subscription in list(self._all.values()):
            self._drop(subscription)

    def remove_all(self) -> None:
        """Cancel all subscriptions without `session/lagged`. The caller notifies the clients of the reason."""
        for client_id in list(self._all):
            self.remove(client_id)

    def notify(self, notification: m.Notification[Any], note: t.Wire) -> None:
        """Send current subscribers a notification other than `session/appended`."""
        if not self._all:
            return
        body = encode_notification(notification.name, note)
        for subscription in self._all.values():
            if subscription.is_current and subscription.subscriber.receives(notification.name):
                subscription.subscriber.send(body)

    def _send(self, subscription: _Subscription, body: bytes) -> None:
        subscriber = subscription.subscriber
        if subscriber.queued_bytes > SOFT_LIMIT:
            self._drop(subscription)
        elif subscriber.receives(m.APPENDED.name):
            subscriber.send(body)

    def _drop(self, subscription: _Subscription) -> None:
        """Cancel a subscription and send `session/lagged` with the last delivered seq, so that no gap is silent."""
        self.remove(subscription.subscriber.client_id)
        note = t.LaggedNote(
            session_id=self.session_id, log_id=self.log_id(), last_seq=subscription.next_row - 1
        )
        subscription.subscriber.send(encode_notification(m.LAGGED.name, note))

    def _note(
        self, entries: Sequence[bytes], seqs: Sequence[int], origin: t.Origin | None, leaf_id: str | None
    ) -> bytes:
        return encode_notification(
            m.APPENDED.name,
            t.AppendedNote(
                session_id=self.session_id, log_id=self.log_id(),
                items=[t.StoredEntry(seq=seq, entry=Raw(entry)) for seq, entry in zip(seqs, entries, strict=True)],
                from_seq=seqs[0], to_seq=seqs[-1], leaf_id=leaf_id, origin=origin, replay=origin is None,
            ),
        )  # fmt: skip

    def _note_in_parts(self, entries: Sequence[bytes], seqs: Sequence[int]) -> list[bytes]:
        """Encode a replay notification without copying its entries: copying large entries blocks the event loop."""
        note = self._note([_NOTHING] * len(entries), seqs, None, self.leaf_id())
        *before, tail = note.split(b'"entry":' + _NOTHING)
        parts = [
            part for head, entry in zip(before, entries, strict=True) for part in (head, b'"entry":', entry)
        ]
        return [*parts, tail]

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
        except Exception as error:  # nothing awaits this task, and the subscriber would wait forever
            is_expected = isinstance(error, StorageFailed | LogReplaced)
            log.warning(
                "a replay to client %s ended: %s", subscriber.client_id, error, exc_info=not is_expected
            )
            subscription.pump = None
            self._drop(subscription)
        else:
            subscription.pump = None

    async def _send_large(self, subscription: _Subscription, seqs: Sequence[int], size: int) -> None:
        """Send a page with a large line. A slow subscriber releases its memory to the next after `RESERVE_SECONDS`."""
        async with subscription.subscriber.reserve(size):  # hundreds may wait for the same line
            if subscription.subscriber.receives(m.APPENDED.name):
                subscription.subscriber.send_parts(self._note_in_parts(self.read_rows(seqs), seqs))
            subscription.next_row = seqs[-1] + 1
            with suppress(TimeoutError):
                async with asyncio.timeout(RESERVE_SECONDS):
                    await subscription.subscriber.drained()

    def _send_page(self, subscription: _Subscription, entries: Sequence[bytes], seqs: Sequence[int]) -> None:
        if seqs and subscription.subscriber.receives(m.APPENDED.name):
            subscription.subscriber.send(self._note(entries, seqs, None, self.leaf_id()))
        subscription.next_row = seqs[-1] + 1 if seqs else self.rows()
