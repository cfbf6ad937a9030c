"""The list of many sessions."""

import os
import time
from pathlib import Path

import msgspec
from scripts.benchmarks.load import exchange
from scripts.benchmarks.processes import Process, sessiond
from scripts.benchmarks.report import Row, at_most, middle, milliseconds
from scripts.benchmarks.session_files import session_name, write_session

SESSIONS, ENTRIES = 1_000, 100
WARM_LIST = 0.008


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """A daemon that has just started must look into every file; the next time it knows them."""
    home = folder / "home"
    for number in range(SESSIONS):
        session = f"bench-list-{number:04}"
        write_session(home / "data/sessions/--tmp--" / session_name(session), session, ENTRIES)
    cold, warm, walked = [], [], []
    for _ in range(3 if quick else 7):
        walked.append(_walk(home / "data/sessions"))
        with sessiond(home) as daemon:
            cold.append(_list(daemon))
            warm.append(middle(_list(daemon) for _ in range(5)))
    walk = middle(walked)
    return [
        Row(
            f"list {SESSIONS:,} sessions of {ENTRIES} entries, cold",
            milliseconds(middle(cold)),
            f"{middle(cold) / walk:.1f} x reading the files ({milliseconds(walk)})",
        ),
        Row(
            "  warm",
            milliseconds(middle(warm)),
            f"{middle(warm) / walk:.2f} x reading the files",
            f"<= {WARM_LIST * 1e3:.0f} ms",
            at_most(middle(warm), WARM_LIST),
        ),
    ]


def _list(daemon: Process) -> float:
    took, reply = exchange(daemon, "session/list", {"all": True, "limit": SESSIONS})
    if len(msgspec.json.decode(reply)["result"]["sessions"]) != SESSIONS:
        raise RuntimeError("the list is not complete")
    return took


def _walk(sessions: Path) -> float:
    start = time.perf_counter()
    for folder, _, names in os.walk(sessions):
        for name in names:
            Path(folder, name).read_bytes().count(b"\n")
    return time.perf_counter() - start
