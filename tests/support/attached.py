"""`sessiond attach --stdio` as an editor runs it, and a fake daemon that sends what the test wants."""

import contextlib
import json  # noqa: TID251 - frames are read as another program reads them
import os
import socket
import subprocess
from collections.abc import Iterator
from typing import IO, Any

from sessiond.paths import Locations, make_private
from support.homes import environment, sessiond
from support.patience import BOUND

PATIENCE = BOUND


def frame(**message: Any) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def read_frame(stream: IO[bytes]) -> Any:
    """The next message; None at the end."""
    length = 0
    while line := stream.readline().strip():
        length = int(line.partition(b":")[2])
    return json.loads(stream.read(length)) if length else None


class Attached:
    """The ends of the two pipes that an editor has."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._to, self._from = process.stdin, process.stdout
        self._ids = iter(range(1, 1000))

    def send(self, **message: Any) -> None:
        self._to.write(frame(**message))
        self._to.flush()

    def ask(self, method: str, **params: Any) -> int:
        """Send a request and return its id."""
        id = next(self._ids)
        self.send(id=id, method=method, params=params)
        return id

    def notify(self, method: str, **params: Any) -> None:
        self.send(method=method, params=params)

    def read(self) -> Any:
        return read_frame(self._from)

    def answer(self, id: int) -> Any:
        """The answer to a request; messages before it are ignored."""
        while (message := self.read()) is not None:
            if message.get("id") == id and "method" not in message:
                return message
        raise AssertionError("it ended before it answered")

    def call(self, method: str, **params: Any) -> Any:
        answer = self.answer(self.ask(method, **params))
        assert "error" not in answer, answer
        return answer["result"]

    def initialize(self) -> Any:
        capabilities = {"textDocument": {"documentSymbol": {"hierarchicalDocumentSymbolSupport": True}}}
        answer = self.call("initialize", processId=os.getpid(), rootUri=None, capabilities=capabilities)
        self.notify("initialized")
        return answer

    def close(self) -> None:
        self._to.close()

    def end(self) -> int:
        """The exit status, after the process has ended."""
        return self.process.wait(PATIENCE)


@contextlib.contextmanager
def attached(locations: Locations, **more: str) -> Iterator[Attached]:
    """An editor that has started its server and has sent nothing."""
    with subprocess.Popen(
        sessiond("attach", "--stdio"),
        env=environment(locations, **more),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield Attached(process)
        finally:
            process.kill()


class ScriptedDaemon:
    """Listens in the place of a daemon. Each `meet` is another daemon for the attached client."""

    def __init__(self, locations: Locations) -> None:
        make_private(locations.runtime)
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(locations.socket)
        self._listening.listen()
        self._listening.settimeout(PATIENCE)
        self._met: list[Met] = []

    def meet(self) -> "Met":
        connection, _ = self._listening.accept()
        connection.settimeout(PATIENCE)
        self._met.append(Met(connection))
        return self._met[-1]

    def stop_listening(self) -> None:
        self._listening.close()

    def close(self) -> None:
        self.stop_listening()
        for met in self._met:
            met.go()


class Met:
    """The daemon's side of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._stream = connection.makefile("rb")

    def hear(self) -> Any:
        return read_frame(self._stream)

    def sees_a_beginning(self) -> None:
        """Wait for the first byte of the next message, and do not consume it."""
        self._connection.recv(1, socket.MSG_PEEK)

    def say(self, **message: Any) -> None:
        self._connection.sendall(frame(**message))

    def greet(self) -> Any:
        """Take the handshake."""
        message = self.hear()
        assert message["method"] in ("initialize", "server/hello")
        self.say(id=message["id"], result={"capabilities": {}})
        return message

    def go(self) -> None:
        """End without a message."""
        self._stream.close()
        self._connection.close()


@contextlib.contextmanager
def a_scripted_daemon(locations: Locations) -> Iterator[ScriptedDaemon]:
    daemon = ScriptedDaemon(locations)
    try:
        yield daemon
    finally:
        daemon.close()
