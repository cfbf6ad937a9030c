"""The results of handlers that cannot answer yet: a pending answer, or a session to open first."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from msgspec import UNSET

from sessiond.hub.session.live import LiveSession


class Pending:
    """An answer that is available later. It is delivered through callbacks, without a task.

    `on_cancel` is called when the request is canceled. If it is None, the request is answered even if it is canceled.
    """

    __slots__ = ("_answer", "_callbacks", "on_cancel")

    def __init__(self) -> None:
        self.on_cancel: Callable[[], None] | None = None
        self._callbacks: list[Callable[[object], None]] = []
        self._answer: object = UNSET

    def resolve(self, answer: object) -> None:
        """Set the answer: a result or an exception."""
        self._answer = answer
        for callback in self._callbacks:
            callback(answer)

    def then(self, callback: Callable[[object], None]) -> None:
        """Call `callback` with the answer: immediately if it is set, else after the callbacks added before."""
        if self._answer is not UNSET:
            callback(self._answer)
        else:
            self._callbacks.append(callback)


class Unopened:
    """The answer of a handler whose session must be opened first.

    Args:
        find: Opens the session.
        call: Calls the handler with the session.

    """

    def __init__(
        self, find: Callable[[], Awaitable[LiveSession]], call: Callable[[LiveSession], object]
    ) -> None:
        self._find: Final = find
        self._call: Final = call

    async def answer(self, started: Callable[[], None]) -> Any:
        """Open the session and return the answer of the handler.

        Args:
            started: Called after the handler was called.

        """
        answer = self._call(await self._find())
        started()
        return await answer if isinstance(answer, Coroutine) else answer
