"""Full-text search over many entries, also directly after a burst, and the delay of appends while the index is made."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from statistics import quantiles
from typing import Any

import msgspec
from scripts.benchmarks.drafts import appends, new_session
from scripts.benchmarks.load import drive, exchange, latencies
from scripts.benchmarks.processes import Process, sessiond, until
from scripts.benchmarks.report import Row, milliseconds, sampled
from scripts.benchmarks.session_files import assistant_message, session_name, write_session

SESSIONS, ENTRIES = 10, 10_000
SMOKE_ENTRIES = 1_000
QUERY = 0.050
APPENDS, SMOKE_APPENDS = 400, 100
BURST, SMOKE_BURST = 20_000, 2_000
BURST_INDEXED = 3.0
QUESTIONS = (
    ("a word of a few entries", {"query": "needle"}),
    ("a word of all entries", {"query": "code"}),
    ("a phrase of all entries", {"query": '"a line of code"'}),
    ("the beginning of words", {"query": "li*"}),
    ("a word in one of the sessions", {"query": "code", "sessionId": "bench-search-03"}),
)


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Time appends while the index is made, and the same number when it is complete."""
    home = folder / "home"
    entries, count, burst = (
        (SMOKE_ENTRIES, SMOKE_APPENDS, SMOKE_BURST) if quick else (ENTRIES, APPENDS, BURST)
    )
    for number in range(SESSIONS):
        session = f"bench-search-{number:02}"
        path = home / "data/sessions/--tmp--" / session_name(session)
        write_session(path, session, entries)
        with path.open("ab") as file:
            file.write(_needle(number))
    total = SESSIONS * entries
    with sessiond(home) as daemon:
        session = new_session(daemon)
        index = home / "state/index.db"
        until(index.exists)
        began = time.perf_counter()
        busy: list[float] = []
        while _waiting(index):
            if len(busy) < count:
                busy += latencies(daemon, appends(session, "synced", 50))
            else:  # endless appends would make the index wait
                time.sleep(0.02)
        took = time.perf_counter() - began
        quiet = latencies(daemon, appends(session, "synced", count))
        rows = [
            sampled(f"full-text index of {total:,} entries, made in the background", [took], "s"),
            _undisturbed(busy, quiet),
        ]
        for name, params in QUESTIONS:
            times = [_search(daemon, params) for _ in range(2 if quick else 15)]
            rows.append(
                sampled(f"search {total:,} entries: {name}", times, "s", limit=None if quick else QUERY)
            )
        rows += _after_bursts(daemon, session, burst, rounds=1 if quick else 3)
    return rows


def _after_bursts(daemon: Process, session: str, burst: int, rounds: int) -> list[Row]:
    """The first search after many appends, and the time until all of them are searched."""
    searched: list[float] = []
    indexed: list[float] = []
    for _ in range(rounds):
        drive(daemon, appends(session, "written", burst), clients=1, depth=64)
        searched.append(_search(daemon, {"query": "needle"}))
        indexed.append(until(lambda: not _unsearched(daemon), every=0.05))
    query, until_indexed = (QUERY, BURST_INDEXED) if burst == BURST else (None, None)
    return [
        sampled(f"search just after {burst:,} appends", searched, "s", limit=query),
        sampled("  until all of them are searched, from then on", indexed, "s", limit=until_indexed),
    ]


def _unsearched(daemon: Process) -> int:
    """Bytes of the logs that are not searched yet."""
    reply = exchange(daemon, "session/search", {"query": "needle", "limit": 1})[1]
    unsearched: int = msgspec.json.decode(reply)["result"]["unsearched"]["sizeBytes"]
    return unsearched


def _undisturbed(busy: list[float], quiet: list[float]) -> Row:
    (p50, p99), (quiet50, quiet99) = (
        (quantiles(row, n=100)[49], quantiles(row, n=100)[98]) for row in (busy, quiet)
    )
    return Row(
        "  one client's synced appends meanwhile",
        f"p50 {milliseconds(p50)}, p99 {milliseconds(p99)}",
        f"p50 {p50 / quiet50:.2f} x, p99 {p99 / quiet99:.2f} x a daemon at rest",
    )


def _needle(number: int) -> bytes:
    entry = {
        "type": "message", "id": f"needle-{number}", "parentId": None, "timestamp": "2026-01-02T00:00:00.000Z",
        "message": assistant_message(f"the needle {number} in the haystack"),
    }  # fmt: skip
    return msgspec.json.encode(entry) + b"\n"


def _search(daemon: Process, params: dict[str, Any]) -> float:
    took, reply = exchange(daemon, "session/search", params)
    if not msgspec.json.decode(reply)["result"]["hits"]:
        raise RuntimeError("nothing was found")
    return took


def _waiting(index: Path) -> int:
    """How many sessions are not in the index yet; 1 before the index exists."""
    with closing(sqlite3.connect(f"file:{index}?mode=ro", uri=True)) as connection:
        try:
            known, left = connection.execute("SELECT count(*), sum(is_indexed = 0) FROM files").fetchone()
        except sqlite3.Error:
            return 1
    return int(left) if known >= SESSIONS else 1
