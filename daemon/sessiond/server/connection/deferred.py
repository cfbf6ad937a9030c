"""The results of handlers that cannot answer yet: a pending answer, or a session to open first."""

from collections.abc import Awaitable, Callable, Coroutine
from types import CoroutineType
from typing import Any, Final

from msgspec import UNSET

from sessiond.hub.errors import EntryNotFound
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
        is_confirmed: Whether `find` has all lines of the store, so that an entry that is not found does not exist.

    """

    def __init__(
        self,
        find: Callable[[], Awaitable[LiveSession]],
        call: Callable[[LiveSession], object],
        *,
        is_confirmed: bool = False,
    ) -> None:
        self._find: Final = find
        self._call: Final = call
        self._is_confirmed: Final = is_confirmed

    async def answer(self, started: Callable[[], None]) -> Any:
        """Open the session and return the answer of the handler.

        Args:
            started: Called after the handler was called.

        """
        live = await self._find()
        if live.is_shared and not self._is_confirmed:
            answer = confirmed(live, lambda: self._call(live))
            if isinstance(answer, Unopened):
                return await answer.answer(started)
        else:
            answer = self._call(live)
        started()
        return await answer if isinstance(answer, Coroutine) else answer


DEFERRED: Final = frozenset({Pending, Unopened, CoroutineType})
"""The types of what a handler returns instead of a result. `isinstance` would take three times as long."""


def confirmed(live: LiveSession, call: Callable[[], object]) -> object:
    """Call a handler for a session of several daemons. If it does not find an entry, look into the store and repeat it.

    A client may name an entry that another daemon has acknowledged and whose line has not arrived here.
    """
    try:
        answer = call()
    except EntryNotFound:
        return Unopened(live.refreshed, lambda _live: call(), is_confirmed=True)
    return _confirmed(live, call, answer) if isinstance(answer, Coroutine) else answer


async def _confirmed(live: LiveSession, call: Callable[[], object], first: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await first
    except EntryNotFound:
        await live.refreshed()
        answer = call()
        return await answer if isinstance(answer, Coroutine) else answer
