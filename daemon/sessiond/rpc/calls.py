"""The requests that one end of a connection has in flight."""

import asyncio
from typing import Final

from msgspec import UNSET, Raw

from sessiond.rpc.errors import ConnectionClosed, RemoteError, remote_error
from sessiond.rpc.message import Head

_NULL: Final = Raw(b"null")


class Calls:
    """Assigns an id to each request and delivers its response to the coroutine that awaits it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.complaint: RemoteError | None = None
        """The peer's last error response with a null id. It often explains why the peer then closed the connection."""
        self._loop = loop
        self._waiting: dict[int | str, asyncio.Future[Raw]] = {}
        self._last_id = 0

    def begin(self) -> tuple[int, asyncio.Future[Raw]]:
        """Return the id of a new request and the future of its result."""
        self._last_id += 1
        answer: asyncio.Future[Raw] = self._loop.create_future()
        self._waiting[self._last_id] = answer
        return self._last_id, answer

    def has_begun(self, id: int | str | None) -> bool:
        """Return whether any request had this id."""
        return isinstance(id, int) and 0 < id <= self._last_id

    def end(self, id: int) -> None:
        """Remove a request. A later response to it matches no request."""
        self._waiting.pop(id, None)

    def settle(self, head: Head) -> bool:
        """Deliver a response to its request.

        Returns:
            False if no request in flight has the id of the response.

        """
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
        """Raise `ConnectionClosed` in every request in flight.

        Args:
            reason: The cause of the error; None if the cause is `complaint`.

        """
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionClosed(reason or self.complaint))
        self._waiting.clear()
