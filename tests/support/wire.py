"""A client that sends any bytes, for tests of invalid messages."""

import asyncio
import json  # noqa: TID251 - the tests' own reader is not the daemon's
import socket
from pathlib import Path
from typing import Any

from support.daemons import socket_path
from support.patience import BOUND


class Wire:
    """A socket to a daemon; `read` splits the received bytes into messages, in the framing of the client."""

    def __init__(self, home: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(BOUND)
        self._socket.connect(socket_path(home))
        self._file = self._socket.makefile("rb")
        self._lines = False

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def send(self, data: bytes) -> None:
        """Send bytes unchanged."""
        self._lines = self._lines or data.startswith(b"{")
        self._socket.sendall(data)

    def frame(self, body: bytes) -> None:
        """Send a whole frame around any body."""
        self.send(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def ask(self, method: str, params: Any = None, id: int | str = 1) -> dict[str, Any]:
        """Send a request in a frame, and return the reply to it. Messages between them are ignored."""
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        self.frame(json.dumps(message if params is None else message | {"params": params}).encode())
        while True:
            answer = self.read()
            assert answer is not None, "the daemon hung up"
            if "method" not in answer and answer["id"] == id:
                return answer

    def tell(self, method: str, params: Any) -> None:
        """Send a notification in a frame."""
        self.frame(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def no_more(self) -> None:
        """Close the half that sends."""
        self._socket.shutdown(socket.SHUT_WR)

    def read(self) -> dict[str, Any] | None:
        """The next message, None at the end."""
        try:
            body = self._file.readline() if self._lines else self._read_frame()
        except ConnectionResetError:  # the daemon closed the connection while more bytes were in transit
            return None
        return json.loads(body) if body else None

    def read_all(self) -> list[dict[str, Any]]:
        """Every message up to the end."""
        return list(iter(self.read, None))

    def _read_frame(self) -> bytes:
        length = 0
        while (line := self._file.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return self._file.read(length)


async def in_thread(work: Any, *args: Any) -> Any:
    """Run blocking work while a daemon runs in this loop."""
    return await asyncio.to_thread(work, *args)
