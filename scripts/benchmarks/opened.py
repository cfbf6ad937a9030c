"""List and search after many sessions were opened, compared with the same daemon before."""

import socket
from contextlib import closing
from pathlib import Path

import msgspec
from scripts.benchmarks.load import exchange
from scripts.benchmarks.processes import Process, sessiond
from scripts.benchmarks.report import Row, at_most, duration, middle, sampled
from scripts.benchmarks.session_files import session_name, write_session

SESSIONS, ENTRIES = 2_000, 10
SMOKE_SESSIONS = 200
TIMES = 15
MAX_RATIO = 1.5
"""A share of the time without open sessions: runs of a few milliseconds vary by a third."""


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """After the first measurement, no client has the sessions open; after the second, a client has, like an editor."""
    count = SMOKE_SESSIONS if quick else SESSIONS
    names = [f"bench-opened-{number:04}" for number in range(count)]
    for name in names:
        write_session(folder / "data/sessions/--tmp--" / session_name(name), name, ENTRIES)
    rows: dict[str, list[tuple[float, float, float]]] = {"session/list": [], "session/search": []}
    for _ in range(1 if quick else 3):
        with sessiond(folder) as daemon:
            _until_searched(daemon)
            none = {method: _took(daemon, method) for method in rows}
            for name in names:
                exchange(daemon, "session/info", {"sessionId": name})
            looked_at = {method: _took(daemon, method) for method in rows}
            with closing(_holding(daemon, names)):
                held = {method: _took(daemon, method) for method in rows}
        for method, times in rows.items():
            times.append((none[method], looked_at[method], held[method]))
    return [row for method, times in rows.items() for row in _rows(method.partition("/")[2], times, count)]


def _rows(what: str, times: list[tuple[float, float, float]], count: int) -> list[Row]:
    none, looked_at, held = zip(*times, strict=True)
    return [
        sampled(f"{what} of {count:,} sessions, none of them open", none, "s"),
        _compared("  right after all of them were looked at", looked_at, none, count),
        _compared("  while a client has all of them open", held, none, count),
    ]


def _compared(what: str, took: tuple[float, ...], none: tuple[float, ...], count: int) -> Row:
    ratio = middle(took) / middle(none)
    return sampled(
        what,
        took,
        "s",
        ratio=f"{ratio:.2f} x with none",
        bar=f"<= {MAX_RATIO} x" if count == SESSIONS else "",
        verdict=at_most(ratio, MAX_RATIO) if count == SESSIONS else "",
        reason="Before each query and after it, the daemon checks every open session for changes that the index does "
        f"not have, {count:,} of them here. That takes {duration(middle(took) - middle(none))} in all.",
    )


def _took(daemon: Process, method: str) -> float:
    params: dict[str, object] = {"limit": 50}
    params |= {} if method == "session/list" else {"query": "line"}
    return middle(exchange(daemon, method, params)[0] for _ in range(TIMES))


def _until_searched(daemon: Process) -> None:
    """Wait until the texts of all sessions are in the index."""
    while True:
        reply = exchange(daemon, "session/search", {"query": "line", "limit": 1, "waitMs": 10_000})[1]
        if not msgspec.json.decode(reply)["result"]["unsearched"]["sessionCount"]:
            return


def _holding(daemon: Process, names: list[str]) -> socket.socket:
    """A client that has all of these sessions open until it is closed."""
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(daemon.socket)
    stream = sock.makefile("rb")
    for number, name in enumerate(names):
        params = {"sessionId": name}
        body = msgspec.json.encode(
            {"jsonrpc": "2.0", "id": number, "method": "session/open", "params": params}
        )
        sock.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        length = int(stream.readline().partition(b":")[2])
        while stream.readline() != b"\r\n":
            pass
        if b'"error"' in stream.read(length)[:80]:
            raise RuntimeError(f"{name} could not be opened")
    return sock
