"""The list of many sessions: without an index beside the real peers, after a restart, and asked again."""

import os
import shutil
import time
from pathlib import Path

import msgspec
from scripts.benchmarks.load import exchange
from scripts.benchmarks.peer_timing import PeerTimes
from scripts.benchmarks.processes import Process, sessiond, until
from scripts.benchmarks.report import Row, at_most, middle, milliseconds, sampled
from scripts.benchmarks.session_files import session_name, write_session

SESSIONS, ENTRIES = 1_000, 100
MANY, FEW_ENTRIES = 10_000, 10
RESTARTED_LIST = 0.290
WARM_LIST = 0.008
WARM_PAGE = 0.020
PAGE = 50


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """A daemon without an index reads the ends of every file; the next one, and the next time, it knows them."""
    rounds = 3 if quick else 7
    return [*_all_of_some(folder / "some", rounds), *_page_of_many(folder / "many", rounds)]


def _all_of_some(home: Path, rounds: int) -> list[Row]:
    for number in range(SESSIONS):
        session = f"bench-list-{number:04}"
        write_session(home / "data/sessions/--tmp--" / session_name(session), session, ENTRIES)
    cold, completed, restarted, warm, walked = [], [], [], [], []
    peers = PeerTimes("list")
    for _ in range(rounds):
        walked.append(_walk(home / "data/sessions"))
        peers.round(home / "data/sessions/--tmp--", size=SESSIONS)
        shutil.rmtree(home / "state", ignore_errors=True)
        with sessiond(home) as daemon:
            cold.append(_list(daemon, SESSIONS, SESSIONS))
            completed.append(until(lambda: _is_complete(daemon), every=0.05))
            warm.append(middle(_list(daemon, SESSIONS, SESSIONS) for _ in range(5)))
        with sessiond(home) as daemon:
            restarted.append(_list(daemon, SESSIONS, SESSIONS))
    walk = middle(walked)
    return [
        sampled(
            f"list {SESSIONS:,} sessions of {ENTRIES} entries, without an index",
            cold,
            "s",
            ratio=f"{middle(cold) / walk:.1f} x reading the files ({milliseconds(walk)})",
        ),
        *peers.rows(cold, must_beat=["omp"]),
        sampled("  until every row is complete, from then on", completed, "s"),
        Row(
            "  in a daemon that was started just now",
            milliseconds(middle(restarted)),
            f"{middle(restarted) / walk:.2f} x reading the files",
            f"<= {RESTARTED_LIST * 1e3:.0f} ms",
            at_most(middle(restarted), RESTARTED_LIST),
        ),
        Row(
            "  again",
            milliseconds(middle(warm)),
            f"{middle(warm) / walk:.2f} x reading the files",
            f"<= {WARM_LIST * 1e3:.0f} ms",
            at_most(middle(warm), WARM_LIST),
        ),
    ]


def _page_of_many(home: Path, rounds: int) -> list[Row]:
    for number in range(MANY):
        session = f"bench-many-{number:05}"
        folder = home / f"data/sessions/--project-{number % 100}--"
        cwd = f"/project-{number % 100}"
        write_session(folder / session_name(session), session, FEW_ENTRIES, cwd=cwd)
    with sessiond(home) as daemon:
        cold = _list(daemon, PAGE, MANY)
    restarted, warm, filtered = [], [], []
    for _ in range(min(rounds, 3)):
        with sessiond(home) as daemon:
            restarted.append(_list(daemon, PAGE, MANY))
            warm.append(middle(_list(daemon, PAGE, MANY) for _ in range(9)))
            filtered.append(middle(_list(daemon, PAGE, MANY, query="line") for _ in range(9)))
    return [
        Row(f"list {PAGE} of {MANY:,} sessions, without an index", milliseconds(cold)),
        Row("  in a daemon that was started just now", milliseconds(middle(restarted))),
        Row(
            "  again",
            milliseconds(middle(warm)),
            "",
            f"<= {WARM_PAGE * 1e3:.0f} ms",
            at_most(middle(warm), WARM_PAGE),
        ),
        Row("  of those with a word", milliseconds(middle(filtered))),
    ]


def _list(daemon: Process, count: int, total: int, **params: object) -> float:
    took, reply = exchange(daemon, "session/list", {"limit": count, "withTotal": True, **params})
    result = msgspec.json.decode(reply)["result"]
    if (len(result["sessions"]), result["totalCount"]) != (count, total):
        raise RuntimeError("the list is not complete")
    return took


def _is_complete(daemon: Process) -> bool:
    """Whether no row is provisional."""
    return b'"provisional":true' not in exchange(daemon, "session/list", {"limit": SESSIONS})[1]


def _walk(sessions: Path) -> float:
    start = time.perf_counter()
    for folder, _, names in os.walk(sessions):
        for name in names:
            Path(folder, name).read_bytes().count(b"\n")
    return time.perf_counter() - start
