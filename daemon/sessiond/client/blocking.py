"""The daemon as a plain blocking object, for the command line and for scripts without an event loop.

One request at a time over one connection; notifications that arrive meanwhile are buffered for `notifications`. If a
daemon has ended without reading the request, the object connects again. It sends `server/hello` only when it is given
params for it; session methods need none (protocol.md). Open sessions and subscriptions of a connection are not
restored on the next.
"""

from __future__ import annotations

from collections import deque

from sessiond.client.commands import is_repeatable, repeatable
from sessiond.client.wire import (
    BadReply,
    DaemonHung,
    Disconnected,
    MessageReader,
    RpcError,
    Unread,
    frame,
    members,
)
from sessiond.rpc.peer import peer_pid

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Any, NoReturn, Self, TypeAlias

    from sessiond.paths import Locations

    Told: TypeAlias = Callable[[str, Any], None]

METHOD_NOT_FOUND = -32601  # also in protocol.errors, which imports msgspec


_ATTEMPTS = 5
_PATIENCE = 15.0  # seconds to wait for the end of a daemon that refuses writes

SILENCE = 5.0
"""Seconds without a byte after which the client sends `server/status`."""
PATIENCE = 10.0
"""Seconds that the daemon may then take to respond."""
_STOPPING = 30.0
"""Seconds that a daemon may take to end."""
_SIGN_OF_LIFE = "sign-of-life"
_GREETING = "greeting"


def connect(
    *, autostart: bool = True, where: Locations | None = None, greeting: dict[str, Any] | None = None
) -> BlockingDaemon:
    """Connect to the daemon of this user, and start it if it does not run.

    Args:
        autostart: Start the daemon if it does not run.
        where: The folders of the daemon. Default: those of this user.
        greeting: The params of a `server/hello` request to send first. Default: none is sent.

    Returns:
        The connection, which is also a context manager.

    Raises:
        CannotConnect: There is no daemon, or it cannot be started.
    """
    from sessiond.client.dial import connect as dial
    from sessiond.paths import places

    folders = where or places()
    return BlockingDaemon(lambda: dial(folders, autostart=autostart), greeting)


def connect_to_any(where: Locations | None = None) -> BlockingDaemon:
    """Connect to the running daemon of any version, for requests that all versions support.

    Args:
        where: The folders of the daemon. Default: those of this user.

    Returns:
        The connection, which is also a context manager.

    Raises:
        CannotConnect: There is no daemon.
    """
    from sessiond.client.dial import connect_to_any as dial
    from sessiond.paths import places

    folders = where or places()
    return BlockingDaemon(lambda: dial(folders))


class BlockingDaemon:
    """A connection to the daemon, and a context manager. `close` may be called twice."""

    def __init__(self, dial: Callable[[], socket.socket], greeting: dict[str, Any] | None = None) -> None:
        self._dial = dial
        self._greeting = greeting
        self._connect()
        self._subscribed = False
        self._last_id = 0
        self._told: Told | None = None
        self._waiting: deque[tuple[str, Any]] = deque()

    def call(self, method: str, params: dict[str, Any] | None = None, *, told: Told | None = None) -> Any:
        """Send a request and wait for its result.

        A request that writes gets a `commandId`, unless `params` has one, and is sent once more if its response was
        lost. If a daemon that is about to end refuses a write, the request goes to the next daemon. Neither happens
        on a connection that has subscribed to a session, since a new connection has no subscription.

        Args:
            method: The name of the method, such as "session/list".
            params: The params as on the wire: a dict of JSON values.
            told: Called with the method and the params of each notification that arrives meanwhile. Default: they
                are buffered for `notifications`.

        Returns:
            The result, as JSON values.

        Raises:
            RpcError: The daemon refused the request.
            Disconnected: The connection was lost before the response, so the outcome is unknown.
            DaemonHung: The daemon was silent for `SILENCE` and `PATIENCE` seconds.
            BadReply: The bytes from the socket are not a response.
        """
        self._told = told
        try:
            return self._ask(method, repeatable(method, params or {}))[0]
        finally:
            self._told = None

    def call_text(self, method: str, params: dict[str, Any] | None = None) -> str:
        """Send a request as `call` does, and return the JSON text of its result.

        Args:
            method: The name of the method.
            params: The params as on the wire.

        Returns:
            The result, character for character as the daemon sent it.

        Raises:
            RpcError: The daemon refused the request.
            Disconnected: The connection was lost before the response, so the outcome is unknown.
        """
        return self._ask(method, repeatable(method, params or {}))[1]

    def call_exactly(self, method: str, params: dict[str, Any]) -> str:
        """Send a request as `call_text` does, with exactly these params: no `commandId` is added.

        Args:
            method: The name of the method.
            params: The params as on the wire.

        Returns:
            The result, character for character as the daemon sent it.

        Raises:
            RpcError: The daemon refused the request.
            Disconnected: The connection was lost before the response, so the outcome is unknown.
        """
        return self._ask(method, params)[1]

    def notifications(self) -> Iterator[tuple[str, Any]]:
        """Wait for notifications without a limit.

        Returns:
            An iterator of each notification as `(method, params)`, buffered ones first. It ends with the connection.
        """
        self._sock.settimeout(None)  # the next one may come after days
        yield from self._notifications()

    def _notifications(self) -> Iterator[tuple[str, Any]]:
        while True:
            while self._waiting:
                yield self._waiting.popleft()
            try:
                self._receive()
            except Disconnected:
                return

    def wait_closed(self) -> None:
        """Wait until the daemon ends the connection, as it does when it stops.

        Raises:
            DaemonHung: It did not do so in 30 seconds.
        """
        self._sock.settimeout(_STOPPING)
        self._reader.silent = lambda: self._give_up(_STOPPING)
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
        self._sock.settimeout(SILENCE)
        self._asked_for_life = False
        self._reader = MessageReader(self._sock, self._ask_for_life)
        if self._greeting is not None:
            self._greet(self._greeting)

    def _greet(self, params: dict[str, Any]) -> None:
        """Send `server/hello`. Its response is ignored, like every response to another request."""
        import contextlib

        with contextlib.suppress(Unread):  # the daemon has ended; the next request fails as well
            self._send({"jsonrpc": "2.0", "id": _GREETING, "method": "server/hello", "params": params})

    def _ask_for_life(self) -> None:
        """Send `server/status` after a silence: during a long request the daemon responds to another one."""
        import contextlib

        if self._asked_for_life:
            self._give_up(SILENCE + PATIENCE)
        self._asked_for_life = True
        with contextlib.suppress(Unread):  # the daemon has closed; earlier bytes can still be read
            self._send({"jsonrpc": "2.0", "id": _SIGN_OF_LIFE, "method": "server/status", "params": {}})
        self._sock.settimeout(PATIENCE)

    def _give_up(self, seconds: float) -> NoReturn:
        raise DaemonHung(peer_pid(self._sock), seconds)

    def _ask(self, method: str, params: dict[str, Any]) -> tuple[Any, str]:
        self._last_id += 1
        self._subscribed = self._subscribed or method == "session/subscribe"
        request = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params}
        may_repeat = is_repeatable(method, params)
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._answer(request)
            except Disconnected as lost:
                if self._subscribed or not (may_repeat or isinstance(lost, Unread)):
                    raise
                # The daemon was ending, and the next one reads the request; or the connection was lost during the
                # request. Then it is sent once more, and not a third time: it may be the reason why daemons end.
                may_repeat = may_repeat and isinstance(lost, Unread)
            except RpcError as error:
                if error.kind != "draining" or self._subscribed or not self._ends():
                    raise
            self._sock.close()
            self._connect()
        return self._answer(request)

    def _ends(self) -> bool:
        """Return whether a daemon that refuses writes ends within 15 seconds."""
        self._sock.settimeout(_PATIENCE)
        self._reader.silent = None
        try:
            while True:
                self._receive()
        except TimeoutError:
            self._sock.settimeout(SILENCE)
            self._reader.silent = self._ask_for_life
            return False
        except Disconnected:
            return True

    def _answer(self, request: dict[str, Any]) -> tuple[Any, str]:
        self._send(request)
        while True:
            text, message = self._receive()
            if "method" in message or message.get("id", (None,))[0] not in (request["id"], None):
                continue
            if "error" in message:
                raise _refusal(message["error"][0])
            if "result" in message:
                value, start, end = message["result"]
                return value, text[start:end]
            raise BadReply("a response without result or error")

    def _receive(self) -> tuple[str, dict[str, tuple[Any, int, int]]]:
        """Return the next message. Notifications are buffered or passed to `told`; requests are refused."""
        try:
            text = self._reader.read()
        except Unread:
            if self._asked_for_life:
                raise Disconnected from None  # the unread bytes may be that status request, not the request before it
            raise
        if self._asked_for_life:
            self._asked_for_life = False
            self._sock.settimeout(SILENCE)
        message = members(text)
        if "method" in message:
            method = message["method"][0]
            if "id" in message:
                error = {"code": METHOD_NOT_FOUND, "message": f"This client does not support {method}."}
                self._send({"jsonrpc": "2.0", "id": message["id"][0], "error": error})
            else:
                note = method, message["params"][0] if "params" in message else {}
                if self._told is not None:
                    self._told(*note)
                else:
                    self._waiting.append(note)
        return text, message

    def _send(self, message: dict[str, Any]) -> None:
        left = memoryview(frame(message))
        while left:
            try:
                left = left[self._sock.send(left) :]
            except TimeoutError:
                self._see_it_alive()
            except ConnectionError as error:
                raise Unread from error

    def _see_it_alive(self) -> None:
        """Check over another connection that a daemon that has stopped reading is alive. Raises `DaemonHung`."""
        with BlockingDaemon(self._dial) as other:
            other.call("server/status")


def _refusal(error: Any) -> RpcError:
    if not isinstance(error, dict):
        return RpcError(0, str(error))
    code, data = error.get("code"), error.get("data")
    return RpcError(
        code if isinstance(code, int) else 0,
        str(error.get("message", "")),
        data if isinstance(data, dict) else None,
    )
