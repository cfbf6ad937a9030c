"""The receiving side of one connection: dispatches notifications, and handles requests of the daemon in tasks.

A `Receiver` ends with its connection; `NotificationReceivers` lasts and is shared by all connections of a link.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Raw

from sessiond.client.results import AppendedBatch
from sessiond.protocol import errors, types as t
from sessiond.protocol.error_details import InternalDetails, MethodNotFoundDetails
from sessiond.protocol.methods import APPENDED, METHODS, NOTIFICATIONS, PROGRESS
from sessiond.rpc.connection import CANCEL, Connection
from sessiond.rpc.handler import Handler
from sessiond.rpc.message import INVALID_REQUEST, BadMessage, Head, RequestId

NotificationParams = t.Wire | dict[str, Any]
"""A decoded notification; a dict when its name is unknown, as those of a newer daemon may be."""

RequestHandler = Callable[[Raw, Connection], Awaitable[object]]
"""Handles one request of the daemon: takes its params and the connection, and returns its result."""

OnProgress = Callable[[t.Progress], None]

_PARAM_TYPES: dict[str, Any] = {note.name: note.params for note in NOTIFICATIONS.values()} | {
    APPENDED.name: AppendedBatch,
    PROGRESS: t.ProgressNote,
}

_log = logging.getLogger("sessiond.client")


class NotificationObserver(Protocol):
    """Receives notifications, and the end of the connection that they came over."""

    def notified(self, method: str, note: NotificationParams) -> None:
        """Receive one notification. Must neither wait nor raise."""

    def disconnected(self) -> None:
        """Handle the end of the connection. Notifications until the next connection are missed."""


class NotificationReceivers:
    """Recipients of incoming messages: listeners, progress callbacks by token, and request handlers by method."""

    def __init__(self, handlers: Mapping[str, RequestHandler]) -> None:
        self.handlers = handlers
        self.observers: set[NotificationObserver] = set()
        self.progress: dict[t.ProgressToken, OnProgress] = {}
        self.tasks: set[asyncio.Task[None]] = set()


class Receiver(Handler[Connection]):
    """Receives the messages of one connection."""

    def __init__(self, receivers: NotificationReceivers) -> None:
        self._receivers = receivers
        self._tasks: dict[RequestId, asyncio.Task[None]] = {}

    def opened(self, connection: Connection) -> None:
        """Do nothing: the creator of the connection sends the handshake."""

    def strayed(self, connection: Connection, head: Head, body: bytes) -> None:
        """Ignore a second response, and one to a canceled request. A response to no request ends the connection."""
        if isinstance(head.id, int | str) and not connection.has_sent(head.id):
            message = f"There was no request {head.id!r:.60} to respond to."
            connection.close(BadMessage(INVALID_REQUEST, message))

    def received(self, connection: Connection, head: Head, body: bytes) -> None:
        """Pass a notification to the listeners, or handle a request in its own task."""
        method = str(head.method)
        params = Raw(b"{}") if head.params is UNSET else head.params
        if isinstance(head.id, int | str):
            self._handle_request(connection, head.id, method, params)
            return
        if not self._receivers.observers and method not in (CANCEL, PROGRESS):
            return
        try:
            if method == CANCEL:
                self._cancel(msgspec.json.decode(params, type=_CancelParams).id)
                return
            note: NotificationParams = msgspec.json.decode(
                params, type=_PARAM_TYPES.get(method, dict[str, Any])
            )
        except (msgspec.DecodeError, RecursionError) as error:
            reason = BadMessage(INVALID_REQUEST, f"The params of {method:.100} are wrong: {error}.")
            connection.close(reason)  # the message is lost; subscriptions subscribe again
            return
        if isinstance(note, t.ProgressNote) and (on_progress := self._receivers.progress.get(note.token)):
            # Called later, so that its exceptions reach the event loop's handler and not the reader.
            asyncio.get_running_loop().call_soon(on_progress, note.value)
        for observer in tuple(self._receivers.observers):
            observer.notified(method, note)

    def broken(self, connection: Connection, error: BadMessage) -> None:
        """Close a connection that violates the protocol."""
        connection.close(error)  # sessiond sends no such message, so the following bytes cannot be trusted

    def ended(self, connection: Connection) -> None:
        """Close the connection after the daemon has closed its side."""
        connection.close()  # a daemon closes its side only when it ends, and then expects no responses

    def closed(self, connection: Connection, reason: Exception | None) -> None:
        """Cancel the requests in progress, and notify the listeners."""
        for task in self._tasks.values():
            task.cancel()
        for observer in tuple(self._receivers.observers):
            observer.disconnected()

    def _handle_request(self, connection: Connection, id: RequestId, method: str, params: Raw) -> None:
        handler = self._receivers.handlers.get(method)
        if method in METHODS:  # such as an echo of the handshake
            connection.close(BadMessage(INVALID_REQUEST, f"It requests {method}, which only clients do."))
            return
        if handler is None:
            message = f"This client does not support {method}."
            details = MethodNotFoundDetails(did_you_mean=[])
            kind = errors.METHOD_NOT_FOUND
            connection.fail(id, kind.code, message, kind.data(details))
            return
        # The params are copied, since they are a view into the read buffer, which the task outlives.
        task = asyncio.create_task(_run_handler(connection, id, method, handler, Raw(bytes(params))))
        self._tasks[id] = task
        self._receivers.tasks.add(task)
        task.add_done_callback(lambda task: self._task_done(connection, id, task))

    def _task_done(self, connection: Connection, id: RequestId, task: asyncio.Task[None]) -> None:
        del self._tasks[id]
        self._receivers.tasks.discard(task)
        if task.cancelled():  # possibly before it began, so it could not respond itself
            data = errors.CANCELED.data(None)
            connection.fail(id, errors.CANCELED.code, "The request was canceled.", data)

    def _cancel(self, id: RequestId) -> None:
        if (task := self._tasks.get(id)) is not None:
            task.cancel()


class _CancelParams(msgspec.Struct):
    id: RequestId


async def _run_handler(
    connection: Connection, id: RequestId, method: str, handler: RequestHandler, params: Raw
) -> None:
    try:
        connection.reply(id, await handler(params, connection))
    except Exception as error:  # noqa: BLE001 - any exception of an author's function becomes an error response
        _log.warning("handling of %s failed", method, exc_info=True)
        data = errors.INTERNAL.data(InternalDetails(report_id=None))
        message = f"{method} failed in the client: {type(error).__name__}: {error}"
        connection.fail(id, errors.INTERNAL.code, message, data)
