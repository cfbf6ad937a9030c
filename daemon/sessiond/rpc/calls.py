"""The requests that one end of a connection has sent and that the peer has not answered yet."""

import asyncio
from typing import Final

from msgspec import UNSET, Raw

from sessiond.rpc.errors import ConnectionClosed, RemoteError, remote_error
from sessiond.rpc.message import Head

_NULL: Final = Raw(b"null")


class Calls:
    """Gives each call an id, and hands its response to the coroutine that waits for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.complaint: RemoteError | None = None
        """The peer's last error without an id, which often says why it then closed."""
        self._loop = loop
        self._waiting: dict[int | str, asyncio.Future[Raw]] = {}
        self._last_id = 0

    def begin(self) -> tuple[int, asyncio.Future[Raw]]:
        """Return the id of a new call and the future of its result."""
        self._last_id += 1
        answer: asyncio.Future[Raw] = self._loop.create_future()
        self._waiting[self._last_id] = answer
        return self._last_id, answer

    def end(self, id: int) -> None:
        """Forget a call: a response that comes later belongs to none."""
        self._waiting.pop(id, None)

    def settle(self, head: Head) -> bool:
        """Take in a response. Returns False when it belongs to no call that still waits."""
        error = None if head.error is UNSET or bytes(head.error) == b"null" else remote_error(head.error)
        answer = None if head.id is None or head.id is UNSET else self._waiting.get(head.id)
        if head.id is None:
            self.complaint = error
        if answer is None or answer.done():
            return False
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(_NULL if head.result is UNSET else head.result)
        return True

    def fail_all(self, reason: Exception | None) -> None:
        """Raise ConnectionClosed, for `reason` or else the peer's complaint, from every call that still waits."""
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionClosed(reason or self.complaint))
        self._waiting.clear()
