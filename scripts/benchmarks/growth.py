"""How time and memory grow: with the entries of a session, and with the number of sessions."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scripts.benchmarks.drafts import appends
from scripts.benchmarks.load import exchange, latencies
from scripts.benchmarks.processes import Daemon, sessiond
from scripts.benchmarks.report import middle
from scripts.benchmarks.results import Chart, ChartUnit, Line
from scripts.benchmarks.session_files import session_name, write_session

ENTRIES = (1_000, 10_000, 100_000, 300_000, 1_000_000)
SESSIONS = (10, 100, 1_000, 3_000, 10_000)
ENTRIES_A_SESSION = 10
APPENDS = 50
PAGE = 50


def charts(folder: Path, *, quick: bool) -> tuple[Chart, ...]:
    """Measure the growth; `quick` leaves out the largest two sizes."""
    entries, sessions = (ENTRIES[:-2], SESSIONS[:-2]) if quick else (ENTRIES, SESSIONS)
    times, memory, lists = Curves(), Curves(), Curves()
    for count in entries:
        _one_session(folder, count, times, memory)
    for count in sessions:
        _many_sessions(folder, count, lists)
    across = "entries of the session"
    return (
        times.chart("time-by-entries", "Time by the length of a session", across, "s"),
        memory.chart("memory-by-entries", "Memory that a session adds to the daemon", across, "B"),
        lists.chart("time-by-sessions", f"Time of a list of {PAGE} sessions", "sessions on disk", "s"),
    )


class Curves:
    """The lines of a chart during the measurement."""

    def __init__(self) -> None:
        self._points: dict[str, dict[float, list[float]]] = {}

    def add(self, label: str, at: float, value: float) -> None:
        """Add a value. Several values at the same place become one point, their median."""
        self._points.setdefault(label, {}).setdefault(at, []).append(value)

    def chart(self, name: str, title: str, across: str, unit: ChartUnit) -> Chart:
        """Return the added lines, with the points in ascending order."""
        lines = tuple(
            Line(label=label, points=tuple((at, middle(values)) for at, values in sorted(points.items())))
            for label, points in self._points.items()
        )
        return Chart(name=name, title=title, across=across, unit=unit, lines=lines)


def _rounds(count: int, many: int) -> range:
    """Large sizes take long and vary little."""
    return range(3 if count <= many else 1)


def _one_session(folder: Path, entries: int, times: Curves, memory: Curves) -> None:
    session = f"bench-growth-{entries}"
    path = folder / session_name(session)
    write_session(path, session, entries)
    open_: dict[str, object] = {"path": str(path)}
    page: dict[str, object] = {"sessionId": session, "limit": PAGE}
    for _ in _rounds(entries, 100_000):
        shutil.rmtree(folder / "home", ignore_errors=True)
        with _warmed(folder / "home") as (daemon, client, before):
            times.add("open, file not known", entries, _took(client, "session/open", open_))
            memory.add("opened, file not known", entries, max(1, daemon.memory() - before))
            daemon.settled_cpu()
        with _warmed(folder / "home") as (daemon, client, before):
            times.add("open, in the next daemon", entries, _took(client, "session/open", open_))
            memory.add("opened, in the next daemon", entries, max(1, daemon.memory() - before))
            times.add("first page of the tree", entries, _took(client, "session/tree", page))
            memory.add("after a page of the tree", entries, max(1, daemon.memory() - before))
            latencies(daemon, appends(session, "written", 1))
            times.add("tree page after an append", entries, _took(client, "session/tree", page))
            times.add("append", entries, middle(latencies(daemon, appends(session, "written", APPENDS))))
    path.unlink()


def _many_sessions(folder: Path, count: int, times: Curves) -> None:
    home = folder / "many"
    for number in range(count):
        session = f"bench-growth-{number:05}"
        path = home / f"data/sessions/--project-{number % 100}--" / session_name(session)
        write_session(path, session, ENTRIES_A_SESSION, cwd=f"/project-{number % 100}")
    for _ in _rounds(count, 3_000):
        shutil.rmtree(home / "state", ignore_errors=True)
        with sessiond(home) as daemon:
            times.add("nothing known yet", count, _listed(daemon))
            times.add("again", count, middle(_listed(daemon) for _ in range(5)))
            daemon.settled_cpu()
        with sessiond(home) as daemon:
            times.add("in the next daemon", count, _listed(daemon))
    shutil.rmtree(home)


@contextmanager
def _warmed(home: Path) -> Iterator[tuple[Daemon, Any, int]]:
    """A daemon after its first response, a client of it, and its memory at that time."""
    with sessiond(home) as daemon, daemon.connect() as client:
        client.call("session/list")
        yield daemon, client, daemon.memory()


def _took(client: Any, method: str, params: dict[str, object]) -> float:
    start = time.perf_counter()
    client.call(method, params)
    return time.perf_counter() - start


def _listed(daemon: Daemon) -> float:
    return exchange(daemon, "session/list", {"limit": PAGE})[0]
