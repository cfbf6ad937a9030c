"""What a handler returns when it cannot answer at once: an answer that comes later, or a session to open first."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Final

from msgspec import UNSET

from sessiond.hub.session.live import LiveSession


class Pending:
    """An answer that comes later, through a callback instead of a task.

    `give_up` is what cancelling the request calls; a request without one is answered whatever is cancelled.
    """

    __slots__ = ("_answer", "_callbacks", "give_up")

    def __init__(self) -> None:
        self.give_up: Callable[[], None] | None = None
        self._callbacks: list[Callable[[object], None]] = []
        self._answer: object = UNSET

    def resolve(self, answer: object) -> None:
        """Give the answer, a result or an exception."""
        self._answer = answer
        for callback in self._callbacks:
            callback(answer)

    def then(self, callback: Callable[[object], None]) -> None:
        """Call `callback` with the answer: at once if it is there, else after those that were given first."""
        if self._answer is not UNSET:
            callback(self._answer)
        else:
            self._callbacks.append(callback)


class Unopened:
    """The answer of a handler whose session must be opened first.

    Args:
        find: Opens the session.
        call: Calls the handler with it.

    """

    def __init__(
        self, find: Callable[[], Awaitable[LiveSession]], call: Callable[[LiveSession], object]
    ) -> None:
        self._find: Final = find
        self._call: Final = call

    async def answer(self, begun: Callable[[], None]) -> Any:
        """Open the session and return what the handler answers. `begun` is called once the handler has been."""
        answer = self._call(await self._find())
        begun()
        return await answer if isinstance(answer, Coroutine) else answer
