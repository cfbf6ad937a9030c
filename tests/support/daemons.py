"""A daemon for tests in three modes: joined in memory, over a real socket in this process, and as a process.

`Peer` is a plain JSON-RPC client: dicts in, dicts out, every notification kept. It is what sessions are
tested with; the convenient client of the package has tests of its own.
"""

import asyncio
import contextlib
import json  # noqa: TID251 - the tests' own reader is not the daemon's
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal
from unittest import mock

from sessiond.config import Config
from sessiond.hub.hub import Hub
from sessiond.hub.session import registry
from sessiond.rpc.connection import Connection
from sessiond.rpc.errors import ConnectionClosed
from sessiond.rpc.framing import Mode as Framing
from sessiond.rpc.handler import Handler
from sessiond.rpc.memory import memory_pair
from sessiond.rpc.message import BadMessage, Head, RequestId, encode_request
from sessiond.server.connection.client import Client
from sessiond.server.listeners.unix_socket import UnixListener
from sessiond.server.server import Server
from sessiond.store.base import Store
from sessiond.store.files.store import FileStore
from sessiond.store.files.syscalls import Syscalls
from sessiond.store.memory import MemoryStore
from support import image_blob_daemon
from support.columns import seqs_of
from support.patience import BOUND

SERVE = (sys.executable, "-m", "sessiond", "serve")
Mode = Literal["memory", "socket", "process"]
MODES: tuple[Mode, ...] = ("memory", "socket", "process")


class Refused(Exception):
    """Raised when the daemon answers with an error; tests check `kind`."""

    def __init__(self, error: dict[str, Any]) -> None:
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: dict[str, Any] = error["data"]
        self.kind: str = self.data["kind"]
        self.details: dict[str, Any] = self.data["details"] or {}
        super().__init__(f"{self.kind}: {self.message}")


@dataclass
class Peer(Handler[Connection]):
    """One attached client."""

    framing: Framing = "contentLength"
    connection: Connection = field(init=False)
    notes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    """Notifications of lines, as they were on the wire."""
    order: list[str] = field(default_factory=list)
    """The received messages, in order: the names of notifications and requests, and "reply"."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """The complete requests of the daemon."""
    is_closed: asyncio.Event = field(default_factory=asyncio.Event)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)
    _last_reply: bytes = b""
    calls: dict[RequestId, asyncio.Future[Any]] = field(default_factory=dict)
    """The answers to all requests, by their ids."""

    async def call(self, method: str, **params: Any) -> Any:
        """Send a request with params as keywords, and return its result. Raises `Refused`, `ConnectionClosed`."""
        answer = self.send(method, **params)
        if self.is_closed.is_set():
            raise ConnectionClosed
        async with asyncio.timeout(BOUND):
            return await answer

    def send(self, method: str, **params: Any) -> "asyncio.Future[Any]":
        """Send a request, and do not wait for its answer."""
        request_id = f"call-{len(self.calls)}"
        answer = self.calls[request_id] = asyncio.get_running_loop().create_future()
        self.connection.send_body(encode_request(request_id, method, params))
        return answer

    @property
    def last_id(self) -> str:
        """The id of the last request."""
        return f"call-{len(self.calls) - 1}"

    async def raw(self, method: str, **params: Any) -> bytes:
        """The reply to a request, as it was on the wire."""
        await self.call(method, **params)
        return self._last_reply

    async def position(self, session_id: str, seq: int) -> dict[str, Any]:
        """Line `seq` of the present log of the session, in the form of `after`."""
        session = (await self.call("session/info", sessionId=session_id))["session"]
        return {"logId": session["logId"], "seq": seq}

    async def append(self, session_id: str, *entries: dict[str, Any], **params: Any) -> Any:
        return await self.call("session/append", sessionId=session_id, entries=list(entries), **params)

    async def until(self, enough: Callable[["Peer"], bool]) -> None:
        """Wait until `enough` is true for the received messages."""
        async with asyncio.timeout(BOUND):
            while not enough(self):
                self._arrived.clear()
                await self._arrived.wait()

    def told(self, method: str) -> list[dict[str, Any]]:
        """The params of all notifications of one kind, in order."""
        return [params for name, params in self.notes if name == method]

    def seqs(self) -> list[int]:
        """The seqs of all lines that this client received, in order of arrival."""
        return [seq for note in self.told("session/appended") for seq in seqs_of(note)]

    def received(self, connection: Connection, head: Head, body: bytes) -> None:
        message = json.loads(body)
        self.order.append(message["method"])
        self._arrived.set()
        if "id" in message:
            self.asked.append(message)
            return
        if message["method"] == "session/appended":
            self.bodies.append(body)
        self.notes.append((message["method"], message.get("params", {})))

    def strayed(self, connection: Connection, head: Head, body: bytes) -> None:
        # The connection does not know these calls, so that replies arrive here in the order of the wire.
        message = json.loads(body)
        self.order.append("reply")
        self._last_reply = body
        answer = self.calls[message["id"]]
        if answer.done():
            return
        if "error" in message:
            answer.set_exception(Refused(message["error"]))
        else:
            answer.set_result(message["result"])

    def broken(self, connection: Connection, error: BadMessage) -> None:
        raise AssertionError(f"the daemon sent something that is no message: {error.message}")

    def opened(self, connection: Connection) -> None:
        self.connection = connection

    def closed(self, connection: Connection, reason: Exception | None) -> None:
        self.is_closed.set()
        self._arrived.set()
        for answer in self.calls.values():
            if not answer.done():
                answer.set_exception(ConnectionClosed(reason))
                answer.exception()  # a caller that does not wait any more does not need the error


@dataclass
class Running:
    """A daemon that runs, and its private home."""

    home: Path
    mode: Mode
    _connect: Callable[[Peer], Any]
    server: Server | None = None
    """The internal objects of the daemon, if it runs in this process."""
    _open: list[Peer] = field(default_factory=list)

    @property
    def hub(self) -> Hub | None:
        """The sessions of the daemon, if it runs in this process."""
        return None if self.server is None else self.server.hub

    @property
    def inside(self) -> Server:
        """The internal objects of the daemon, which must run in this process."""
        assert self.server is not None
        return self.server

    async def attach(self, framing: Framing = "contentLength") -> Peer:
        """A further client."""
        peer = Peer(framing)
        await self._connect(peer)
        self._open.append(peer)
        return peer

    async def detach_all(self) -> None:
        for peer in self._open:
            peer.connection.close()
            await peer.connection.wait_closed()

    def files(self, folder: str = "sessions") -> list[Path]:
        """The logs in a folder of the data."""
        return sorted((self.home / "data" / folder).rglob("*.jsonl"))

    def everything(self) -> dict[Path, bytes]:
        """Every file of the data, with its bytes, except the history of prompts, which is written meanwhile."""
        files = (path for path in (self.home / "data").rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in files if not path.name.startswith("history.db")}


@contextlib.asynccontextmanager
async def running(
    home: Path, mode: Mode = "memory", *, calls: Syscalls | None = None, config: Config | None = None,
    image_blobs: bool = False,
) -> AsyncIterator[Running]:  # fmt: skip
    """A daemon that runs until the block ends.

    In this process, `calls` may make its disk fail, and `config` is its configuration; a process
    reads `config/config.toml` below its home. `image_blobs`: images of all its sessions become blobs, as they do
    where pi cannot read a session.
    """
    how = {"memory": _in_memory, "socket": _over_a_socket, "process": _as_a_process}[mode]
    if image_blobs and mode == "process":
        how = partial(_as_a_process, command=image_blob_daemon.command("serve"))
    patched = mock.patch.object(registry, "takes_images", image_blob_daemon.takes_images)
    with patched if image_blobs else contextlib.nullcontext():
        async with how(home, calls, config) as (connect, server):
            daemon = Running(home, mode, connect, server)
            try:
                yield daemon
            finally:
                await daemon.detach_all()


@contextlib.asynccontextmanager
async def running_on(store: Store, home: Path) -> AsyncIterator[Running]:
    """A daemon in this process on a store of any kind, for the time of the block."""
    async with _served(_server_on(store, home, None, None)) as (connect, server):
        daemon = Running(home, "memory", connect, server)
        try:
            yield daemon
        finally:
            await daemon.detach_all()


def configure(home: Path, text: str) -> None:
    """Write the configuration of a daemon below its home."""
    folder = home / "config"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text, encoding="utf-8")
    (folder / "config.toml").chmod(0o600)


def joined(home: Path) -> Running:
    """The daemon process that runs under `home`, with any parent."""
    return Running(home, "process", _dial(socket_path(home)))


_Reached = tuple[Callable[[Peer], Any], Server | None]


async def refusal(call: Awaitable[Any]) -> Refused:
    """Return the refusal of a request. Raises an AssertionError if it was answered."""
    try:
        answer = await call
    except Refused as refused:
        return refused
    raise AssertionError(f"it was answered: {answer!r:.200}")


def _server(home: Path, socket_path: str | None, calls: Syscalls | None, config: Config | None) -> Server:
    roots = () if config is None else config.roots.folders
    files = FileStore(home / "data", home / "state", roots=roots, calls=calls)
    return _server_on(files, home, socket_path, config)


def _server_on(files: Store, home: Path, socket_path: str | None, config: Config | None) -> Server:
    for folder in ("data", "state"):
        (home / folder).mkdir(parents=True, exist_ok=True)
    hub = Hub(files, MemoryStore(), config, index_path=str(home / "state/index.db"),
              history_path=str(home / "data/history.db"), commands_path=str(home / "state/commands.db"),
              imports_path=str(home / "state/imports.db"), sync_path=str(home / "state/sync.db"),
              forgotten_path=str(home / "state/forgotten.db"))  # fmt: skip
    return Server(hub, home=str(home), socket_path=socket_path, config=config)


def _in_memory(
    home: Path, calls: Syscalls | None, config: Config | None
) -> contextlib.AbstractAsyncContextManager[_Reached]:
    return _served(_server(home, None, calls, config))


@contextlib.asynccontextmanager
async def _served(server: Server) -> AsyncIterator[_Reached]:
    async def connect(peer: Peer) -> None:
        memory_pair(peer, Client(server, framing="memory"), mode=peer.framing)

    try:
        yield connect, server
    finally:
        await server.close()


@contextlib.asynccontextmanager
async def _over_a_socket(
    home: Path, calls: Syscalls | None, config: Config | None
) -> AsyncIterator[_Reached]:
    path = socket_path(home)
    server = _server(home, path, calls, config)
    listener = UnixListener(path, server.attach)
    try:
        yield _dial(path), server
    finally:
        listener.close()
        await server.close()


@contextlib.asynccontextmanager
async def _as_a_process(
    home: Path, calls: Syscalls | None, config: Config | None, *, command: Sequence[str] = SERVE
) -> AsyncIterator[_Reached]:
    assert calls is None, "a process has its own disk"
    assert config is None, "a process reads its own configuration"
    process = await spawn(home, command=command)
    try:
        yield _dial(socket_path(home)), None
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await process.wait()


async def spawn(
    home: Path, *, descriptors: int | None = None, kilobytes: int | None = None,
    command: Sequence[str] = SERVE,
) -> asyncio.subprocess.Process:  # fmt: skip
    """A ready daemon process under `home`, with an optional limit of its `descriptors` or its memory."""
    limits = {"n": descriptors, "v": kilobytes}
    told = " && ".join(f"ulimit -{name} {limit}" for name, limit in limits.items() if limit is not None)
    limited = ["/bin/sh", "-c", f'{told} && exec "$0" "$@"'] if told else []
    process = await asyncio.create_subprocess_exec(
        *limited, *command,
        env={**os.environ, "SESSIOND_HOME": str(home)}, stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    async with asyncio.timeout(BOUND):
        while not _listens(socket_path(home)):
            assert process.returncode is None, f"the daemon ended with {process.returncode}"
            await asyncio.sleep(0.005)
    return process


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
        return True


def socket_path(home: Path) -> str:
    """The address at which a daemon of `home` listens; its folder is made if necessary."""
    from sessiond.paths import find_locations

    locations = find_locations({"SESSIOND_HOME": str(home)})
    Path(locations.runtime).mkdir(parents=True, exist_ok=True)
    return locations.socket


def _dial(path: str) -> Callable[[Peer], Any]:
    async def connect(peer: Peer) -> None:
        sock = socket.socket(socket.AF_UNIX)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(sock, path)
        await loop.create_connection(lambda: Connection(peer, mode=peer.framing), sock=sock)

    return connect


def user(text: str, **more: Any) -> dict[str, Any]:
    """A draft of a user message."""
    return {"type": "message", "message": {"role": "user", "content": text}, **more}


def assistant(text: str, **more: Any) -> dict[str, Any]:
    """A draft of an assistant message."""
    message = {
        "role": "assistant", "content": [{"type": "text", "text": text}], "provider": "anthropic",
        "model": "claude-test-1", "stopReason": "stop",
    }  # fmt: skip
    return {"type": "message", "message": message, **more}
