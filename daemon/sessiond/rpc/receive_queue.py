"""The bodies that were cut out of the stream and wait to be delivered: a turn of the event loop takes a few of them."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, cast

from sessiond.rpc.message import BadMessage, Head, decode_message

_TURN_MESSAGES: Final = 256
"""Messages that one connection may deliver before the loop serves the others: about two milliseconds."""
_TURN_SECONDS: Final = 0.004
"""How long it may deliver messages that are more work than that."""
_CLOCK_MESSAGES: Final = 16
"""After how many messages the clock is read: most turns have fewer, and need not pay for it."""
LARGE_FRAME: Final = 1024 * 1024
"""Bytes of a frame above which its owner is asked for room before more of it is read."""

Message: TypeAlias = tuple[Head, bytes]


class ReceiveQueue:
    """Decodes bodies in the order of the wire.

    To cut out, to decode and to take in a large one takes a turn of the event loop each.

    Args:
        loop: Its clock ends the turns.
        delivered_large: Called after a large body was delivered.

    """

    def __init__(self, loop: asyncio.AbstractEventLoop, delivered_large: Callable[[], None]) -> None:
        self.is_paused = False
        """Whether nothing is to be delivered for now."""
        self._loop = loop
        self._delivered_large = delivered_large
        self._bodies: deque[bytes | Message] = deque()
        """The first one may be decoded, if it is large."""

    def __bool__(self) -> bool:
        return bool(self._bodies)

    def put(self, bodies: list[bytes]) -> None:
        """Queue bodies that were cut out."""
        self._bodies.extend(bodies)

    def clear(self) -> None:
        """Drop what is not delivered."""
        self._bodies.clear()

    @property
    def begins_large(self) -> bool:
        """Whether the next body is a large one."""
        return bool(self._bodies) and _is_large(self._bodies[0])

    def turn(self, *, has_cut: bool) -> Iterator[Message | BadMessage]:
        """Yield the messages of one turn, while they are wanted.

        Args:
            has_cut: Whether bodies were cut out in this turn, so that a large one is decoded in the next.

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
            if not _is_large(bodies[0]):
                yield _decoded(cast(bytes, bodies.popleft()))
                continue
            message = self._next_large(has_cut=has_cut)
            if message is None:
                return
            yield message
            self._delivered_large()

    def _next_large(self, *, has_cut: bool) -> Message | BadMessage | None:
        """Return the large message that is first in line; None if it is for another turn."""
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
    """Whether a body, decoded or not, is taken in over several turns of the event loop."""
    return isinstance(body, tuple) or len(body) > LARGE_FRAME
