"""The daemon as a plain blocking object, for the command line and for scripts without an event loop.

One request at a time over one connection; notifications that arrive meanwhile are buffered for `notifications`. If a
daemon has ended without reading the request, the object connects again. It sends `server/hello` only when it is given
params for it; session methods need none (protocol.md). Open sessions and subscriptions of a connection are not
restored on the next.
"""

from __future__ import annotations

from time import monotonic

from sessiond.client.commands import is_repeatable, repeatable
from sessiond.client.wire import (
    LONGEST_BODY,
    METHOD_NOT_FOUND,
    DaemonUnresponsiveError,
    DisconnectedError,
    InvalidResponseError,
    MessageReader,
    RequestNotReadError,
    RpcError,
    frame,
    members,
    refusal,
)
from sessiond.rpc.peer import peer_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Any, NoReturn, Self, TypeAlias

    from sessiond.paths import Locations

    OnNotification: TypeAlias = Callable[[str, Any], None]


_ATTEMPTS = 5
DRAIN_SECONDS = 15.0  # seconds to wait for the end of a daemon that refuses writes

SILENCE_SECONDS = 5.0
"""Seconds without a byte after which the client sends `server/status`."""
STATUS_SECONDS = 10.0
"""Seconds that the daemon may then take to respond."""
STOP_SECONDS = 30.0
"""Seconds that a daemon may take to end."""
_STATUS_ID = "sign-of-life"
_HELLO_ID = "greeting"

_LAST = 4
received: list[tuple[str, Any]] = []
"""The last results and notifications in this process, with their methods. If a command cannot use one, `cli.errors`
checks whether it is of its type."""


def connect(
    *, autostart: bool = True, locations: Locations | None = None, hello: dict[str, Any] | None = None
) -> BlockingDaemon:
    """Connect to the daemon of this user, and start it if it does not run.

    Args:
        autostart: Start the daemon if it does not run.
        locations: The folders of the daemon. Default: those of this user.
        hello: The params of a `server/hello` request to send first. Default: none is sent.

    Returns:
        The connection, which is also a context manager.

    Raises:
        DaemonConnectionError: There is no daemon, or it cannot be started.
    """
    from sessiond.client.dial import connect as dial
    from sessiond.paths import find_locations

    folders = locations or find_locations()
    return BlockingDaemon(lambda: dial(folders, autostart=autostart), hello)


def connect_to_any(locations: Locations | None = None) -> BlockingDaemon:
    """Connect to the running daemon of any version, for requests that all versions support.

    Args:
        locations: The folders of the daemon. Default: those of this user.

    Returns:
        The connection, which is also a context manager.

    Raises:
        DaemonConnectionError: There is no daemon.
    """
    from sessiond.client.dial import connect_to_any as dial
    from sessiond.paths import find_locations

    folders = locations or find_locations()
    return BlockingDaemon(lambda: dial(folders))


class BlockingDaemon:
    """A connection to the daemon, and a context manager. `close` may be called twice."""

    def __init__(self, dial: Callable[[], socket], hello: dict[str, Any] | None = None) -> None:
        self._dial = dial
        self._hello = hello
        self._connect()
        self._subscribed = False
        self._last_id = 0
        self._is_check = False
        self._on_notification: OnNotification | None = None
        self._buffered: list[tuple[str, Any]] = []

    def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        on_notification: OnNotification | None = None,
    ) -> Any:
        """Send a request and wait for its result.

        A request that writes gets a `commandId`, unless `params` has one, and is sent once more if its response was
        lost. If a daemon that is about to end refuses a write, the request goes to the next daemon. Neither happens
        on a connection that has subscribed to a session, since a new connection has no subscription.

        Args:
            method: The name of the method, such as "session/list".
            params: The params as on the wire: a dict of JSON values.
            on_notification: Called with the method and the params of each notification that arrives meanwhile.
                Default: they are buffered for `notifications`.

        Returns:
            The result, as JSON values.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost before the response, so the outcome is unknown.
            DaemonUnresponsiveError: The daemon was silent for `SILENCE_SECONDS` and `STATUS_SECONDS` seconds.
            InvalidResponseError: The bytes from the socket are not a response.
        """
        self._on_notification = on_notification
        try:
            return self._request(method, repeatable(method, params or {}))[0]
        finally:
            self._on_notification = None

    def call_text(self, method: str, params: dict[str, Any] | None = None) -> str:
        """Send a request as `call` does, and return the JSON text of its result.

        Args:
            method: The name of the method.
            params: The params as on the wire.

        Returns:
            The result, character for character as the daemon sent it.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost before the response, so the outcome is unknown.
        """
        return self._request(method, repeatable(method, params or {}))[1]

    def call_unchanged(self, method: str, params: dict[str, Any]) -> str:
        """Send a request as `call_text` does, with exactly these params: no `commandId` is added.

        Args:
            method: The name of the method.
            params: The params as on the wire.

        Returns:
            The result, character for character as the daemon sent it.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost before the response, so the outcome is unknown.
        """
        return self._request(method, params)[1]

    def notifications(self) -> Iterator[tuple[str, Any]]:
        """Wait for notifications without a limit.

        Returns:
            An iterator of each notification as `(method, params)`, buffered ones first. It ends with the connection.
        """
        self._reader.wait(None)  # the next one may come after days
        yield from self._notifications()

    def _notifications(self) -> Iterator[tuple[str, Any]]:
        while True:
            while self._buffered:
                yield self._buffered.pop(0)
            try:
                self._receive()
            except DisconnectedError:
                return

    def wait_closed(self) -> None:
        """Wait until the daemon ends the connection, as it does when it stops.

        Raises:
            DaemonUnresponsiveError: It did not do so in 30 seconds.
        """
        self._reader.wait(STOP_SECONDS)
        self._reader.on_silence = lambda: self._raise_unresponsive(STOP_SECONDS)
        for _ in self._notifications():
            pass

    def close(self) -> None:
        """End the connection. The daemon and all sessions stay."""
        self._sock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _connect(self) -> None:
        self._sock = self._dial()
        self._status_requested = False
        self._buffered_size = 0
        self._reader = MessageReader(self._sock, self._request_status)
        self._reader.wait(SILENCE_SECONDS)
        if self._hello is not None:
            self._send_hello(self._hello)

    def _send_hello(self, params: dict[str, Any]) -> None:
        """Send `server/hello`. Its response is ignored, like every response to another request."""
        import contextlib

        with contextlib.suppress(RequestNotReadError):  # the daemon has ended; the next request fails as well
            self._send({"jsonrpc": "2.0", "id": _HELLO_ID, "method": "server/hello", "params": params})

    def _request_status(self) -> None:
        """Send `server/status` after a silence: during a long request the daemon responds to another one."""
        import contextlib

        if self._status_requested:
            self._raise_unresponsive(SILENCE_SECONDS + STATUS_SECONDS)
        self._status_requested = True
        with contextlib.suppress(
            RequestNotReadError
        ):  # the daemon has closed; earlier bytes can still be read
            self._send({"jsonrpc": "2.0", "id": _STATUS_ID, "method": "server/status", "params": {}})
        self._reader.wait(STATUS_SECONDS)

    def _expect_response(self) -> None:
        """Give the daemon the whole time again: a request is sent, or it has answered one."""
        self._status_requested = False
        self._buffered_size = 0
        self._reader.wait(SILENCE_SECONDS)

    def _raise_unresponsive(self, seconds: float) -> NoReturn:
        raise DaemonUnresponsiveError(peer_pid(self._sock), seconds)

    def _request(self, method: str, params: dict[str, Any]) -> tuple[Any, str]:
        self._last_id += 1
        self._subscribed = self._subscribed or method == "session/subscribe"
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        may_repeat = is_repeatable(method, params)
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._exchange(request)
            except DisconnectedError as error:
                if self._subscribed or not (may_repeat or isinstance(error, RequestNotReadError)):
                    raise
                # The daemon was ending, and the next one reads the request; or the connection was lost during the
                # request. Then it is sent once more, and not a third time: it may be the reason why daemons end.
                may_repeat = may_repeat and isinstance(error, RequestNotReadError)
            except RpcError as error:
                if error.kind != "draining" or self._subscribed or not self._ends_soon():
                    raise
            self._sock.close()
            self._connect()
        return self._exchange(request)

    def _ends_soon(self) -> bool:
        """Return whether a daemon that refuses writes ends within 15 seconds."""
        self._reader.wait(DRAIN_SECONDS)
        self._reader.on_silence = None
        try:
            while True:
                self._receive()
        except TimeoutError:
            self._reader.on_silence = self._request_status
            return False
        except DisconnectedError:
            return True

    def _exchange(self, request: dict[str, Any]) -> tuple[Any, str]:
        self._expect_response()
        self._send(request)
        while True:
            text, message = self._receive()
            id = message.get("id", (None,))[0]
            if "method" in message or id not in (request["id"], _STATUS_ID, None):
                continue
            self._expect_response()
            if id == _STATUS_ID:
                continue
            if "error" in message:
                raise refusal(message["error"][0])
            if "result" in message:
                value, start, end = message["result"]
                _note_received(request["method"], value)
                return value, text[start:end]
            raise InvalidResponseError("a response without result or error")

    def _receive(self) -> tuple[str, dict[str, tuple[Any, int, int]]]:
        """Return the next message. Notifications are buffered or passed to `on_notification`; requests are refused."""
        try:
            text = self._reader.read()
        except RequestNotReadError:
            if self._status_requested:
                # The unread bytes may be those of the status request, not of the request before it.
                raise DisconnectedError from None
            raise
        message = members(text)
        if "method" in message:
            method = message["method"][0]
            if "id" in message:
                error = {"code": METHOD_NOT_FOUND, "message": f"This client does not support {method}."}
                self._send({"jsonrpc": "2.0", "id": message["id"][0], "error": error})
            else:
                note = method, message["params"][0] if "params" in message else {}
                if not isinstance(method, str) or not isinstance(note[1], dict):
                    raise InvalidResponseError("a notification without a name, or without members")
                _note_received(*note)
                if self._on_notification is not None:
                    self._on_notification(*note)
                else:
                    self._buffered_size += len(text)
                    if self._buffered_size > LONGEST_BODY:
                        raise InvalidResponseError("notifications without end, and no response")
                    self._buffered.append(note)
        return text, message

    def _send(self, message: dict[str, Any]) -> None:
        left = memoryview(frame(message))
        self._sock.settimeout(SILENCE_SECONDS)
        check_at = monotonic() + SILENCE_SECONDS
        while left:
            try:
                left = left[self._sock.send(left) :]
            except TimeoutError:
                pass
            except ConnectionError as error:
                raise RequestNotReadError from error
            if left and monotonic() >= check_at:
                self._check_alive()
                check_at = monotonic() + SILENCE_SECONDS

    def _check_alive(self) -> None:
        """Check over another connection that a daemon that has stopped reading is alive.

        Raises `DaemonUnresponsiveError`.
        """
        if self._is_check:
            self._raise_unresponsive(SILENCE_SECONDS)
        with BlockingDaemon(self._dial) as other:
            other._is_check = True
            other.call("server/status")


def _note_received(method: str, value: Any) -> None:
    received.append((method, value))
    del received[:-_LAST]
