"""The daemon as a plain blocking object: for the command line and for scripts that need no event loop.

One request at a time over one connection; notifications that arrive meanwhile are kept for `notifications`.
It connects again when a daemon has left without reading the request, and sends `initialize` only when it is given
what to say there: session methods work without one (protocol.md). What a connection has open or subscribed to is not
so on the next.
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

METHOD_NOT_FOUND = -32601  # protocol.errors has it too, at the price of importing msgspec


_ATTEMPTS = 5
_PATIENCE = 15.0  # seconds that a daemon which is about to end is waited for

SILENCE = 5.0
"""Seconds without a byte, until the daemon is asked for a sign of life."""
PATIENCE = 10.0
"""Seconds that it has for one."""
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
        greeting: The params of an `initialize` request to send first. Default: none is sent.

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
    """Connect to the daemon that runs, whatever its version is, for requests that all versions answer.

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
        lost. A daemon that is about to end refuses writes: then the request goes to the next daemon. Neither
        happens on a connection that has subscribed to a session, since the next daemon does not know of that.

        Args:
            method: The name of the method, such as "session/list".
            params: The params as on the wire: a dict of JSON values.
            told: Called with the method and the params of each notification that comes meanwhile. Default: they
                are kept for `notifications`.

        Returns:
            The result, as JSON values.

        Raises:
            RpcError: The daemon refused the request.
            Disconnected: The connection was lost before the response, so the outcome is unknown.
            DaemonHung: The daemon was silent for `SILENCE` and `PATIENCE` seconds.
            BadReply: The daemon sent something that is no response.
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
            An iterator of each notification as `(method, params)`, kept ones first. It ends with the connection.
        """
        self._sock.settimeout(None)  # there may be none for days
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
        """Say who this is; the answer is passed over, as every answer to another request is."""
        import contextlib

        with contextlib.suppress(Unread):  # it has left already, which the request finds, too
            self._send({"jsonrpc": "2.0", "id": _GREETING, "method": "initialize", "params": params})

    def _ask_for_life(self) -> None:
        """Nothing came for a while: the request may take long, but then the daemon answers another one meanwhile."""
        import contextlib

        if self._asked_for_life:
            self._give_up(SILENCE + PATIENCE)
        self._asked_for_life = True
        with contextlib.suppress(Unread):  # it has closed; what it said before that can still be read
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
                # It was leaving, and the next one will read the request; or it was lost in the middle. Then the
                # request is sent once more, and not a third time: it may be what daemons die of.
                may_repeat = may_repeat and isinstance(lost, Unread)
            except RpcError as error:
                if error.kind != "draining" or self._subscribed or not self._ends():
                    raise
            self._sock.close()
            self._connect()
        return self._answer(request)

    def _ends(self) -> bool:
        """Whether a daemon that is about to end does so in time."""
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
            raise BadReply("an answer without result or error")

    def _receive(self) -> tuple[str, dict[str, tuple[Any, int, int]]]:
        """The next message; notifications are put by and requests of the daemon declined on the way."""
        try:
            text = self._reader.read()
        except Unread:
            if self._asked_for_life:
                raise Disconnected from None  # what was not read may be that question, and not the request before it
            raise
        if self._asked_for_life:
            self._asked_for_life = False
            self._sock.settimeout(SILENCE)
        message = members(text)
        if "method" in message:
            method = message["method"][0]
            if "id" in message:
                error = {"code": METHOD_NOT_FOUND, "message": f"This client does not know {method}."}
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
        """Who takes no more of a request may lack the room for it, and answers others. Raises `DaemonHung`."""
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
