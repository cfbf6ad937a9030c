"""The longest wait of a client while others watch the list and subscribe to sessions, and entries arrive in bursts.

The watchers read as fast as they can, in one process, so that their reading takes no time of the daemon. The daemon
runs with `loop_probe`: the processor time of the longest turn of its event loop does not depend on the machine's load.
"""

import contextlib
import os
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from scripts.benchmarks.drafts import ASSISTANT, new_session
from scripts.benchmarks.load import Requests, drive
from scripts.benchmarks.loop_probe import read_turns
from scripts.benchmarks.processes import Daemon, probed_sessiond
from scripts.benchmarks.report import Row, at_most, duration
from scripts.benchmarks.small_requests import Taken

LONGEST: Final = 0.250
WATCHES_OF_A_CLIENT: Final = 64
SESSIONS: Final = 100
SUBSCRIBERS: Final = 60
WATCHERS: Final = 10
BURST: Final = 5
"""Entries of a burst to each session."""
_EVERY: Final = 0.5
"""Seconds between the beginnings of two bursts, if the daemon keeps up."""


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Ten seconds of bursts to 100 sessions with 60 subscribers each, during 640 watches of the list."""
    sessions, seconds = (10, 2.0) if quick else (SESSIONS, 10.0)
    watchers, subscribers = (1, 6) if quick else (WATCHERS, SUBSCRIBERS)
    report = folder / "holds"
    with probed_sessiond(folder / "home", report) as daemon:
        names = [new_session(daemon) for _ in range(sessions)]
        with _watching(daemon, names, watchers, subscribers):
            began = time.perf_counter()
            taken = _taken_during(daemon, names, seconds)
            ended = time.perf_counter()
    turns = [turn.cpu for turn in read_turns(report) if began < turn.ended < ended]
    note = f"longest turn of the event loop {duration(max(turns, default=0.0))} of processor time"
    rows = []
    for name, is_append in (("request", False), ("append", True)):
        waits = sorted(
            sample.seconds for sample in taken if began < sample.at < ended and sample.is_append is is_append
        )
        has_bar = not quick and not is_append
        rows.append(
            Row(
                f"longest wait for {name} beside {watchers * WATCHES_OF_A_CLIENT} watches,"
                f" {sessions * subscribers:,} subscriptions",
                duration(waits[-1]),
                f"median {duration(waits[len(waits) // 2])}; {note}",
                f"<= {duration(LONGEST)}" if has_bar else "",
                at_most(waits[-1], LONGEST) if has_bar else "",
            )
        )
    return rows


def _taken_during(daemon: Daemon, names: list[str], seconds: float) -> list[Taken]:
    """Append bursts to all sessions, while a separate process sends small requests."""
    small = new_session(daemon)
    command = [sys.executable, "-m", "scripts.benchmarks.small_requests", daemon.socket, small]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as asker:
        until = time.perf_counter() + seconds
        burst = _burst(names)
        while time.perf_counter() < until:
            began = time.perf_counter()
            drive(daemon, burst, clients=4, depth=len(burst) // 4)
            time.sleep(max(0.0, _EVERY - (time.perf_counter() - began)))
        output, _ = asker.communicate(b"")
    return msgspec.json.decode(output, type=list[Taken])


def _burst(names: list[str]) -> Requests:
    """Append some entries to each session, all at once."""
    bodies = []
    for number in range(len(names) * BURST):
        params = {
            "sessionId": names[number % len(names)], "durability": "written", "entries": [msgspec.Raw(ASSISTANT)],
        }  # fmt: skip
        request = {"jsonrpc": "2.0", "id": number, "method": "session/append", "params": params}
        bodies.append(msgspec.json.encode(request))
    return Requests(bodies)


@contextlib.contextmanager
def _watching(daemon: Daemon, names: list[str], watchers: int, subscribers: int) -> Iterator[None]:
    """Clients that watch the list 64 times each, and clients that subscribe to every session."""
    with contextlib.ExitStack() as left:
        reader = left.enter_context(_Reader())
        for _ in range(watchers):
            reader.add(
                daemon.socket,
                [
                    {"method": "server/watch", "params": {"filter": _filter(number), "intervalMs": 100}}
                    for number in range(WATCHES_OF_A_CLIENT)
                ],
            )
        for _ in range(subscribers):
            reader.add(
                daemon.socket,
                [{"method": "session/subscribe", "params": {"sessionId": name}} for name in names],
            )
        yield


def _filter(number: int) -> dict[str, str]:
    """The filter of a watch: every second watch has one that all sessions meet; the others have different words."""
    return {"query": f"word {number}"} if number % 2 else {"cwd": "/tmp"}


class _Reader:
    """Connections whose messages are read and ignored, in a thread of this process."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._sockets: list[socket.socket] = []
        self._woken, self._wake = os.pipe()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> "_Reader":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        os.write(self._wake, b"x")
        self._thread.join()
        for sock in self._sockets:
            sock.close()
        self._selector.close()

    def add(self, path: str, requests: list[dict[str, object]]) -> None:
        """Connect, send requests, and wait until each is answered."""
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        for number, request in enumerate(requests):
            body = msgspec.json.encode({"jsonrpc": "2.0", "id": number, **request})
            sock.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        data = b""
        while data.count(b'"result":') < len(requests):
            data += sock.recv(1 << 20)
            if b'"error":' in data:
                raise RuntimeError(f"the daemon refused: {data!r:.300}")
        self._sockets.append(sock)
        self._selector.register(sock, selectors.EVENT_READ)

    def _read(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == self._woken:
                    return
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.recv(1 << 20)
