"""A client that sends bytes as they are: for what no well-behaved client would send."""

import asyncio
import json  # noqa: TID251 - the tests' own reader is not the daemon's
import socket
from pathlib import Path
from typing import Any

from support.daemons import socket_path
from support.patience import BOUND


class Wire:
    """A socket to a daemon; `read` cuts what comes back into messages, in the framing that was begun."""

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
        """Bytes as they are."""
        self._lines = self._lines or data.startswith(b"{")
        self._socket.sendall(data)

    def frame(self, body: bytes) -> None:
        """A whole frame around a body of whatever kind."""
        self.send(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def ask(self, method: str, params: Any = None, id: int | str = 1) -> dict[str, Any]:
        """A request in a frame, and the reply to it; what comes in between is dropped."""
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        self.frame(json.dumps(message if params is None else message | {"params": params}).encode())
        while True:
            answer = self.read()
            assert answer is not None, "the daemon hung up"
            if "method" not in answer and answer["id"] == id:
                return answer

    def tell(self, method: str, params: Any) -> None:
        """A notification in a frame."""
        self.frame(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def no_more(self) -> None:
        """Close the half that sends."""
        self._socket.shutdown(socket.SHUT_WR)

    def read(self) -> dict[str, Any] | None:
        """The next message, None at the end."""
        try:
            body = self._file.readline() if self._lines else self._read_frame()
        except ConnectionResetError:  # it hung up while more was on its way to it
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
    """Blocking work beside a daemon that runs in this loop."""
    return await asyncio.to_thread(work, *args)
