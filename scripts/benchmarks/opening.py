"""Opening large sessions, against a scan of their lines and the real peers: time, memory, waits of other clients."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from scripts.benchmarks.peer_timing import PeerTimes
from scripts.benchmarks.processes import Daemon, sessiond
from scripts.benchmarks.report import Row, duration, middle, sampled
from scripts.benchmarks.session_files import session_name, write_session

STALL = 0.020
INDEXED = 0.050
SMOKE_ENTRIES = 20_000


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """The files are in the page cache, as files in use are. A quick run has one small session."""
    peers = PeerTimes("open")
    if quick:
        return _of_size(folder, SMOKE_ENTRIES, rounds=1, peers=peers)
    return [
        *_of_size(folder, 100_000, rounds=5, seconds=0.3, growth=20e6, peers=peers),
        *_of_size(folder, 1_000_000, rounds=3, seconds=3.5, growth=160e6),
    ]


def _of_size(
    folder: Path,
    entries: int,
    *,
    rounds: int,
    seconds: float | None = None,
    growth: float | None = None,
    peers: PeerTimes | None = None,
) -> list[Row]:
    """Return the rows of a session. `seconds` and `growth`, in bytes, are the targets of this size, if any."""
    session = f"bench-opening-{entries}"
    path = folder / session_name(session)
    write_session(path, session, entries)
    opened, again, decoded = list[float](), list[float](), list[float]()
    scanned, grown, stalls = [], [], []
    try:
        for number in range(rounds):
            scanned.append(_scan(path))
            decoded.append(_decode(path))
            if peers is not None:
                peers.round(path, size=entries)
            for times in (opened, again):
                with sessiond(folder / f"home-{number}") as daemon:  # the new daemon has no data of the file
                    daemon.call(
                        "session/list"
                    )  # the first request also loads modules, which the session does not need
                    before = daemon.memory()
                    with _impatient(daemon) as waits:
                        times.append(_open(daemon, path))
                    if times is opened:
                        grown.append(float(daemon.memory() - before))
                        stalls.append(max(waits))
                        daemon.settled_cpu()
        size = path.stat().st_size
    finally:
        path.unlink()
    scan = middle(scanned)
    return [
        sampled(
            f"open {entries:,} entries ({size / 1e6:,.0f} MB), cold",
            opened,
            "s",
            ratio=f"{middle(opened) / scan:.1f} x a bare line scan ({duration(scan)})",
            limit=seconds,
            reason=f"msgspec takes {duration(middle(decoded))} to decode the id, the parent, the type and the role of "
            "all lines in one call, without any check and with the event loop blocked. The daemon also checks every "
            "line for damage, stores columns, and lets other clients in between.",
        ),
        *(() if peers is None else peers.rows(opened)),
        sampled(
            "  memory growth",
            grown,
            "B",
            ratio=f"{middle(grown) / entries:.0f} bytes an entry",
            limit=growth,
        ),
        sampled("  longest wait of another client meanwhile", stalls, "s", limit=STALL if seconds else None),
        sampled(
            "  again, in a daemon that was started just now", again, "s", limit=INDEXED if seconds else None
        ),
    ]


def _open(daemon: Daemon, path: Path) -> float:
    with daemon.connect() as client:
        start = time.perf_counter()
        client.call("session/open", {"path": str(path)})
        return time.perf_counter() - start


def _scan(path: Path) -> float:
    """Seconds to read the file and find its lines, the minimum work of any reader."""
    start = time.perf_counter()
    buffer = bytearray(1 << 20)
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            at = buffer.find(b"\n", 0, size)
            while at >= 0:
                at = buffer.find(b"\n", at + 1, size)
    return time.perf_counter() - start


class _Message(msgspec.Struct, gc=False):
    role: str = ""


class _Line(msgspec.Struct, rename="camel", gc=False):
    type: str
    id: str | None = None
    parent_id: str | None = None
    message: _Message | None = None


def _decode(path: Path) -> float:
    """Seconds of msgspec to decode the fields of all lines that a tree needs."""
    lines = path.read_bytes()
    start = time.perf_counter()
    msgspec.json.Decoder(_Line).decode_lines(lines)
    return time.perf_counter() - start


@contextmanager
def _impatient(daemon: Daemon) -> Iterator[list[float]]:
    """Another client that sends a small request repeatedly; the list has its waits in seconds."""
    waits = [0.0]
    over = threading.Event()

    def ask() -> None:
        with daemon.connect() as client:
            while not over.is_set():
                start = time.perf_counter()
                client.call("session/unsubscribe", {"sessionId": "nobody-has-this"})
                waits.append(time.perf_counter() - start)
                time.sleep(0.001)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield waits
    finally:
        over.set()
        thread.join()
