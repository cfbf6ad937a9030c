"""Following of agents: the first reading, checks of unchanged files, how soon a new line is seen, and the idle cost."""

import itertools
import os
import time
from pathlib import Path
from typing import Any

import msgspec
from scripts.benchmarks.importing import stat_all, write_transcripts
from scripts.benchmarks.loop_probe import Hold, read_report
from scripts.benchmarks.processes import Daemon, probed_sessiond, until
from scripts.benchmarks.report import Row, duration, middle, milliseconds, sampled

AGENT = "claude-code"
FIRST_GB = 60.0
"""Seconds of processor time for a first following of 1 GB."""
SESSIONS, UNCHANGED = 6_000, 10_000
HELD = 0.020
ANNOUNCED = 1.0
SEARCHABLE = 3.0
STORED = 1.2
IDLE = 0.010
"""Seconds of processor time in a second without any work: a hundredth of a processor."""
_IDLE_SECONDS = 10.0
_SAMPLE = 200
_REASON = (
    "To read and convert the files takes {alone} for 1 GB on one thread that does nothing else. The daemon also writes "
    "and syncs a file for each session, and indexes the texts for search and recall meanwhile."
)
_SESSION = "ffffffff-1111-4222-8333-444444444444"


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Measure with a private home, in which the agent has long sessions at first, and then many short ones."""
    former = os.environ.get("HOME")
    os.environ["HOME"] = str(folder / "ada")  # the folder where the daemon looks for agents
    os.environ.pop("CLAUDE_CONFIG_DIR", None)
    try:
        return [
            *(_first(folder, 40, idle_seconds=2.0) if quick else _first(folder, SESSIONS)),
            *(_many(folder, 100, checks=1) if quick else _many(folder, UNCHANGED, checks=5)),
        ]
    finally:
        if former is None:
            del os.environ["HOME"]
        else:
            os.environ["HOME"] = former


def _first(folder: Path, count: int, *, idle_seconds: float = _IDLE_SECONDS) -> list[Row]:
    """Follow long sessions for the first time, and measure the time until a further line of one is seen."""
    projects = folder / "ada/.claude/projects"
    size = write_transcripts(projects, count)
    report = folder / "holds-of-long"
    with probed_sessiond(folder / "home-of-long", report) as daemon:
        began = time.perf_counter()
        followed, before = _follow(daemon)
        _until_indexed(daemon)
        indexed = daemon.settled_cpu() - before
        agent = _agent(daemon)
        announced, searchable = _new_lines(daemon, projects)
        idle = _idle(daemon, idle_seconds)
        longest = _longest(report, began)
    limit = FIRST_GB * size / 1e9 if count == SESSIONS else None
    return [
        sampled(
            f"first following of {count:,} sessions ({size / 1e6:,.0f} MB), CPU", [followed], "s", limit=limit,
            ratio=f"{followed / size * 1e9:.0f} s for 1 GB",
            reason=_REASON.format(alone=duration(_alone(projects) * 1e9)),
        ),
        sampled(
            "  with the index of its texts", [indexed], "s", ratio=f"{indexed / size * 1e9:.0f} s for 1 GB",
        ),
        sampled(
            "  longest hold of the event loop, CPU", [longest.cpu], "s", limit=HELD,
            ratio=longest.what.rpartition(" > ")[2],
        ),
        sampled("  stored here, logs and blobs", [agent["storedBytes"] / size], "x", limit=STORED),
        sampled("  a new line is announced after", announced, "s", limit=ANNOUNCED),
        sampled("  a new line is found by a search after", searchable, "s", limit=SEARCHABLE),
        sampled("  CPU in a second without work", [idle], "s", limit=IDLE),
    ]  # fmt: skip


def _many(folder: Path, count: int, *, checks: int) -> list[Row]:
    """Sessions of two messages: the first following, and checks when no session has changed."""
    projects = folder / "ada/.claude/projects"
    for path in projects.rglob("*.jsonl"):
        path.unlink()
    size = write_transcripts(projects, count, lines=2)
    home = folder / "home-of-short"
    with probed_sessiond(home, folder / "holds-of-short") as daemon:
        followed, _ = _follow(daemon)
        _until_indexed(daemon)
        agent = _agent(daemon)
        checked, stats = [], []
        for _ in range(checks):
            checked.append(_checked(daemon))
            stats.append(stat_all(projects, count))
    report = folder / "holds-of-start"
    with probed_sessiond(home, report) as daemon:
        began = time.perf_counter()
        until(lambda: _has_checked(daemon))
        started = daemon.settled_cpu()
        longest = _longest(report, began)
    stat = middle(stats)
    return [
        sampled(
            f"first following of {count:,} sessions of two messages ({size / 1e6:.0f} MB), CPU", [followed], "s",
            ratio=f"{duration(followed / count)} for each",
        ),
        sampled("  stored here", [agent["storedBytes"] / size], "x", limit=STORED),
        sampled(
            f"  a check of {count:,} unchanged files, CPU", checked, "s",
            ratio=f"{middle(checked) / stat:.1f} x their stat ({milliseconds(stat)})",
        ),
        sampled("  a daemon that starts with them, CPU until it is idle", [started], "s"),
        sampled(
            "  longest hold of the event loop in its start, CPU", [longest.cpu], "s", limit=HELD,
            ratio=longest.what.rpartition(" > ")[2],
        ),
    ]  # fmt: skip


def _follow(daemon: Daemon) -> tuple[float, float]:
    """Follow the agent until all its files are read. Returns the processor time of this, and that before it."""
    before = daemon.cpu()
    with daemon.connect() as connection:
        connection.call("agent/follow", {"agents": [AGENT], "workDoneToken": "first"})
    return daemon.cpu() - before, before


def _until_indexed(daemon: Daemon) -> None:
    """Wait until all texts are in the index, which is updated in the background, with pauses."""
    while daemon.call("session/search", query="zebra")["unsearched"]["sessionCount"]:
        time.sleep(1.0)


def _longest(report: Path, began: float) -> Hold:
    """Return the callback that held the event loop longest since a time of `time.perf_counter`."""
    holds = (hold for hold in read_report(report) if hold.ended - hold.wall > began)
    return max(holds, key=lambda hold: hold.cpu, default=Hold(began, 0.0, 0.0, "nothing"))


def _agent(daemon: Daemon) -> Any:
    agents = daemon.call("agent/list")["agents"]
    return next(agent for agent in agents if agent["name"] == AGENT)


def _has_checked(daemon: Daemon) -> bool:
    agent = _agent(daemon)
    return bool(agent["isFollowed"] and agent["fileCount"] and not agent["waitingCount"])


def _checked(daemon: Daemon) -> float:
    """Return the processor time of one check of all files."""
    before = daemon.settled_cpu()
    daemon.call("agent/wake", agent=AGENT)
    return daemon.settled_cpu() - before


def _alone(projects: Path) -> float:
    """Return the processor time per byte in a process that only reads and converts the files."""
    from sessiond.agents.companions import Companions
    from sessiond.hub.transfer import foreign_files, import_reading
    from sessiond.session.dialects import imported_log

    target, companions = import_reading.Target(None), Companions()
    size, start = 0, time.process_time()
    for path in itertools.islice(projects.rglob("*.jsonl"), _SAMPLE):
        source = foreign_files.read(str(path), None, companions)
        session_id = imported_log.candidates(source.imported, str(path))[0]
        import_reading.new_session(source, session_id, target, _no_blob)
        size += path.stat().st_size
    return (time.process_time() - start) / size


def _no_blob(_digest: str) -> None:
    """Find no blob: the transcripts name no blobs."""


def _new_lines(daemon: Daemon, projects: Path) -> tuple[list[float], list[float]]:
    """Write lines to a new session. Returns the seconds until each is announced, and until a search finds it."""
    path = projects / "-work-new" / f"{_SESSION}.jsonl"
    path.parent.mkdir()
    _write(path, 0, "begin")
    until(lambda: bool(daemon.call("session/resolve", query=_SESSION)["sessions"]), every=0.01)
    announced, searchable = [], []
    with daemon.connect() as connection:
        connection.call("session/subscribe", {"sessionId": _SESSION})
        for number in range(1, 11):
            word = f"zebra{number}"
            start = time.perf_counter()
            _write(path, number, word)
            for method, params in connection.notifications():
                if method == "session/appended" and word in str(params):
                    break
            announced.append(time.perf_counter() - start)
            until(lambda word=word: bool(daemon.call("session/search", query=word)["hits"]), every=0.01)  # type: ignore[misc]
            searchable.append(time.perf_counter() - start)
    return announced, searchable


def _write(path: Path, number: int, text: str) -> None:
    """Append a line, as the agent does."""
    line = {
        "type": "user", "uuid": f"line-{number}", "parentUuid": f"line-{number - 1}" if number else None,
        "sessionId": _SESSION, "isSidechain": False, "cwd": "/work/new", "version": "2.1.0",
        "timestamp": f"2026-01-01T00:00:{number:02}.000Z", "message": {"role": "user", "content": text},
    }  # fmt: skip
    with path.open("ab") as file:
        file.write(msgspec.json.encode(line) + b"\n")


def _idle(daemon: Daemon, seconds: float) -> float:
    before = daemon.settled_cpu()
    start = time.perf_counter()
    time.sleep(seconds)
    return (daemon.cpu() - before) / (time.perf_counter() - start)
