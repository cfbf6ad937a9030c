"""The list of many sessions: without an index compared with the real peers, after a restart, and requested again."""

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec
from scripts.benchmarks.load import exchange
from scripts.benchmarks.peer_timing import PeerTimes
from scripts.benchmarks.processes import Process, echo, sessiond, until
from scripts.benchmarks.report import Row, middle, milliseconds, sampled
from scripts.benchmarks.session_files import session_name, write_session

SESSIONS, ENTRIES = 1_000, 100
MANY, FEW_ENTRIES = 10_000, 10
SMOKE_SESSIONS, SMOKE_MANY = 100, 200
"""The numbers of sessions of a quick run. The targets apply to the full numbers."""
RESTARTED_LIST = 0.290
WARM_LIST = 0.008
WARM_PAGE = 0.020
PAGE = 50


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """A daemon without an index reads the ends of every file. Later requests and daemons use the index."""
    if quick:
        return [
            *_all_of_some(folder / "some", SMOKE_SESSIONS, 1),
            *_page_of_many(folder / "many", SMOKE_MANY, 1),
        ]
    return [*_all_of_some(folder / "some", SESSIONS, 7), *_page_of_many(folder / "many", MANY, 3)]


def _all_of_some(home: Path, count: int, rounds: int) -> list[Row]:
    for number in range(count):
        session = f"bench-list-{number:04}"
        write_session(home / "data/sessions/--tmp--" / session_name(session), session, ENTRIES)
    cold, completed, restarted, warm, walked, limits = [], [], [], [], [], []
    peers = PeerTimes("list")
    for _ in range(rounds):
        walked.append(_walk(home / "data/sessions"))
        peers.round(home / "data/sessions/--tmp--", size=count)
        shutil.rmtree(home / "state", ignore_errors=True)
        with sessiond(home) as daemon:
            cold.append(_list(daemon, count, count))
            completed.append(until(lambda: _is_complete(daemon), every=0.05))
            warm.append(middle(_list(daemon, count, count) for _ in range(5)))
        with sessiond(home) as daemon:
            restarted.append(_list(daemon, count, count))
        limits.append(_least(home))
    walk = middle(walked)
    return [
        sampled(
            f"list {count:,} sessions of {ENTRIES} entries, without an index",
            cold,
            "s",
            ratio=f"{middle(cold) / walk:.1f} x reading the files ({milliseconds(walk)})",
        ),
        *peers.rows(cold, must_beat=["omp"] if count == SESSIONS else []),
        sampled("  until every row is complete, from then on", completed, "s"),
        sampled(
            "  in a daemon that was started just now",
            restarted,
            "s",
            ratio=f"{middle(restarted) / walk:.2f} x reading the files",
            limit=RESTARTED_LIST if count == SESSIONS else None,
        ),
        sampled(
            "  again",
            warm,
            "s",
            ratio=f"{middle(warm) / walk:.2f} x reading the files",
            limit=WARM_LIST if count == SESSIONS else None,
            reason=f"SQLite reads the stored rows, and a server without layers sends as many bytes, in "
            f"{milliseconds(middle(limits))}. The daemon also asks the system whether the newest files have changed, "
            "and its index has a thread of its own.",
        ),
    ]


def _page_of_many(home: Path, count: int, rounds: int) -> list[Row]:
    for number in range(count):
        session = f"bench-many-{number:05}"
        folder = home / f"data/sessions/--project-{number % 100}--"
        cwd = f"/project-{number % 100}"
        write_session(folder / session_name(session), session, FEW_ENTRIES, cwd=cwd)
    with sessiond(home) as daemon:
        cold = _list(daemon, PAGE, count)
    restarted, warm, filtered = [], [], []
    for _ in range(rounds):
        with sessiond(home) as daemon:
            restarted.append(_list(daemon, PAGE, count))
            warm.append(middle(_list(daemon, PAGE, count) for _ in range(9)))
            filtered.append(middle(_list(daemon, PAGE, count, query="line") for _ in range(9)))
    return [
        Row(f"list {PAGE} of {count:,} sessions, without an index", milliseconds(cold)),
        sampled("  in a daemon that was started just now", restarted, "s"),
        sampled("  again", warm, "s", limit=WARM_PAGE if count == MANY else None),
        sampled("  of those with a word", filtered, "s"),
    ]


def _list(daemon: Process, count: int, total: int, **params: object) -> float:
    took, reply = exchange(daemon, "session/list", {"limit": count, "withTotal": True, **params})
    result = msgspec.json.decode(reply)["result"]
    if (len(result["sessions"]), result["totalCount"]) != (count, total):
        raise RuntimeError("the list is not complete")
    return took


def _least(home: Path) -> float:
    """Seconds to read the rows of the list from the index, and to receive as many bytes from the echo server."""
    with closing(sqlite3.connect(home / "state/index.db")) as index:
        start = time.perf_counter()
        rows = index.execute(
            "SELECT updated, ref, info FROM files ORDER BY updated DESC, ref DESC"
        ).fetchall()
        took = time.perf_counter() - start
    with echo(home, sum(len(info) + 1 for _, _, info in rows)) as bare:
        return took + middle(exchange(bare, "session/list", {})[0] for _ in range(5))


def _is_complete(daemon: Process) -> bool:
    """Whether no row is provisional."""
    return b'"provisional":true' not in exchange(daemon, "session/list", {"limit": SESSIONS})[1]


def _walk(sessions: Path) -> float:
    start = time.perf_counter()
    for folder, _, names in os.walk(sessions):
        for name in names:
            Path(folder, name).read_bytes().count(b"\n")
    return time.perf_counter() - start
