"""A client that sends small requests, one at a time: `python -m scripts.benchmarks.small_requests SOCKET SESSION`.

It reads its session's information and appends one entry, in turn, until its standard input ends. Then it writes the
time at which each response came and its duration, as JSON, to standard output. It is a separate process, so
that other clients delay it only through the daemon.
"""

import select
import socket
import sys
import time

import msgspec

PAUSE = 0.001
"""Seconds between two requests."""


class Taken(msgspec.Struct, array_like=True):
    """One response: its time, by `time.perf_counter`, and the seconds since its request."""

    at: float
    seconds: float
    is_append: bool


def _frame(body: dict[str, object]) -> bytes:
    data = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, **body})
    return b"Content-Length: %d\r\n\r\n%b" % (len(data), data)


def main() -> None:
    path, session = sys.argv[1:]
    about = {"sessionId": session}
    draft = {"type": "custom", "customType": "bench", "data": "x" * 200}
    small = (
        _frame({"method": "session/unsubscribe", "params": about}),
        _frame(
            {"method": "session/append", "params": {**about, "durability": "written", "entries": [draft]}}
        ),
    )
    taken: list[Taken] = []
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)
        sent = 0
        while not select.select([sys.stdin], [], [], PAUSE)[0]:
            is_append = sent % 2 == 1
            began = time.perf_counter()
            sock.sendall(small[is_append])
            _response(sock)
            ended = time.perf_counter()
            taken.append(Taken(ended, ended - began, is_append))
            sent += 1
    sys.stdout.buffer.write(msgspec.json.encode(taken))


def _response(sock: socket.socket) -> None:
    """Read until the response has come. Notifications before it are ignored."""
    data = b""
    while b'"id":1,"result"' not in data:
        piece = sock.recv(1 << 16)
        if not piece:
            raise ConnectionError("the daemon closed the connection")
        data += piece
    if b'"error"' in data:
        raise RuntimeError(f"the daemon refused: {data!r:.300}")


if __name__ == "__main__":
    main()
