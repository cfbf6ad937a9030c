"""Queues received bodies and delivers a limited number of them in each turn of the event loop."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from sessiond.rpc.message import BadMessage, Head, decode_message

_TURN_MESSAGES: Final = 64
"""Limit of messages that one connection delivers in one turn: three milliseconds of work if each is an append."""
_TURN_SECONDS: Final = 0.004
"""Limit of a turn with more expensive messages."""
_CLOCK_MESSAGES: Final = 16
"""Messages between two readings of the clock. Most turns have fewer messages and never read it."""
LARGE_FRAME: Final = 1024 * 1024
"""Bytes of a frame above which the owner is notified before more of the frame is read."""

Message: TypeAlias = tuple[Head, bytes]


class ReceiveQueue:
    """Decodes bodies in the order of the wire.

    A large body takes three turns of the event loop: one to split it off, one to decode it, and one to deliver it.

    Args:
        loop: Its clock limits the turns.
        delivered_large: Called after a large body was delivered.

    """

    def __init__(self, loop: asyncio.AbstractEventLoop, delivered_large: Callable[[], None]) -> None:
        self.is_paused = False
        """Whether delivery is paused."""
        self._loop = loop
        self._delivered_large = delivered_large
        self._bodies: deque[bytes | Message] = deque()
        """A large body at the front may already be decoded."""

    def __bool__(self) -> bool:
        return bool(self._bodies)

    def put(self, bodies: list[bytes]) -> None:
        """Queue complete bodies."""
        self._bodies.extend(bodies)

    def clear(self) -> None:
        """Drop the undelivered bodies."""
        self._bodies.clear()

    @property
    def begins_large(self) -> bool:
        """Whether the next body is large."""
        return bool(self._bodies) and _is_large(self._bodies[0])

    def turn(self, *, has_cut: bool) -> Iterator[Message | BadMessage]:
        """Yield the messages of one turn, until the queue is paused.

        Args:
            has_cut: Whether this turn has split bodies off the stream. If so, a large one is decoded in the next turn.

        """
        bodies = self._bodies
        until: float | None = None
        for count in range(_TURN_MESSAGES):
            if not bodies or self.is_paused:
                return
            if count >= _CLOCK_MESSAGES and not count % _CLOCK_MESSAGES:
                now = self._loop.time()
                if until is not None and now > until:
                    return
                until = until or now + _TURN_SECONDS
            first = bodies[0]
            if type(first) is bytes and len(first) <= LARGE_FRAME:
                del bodies[0]
                try:
                    yield decode_message(first)
                except BadMessage as error:
                    yield error
                continue
            message = self._next_large(has_cut=has_cut)
            if message is None:
                return
            yield message
            self._delivered_large()

    def _next_large(self, *, has_cut: bool) -> Message | BadMessage | None:
        """Return the large message at the front, or None if a later turn delivers it."""
        first = self._bodies[0]
        if isinstance(first, tuple):
            self._bodies.popleft()
            return first
        if has_cut:
            return None
        decoded = _decoded(first)
        if isinstance(decoded, BadMessage):
            self._bodies.popleft()
            return decoded
        self._bodies[0] = decoded
        return None


def _decoded(body: bytes) -> Message | BadMessage:
    try:
        return decode_message(body)
    except BadMessage as error:
        return error


def _is_large(body: bytes | Message) -> bool:
    """Return whether a body, decoded or not, is delivered over several turns of the event loop."""
    return isinstance(body, tuple) or len(body) > LARGE_FRAME
