"""What comes in over one connection: notifications are passed on, requests of the daemon answered by tasks.

It outlives no connection: what must last is in the `NotificationReceivers`, which every connection of a `Link` shares.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Raw

from sessiond.client.results import AppendedBatch
from sessiond.protocol import errors, types as t
from sessiond.protocol.methods import APPENDED, NOTIFICATIONS, PROGRESS
from sessiond.rpc.connection import CANCEL, Connection
from sessiond.rpc.handler import Handler
from sessiond.rpc.message import BadMessage, Head, RequestId

Note = t.Wire | dict[str, Any]
"""A decoded notification; a dict when its name is unknown, as those of a newer daemon may be."""

Answer = Callable[[Raw, Connection], Awaitable[object]]
"""Answers one request of the daemon: from its params, over the connection that it came by, to its result."""

OnProgress = Callable[[t.Progress], None]

_NOTES: dict[str, Any] = {note.name: note.params for note in NOTIFICATIONS.values()} | {
    APPENDED.name: AppendedBatch,
    PROGRESS: t.ProgressNote,
}

_log = logging.getLogger("sessiond.client")


class NotificationObserver(Protocol):
    """Who hears of notifications, and of the end of the connection that they came over."""

    def notified(self, method: str, note: Note) -> None:
        """Take in one notification. Must neither wait nor raise."""

    def disconnected(self) -> None:
        """Take in that nothing more comes until the next connection, and that something may be missed."""


class NotificationReceivers:
    """Who hears of what comes in: listeners, those who wait for progress by token, and answers by method."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = answers
        self.listeners: set[NotificationObserver] = set()
        self.progress: dict[t.ProgressToken, OnProgress] = {}
        self.answering: set[asyncio.Task[None]] = set()


class Receiver(Handler[Connection]):
    """Takes in what comes over one connection."""

    def __init__(self, receivers: NotificationReceivers) -> None:
        self._receivers = receivers
        self._tasks: dict[RequestId, asyncio.Task[None]] = {}

    def opened(self, connection: Connection) -> None:
        """Nothing to do: whoever dialled greets."""

    def strayed(self, connection: Connection, head: Head, body: bytes) -> None:
        """The answer to a request that was given up."""

    def received(self, connection: Connection, head: Head, body: bytes) -> None:
        """Pass a notification on to the listeners, or answer a request in a task of its own."""
        method = str(head.method)
        params = Raw(b"{}") if head.params is UNSET else head.params
        if isinstance(head.id, int | str):
            self._asked(connection, head.id, method, params)
            return
        if not self._receivers.listeners and method not in (CANCEL, PROGRESS):
            return
        try:
            if method == CANCEL:
                self._cancel(msgspec.json.decode(params, type=_CancelParams).id)
                return
            note: Note = msgspec.json.decode(params, type=_NOTES.get(method, dict[str, Any]))
        except msgspec.DecodeError:
            connection.close()  # whatever it was is lost; those who must not lose anything subscribe again
            return
        if isinstance(note, t.ProgressNote) and (on_progress := self._receivers.progress.get(note.token)):
            # Later, so that what it raises goes the way of every callback's error and not through the reader.
            asyncio.get_running_loop().call_soon(on_progress, note.value)
        for listener in tuple(self._receivers.listeners):
            listener.notified(method, note)

    def broken(self, connection: Connection, error: BadMessage) -> None:
        """End a connection that does not speak the protocol."""
        connection.close()  # a daemon of ours sends no such thing, so nothing after it can be trusted

    def ended(self, connection: Connection) -> None:
        """End the connection of a daemon that sends no more."""
        connection.close()  # a daemon that sends no more is gone, and waits for no answer

    def closed(self, connection: Connection, reason: Exception | None) -> None:
        """Cancel what is being answered, and tell the listeners."""
        for task in self._tasks.values():
            task.cancel()
        for listener in tuple(self._receivers.listeners):
            listener.disconnected()

    def _asked(self, connection: Connection, id: RequestId, method: str, params: Raw) -> None:
        answer = self._receivers.answers.get(method)
        if answer is None:
            message = f"This client does not know {method}."
            data = errors.ErrorData(kind="methodNotFound", retryable=False)
            connection.fail(id, errors.METHOD_NOT_FOUND, message, data)
            return
        # The params are a view into the bytes of this read, which the task outlives.
        task = asyncio.create_task(_answer(connection, id, method, answer, Raw(bytes(params))))
        self._tasks[id] = task
        self._receivers.answering.add(task)
        task.add_done_callback(lambda task: self._answered(connection, id, task))

    def _answered(self, connection: Connection, id: RequestId, task: asyncio.Task[None]) -> None:
        del self._tasks[id]
        self._receivers.answering.discard(task)
        if task.cancelled():  # perhaps before it began, so it could not answer that itself
            data = errors.ErrorData(kind="cancelled", retryable=False)
            connection.fail(id, errors.CANCELLED, "The request was cancelled.", data)

    def _cancel(self, id: RequestId) -> None:
        if (task := self._tasks.get(id)) is not None:
            task.cancel()


class _CancelParams(msgspec.Struct):
    id: RequestId


async def _answer(connection: Connection, id: RequestId, method: str, answer: Answer, params: Raw) -> None:
    try:
        connection.reply(id, await answer(params, connection))
    except Exception as error:  # noqa: BLE001 - whatever an author's function raises is an answer, too
        _log.warning("answering %s failed", method, exc_info=True)
        data = errors.ErrorData(kind="internal", retryable=True)
        message = f"{method} failed in the client: {type(error).__name__}: {error}"
        connection.fail(id, errors.INTERNAL, message, data)
