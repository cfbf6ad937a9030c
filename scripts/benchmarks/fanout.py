"""The cost of one more subscriber to the daemon for each appended entry."""

import selectors
import socket
import threading
from pathlib import Path

import msgspec
from scripts.benchmarks.drafts import appends, new_session
from scripts.benchmarks.load import drive
from scripts.benchmarks.processes import Daemon, sessiond, until
from scripts.benchmarks.report import Row, middle, sampled

LIMIT = 8e-6
SUBSCRIBERS = 64


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Processor time with 64 readers minus the time without readers, for the same appends, by delivery."""
    each, rounds = (300, 1) if quick else (1_500, 5)
    costs, appends_cost = [], []
    with sessiond(folder / "home") as daemon:
        for _ in range(rounds):
            alone = _append_all(daemon, each, 0)
            watched = _append_all(daemon, each, SUBSCRIBERS)
            costs.append((watched - alone) / (each * SUBSCRIBERS))
            appends_cost.append(alone / each)
    return [
        sampled(
            f"an entry to one of {SUBSCRIBERS} subscribers, server CPU",
            costs,
            "s",
            ratio=f"{middle(costs) / middle(appends_cost):.2f} x an append without subscribers",
            limit=LIMIT,
        )
    ]


def _append_all(daemon: Daemon, count: int, subscribers: int) -> float:
    """Seconds of processor time until `count` entries are appended and all subscribers have received them."""
    session = new_session(daemon)
    crowd = Crowd(daemon.socket, session, subscribers)
    try:
        before = daemon.cpu()
        drive(daemon, appends(session, "written", count), clients=1, depth=16)
        until(lambda: crowd.received >= count * subscribers)
        return daemon.cpu() - before
    finally:
        crowd.close()


class Crowd:
    """Subscribers that read as fast as they can, in one thread."""

    def __init__(self, path: str, session: str, size: int) -> None:
        self.received = 0
        self._selector = selectors.DefaultSelector()
        request = {"jsonrpc": "2.0", "id": 1, "method": "session/subscribe", "params": {"sessionId": session}}
        body = msgspec.json.encode(request)
        for _ in range(size):
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(path)
            sock.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            reply = sock.recv(1 << 16)
            if b'"result"' not in reply:
                raise RuntimeError(f"not subscribed: {reply!r}")
            self._selector.register(sock, selectors.EVENT_READ, [b""])
        self._closing = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        mark = b'{"seq":'
        while not self._closing:
            for key, _ in self._selector.select(0.1):
                assert isinstance(key.fileobj, socket.socket)
                data = key.data[0] + key.fileobj.recv(1 << 20)
                complete = data.rfind(b"Content-Length: ")
                # Only complete frames are counted: the last one may be cut.
                header, _, body = data[complete:].partition(b"\r\n\r\n")
                if body and len(body) == int(header[len(b"Content-Length: ") :]):
                    complete = len(data)
                self.received += data[:complete].count(mark)
                key.data[0] = data[complete:]

    def close(self) -> None:
        self._closing = True
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            assert isinstance(key.fileobj, socket.socket)
            key.fileobj.close()
        self._selector.close()
