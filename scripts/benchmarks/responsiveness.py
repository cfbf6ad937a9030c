"""The delay of small requests of one client by the heavy requests of others, one kind at a time and all together.

A process of its own sends the small requests, one at a time. The daemon runs with `loop_probe`, so that each row also
names the callback that held the event loop longest. The figure that does not depend on the machine's load is the
processor time of that hold.
"""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import quantiles

import msgspec
from scripts.benchmarks.heavy_requests import BATCH, Asker, Heavy, HeavyRequests
from scripts.benchmarks.loop_probe import Hold, read_report
from scripts.benchmarks.processes import Daemon, probed_sessiond
from scripts.benchmarks.report import Row, Samples, at_most, duration
from scripts.benchmarks.session_files import assistant_message
from scripts.benchmarks.small_requests import Taken

P99 = 0.025
LONGEST = 0.100
ENTRIES, SMOKE_ENTRIES = 100_000, 5_000
_WITH_LARGE_ENTRY = ("entry of 30 MB", "all of them together")
_REASON = (
    "An entry is decoded in one call, because msgspec cannot decode a part of a value, and the call holds the "
    "interpreter lock on any thread. For an entry of 30 MB the shortest such call takes {one_pass}, measured alone. "
    "The entry is also copied as a whole, from the request and to the subscribers."
)


@dataclass(frozen=True)
class Phase:
    """A period, by `time.perf_counter`, in which heavy requests of one kind were answered."""

    name: str
    began: float
    ended: float


def measure(folder: Path, *, quick: bool) -> list[Row]:
    home = folder / "home"
    entries = SMOKE_ENTRIES if quick else ENTRIES
    kinds = HeavyRequests(home, folder, entries).kinds()
    wanted = os.environ.get("BENCH_KINDS")  # for work on one session
    if wanted is not None:
        kinds = {name: kind for name, kind in kinds.items() if name in wanted.split(",")}
    report = folder / "holds"
    with probed_sessiond(home, report) as daemon:
        small = daemon.call("session/create", cwd="/tmp", id="bench-small")["session"]["sessionId"]
        daemon.call(
            "session/append",
            sessionId=small,
            entries=[{"type": "message", "message": assistant_message("x")}],
        )
        phases: list[Phase] = []
        with _small_requests(daemon, small) as taken:
            with _phase("nothing else", phases):
                time.sleep(1)
            for name, kind in kinds.items():
                with _phase(name, phases):
                    _one(daemon, kind)
            with _phase("all of them together", phases):
                _together(daemon, list(kinds.values()))
        return [row for phase in phases for row in _rows(phase, taken, read_report(report), entries)]


def _one(daemon: Daemon, heavy: Heavy) -> None:
    asker = Asker(daemon.socket)
    try:
        heavy(asker)
    finally:
        asker.close()


def _together(daemon: Daemon, kinds: Sequence[Heavy]) -> None:
    """Send each kind on a separate connection, all at once."""
    failures: list[BaseException] = []

    def run(heavy: Heavy) -> None:
        try:
            _one(daemon, heavy)
        except BaseException as error:  # noqa: BLE001 - raised in the main thread
            failures.append(error)

    threads = [threading.Thread(target=run, args=[heavy]) for heavy in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


@contextlib.contextmanager
def _phase(name: str, phases: list[Phase]) -> Iterator[None]:
    began = time.perf_counter()
    try:
        yield
    finally:
        phases.append(Phase(name, began, time.perf_counter()))


@contextlib.contextmanager
def _small_requests(daemon: Daemon, session: str) -> Iterator[list[Taken]]:
    """Send small requests until the block ends; the list is complete after it."""
    command = [sys.executable, "-m", "scripts.benchmarks.small_requests", daemon.socket, session]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    taken: list[Taken] = []
    try:
        yield taken
        out, _ = process.communicate(b"")
        taken += msgspec.json.decode(out, type=list[Taken])
    finally:
        process.kill()
        process.wait()


def _rows(phase: Phase, taken: Sequence[Taken], holds: Sequence[Hold], entries: int) -> Iterator[Row]:
    waits = [sample.seconds for sample in taken if phase.began <= sample.at <= phase.ended + 0.05]
    if len(waits) < 2:
        waits += [phase.ended - phase.began] * 2
    cuts = quantiles(
        waits, n=100, method="inclusive"
    )  # with few waits, the other method interpolates longer ones
    within = [hold for hold in holds if phase.began <= hold.ended <= phase.ended]
    if os.environ.get("BENCH_HOLDS"):
        for hold in sorted(within, key=lambda hold: -hold.cpu)[:8]:
            print(f"    {hold.cpu * 1e3:.1f} ({hold.wall * 1e3:.1f}) {hold.what}", file=sys.stderr)
    longest = max(within, key=lambda hold: hold.cpu, default=None)
    held = (
        ""
        if longest is None
        else f"; held {duration(longest.cpu)} ({duration(longest.wall)} wall) by {_innermost(longest.what)}"
    )
    p99, most = cuts[98], max(waits)
    yield Row(
        f"small requests beside {phase.name}, of {entries:,} entries",
        f"p50 {duration(cuts[49])}, p99 {duration(p99)}, max {duration(most)}",
        f"took {duration(phase.ended - phase.began)}{held}",
        f"p99 <= {P99 * 1e3:.0f}, max <= {LONGEST * 1e3:.0f} ms" if entries == ENTRIES else "",
        at_most(max(p99 / P99, most / LONGEST), 1.0) if entries == ENTRIES else "",
        Samples("s", (p99,)),
        _REASON.format(one_pass=duration(_one_pass())) if phase.name in _WITH_LARGE_ENTRY else "",
    )


@cache
def _one_pass() -> float:
    """Seconds of msgspec for one pass over an entry of 30 MB."""
    entry = msgspec.json.encode({"type": "custom", "data": ["x" * 300] * (BATCH // 304)})
    start = time.perf_counter()
    msgspec.json.decode(entry, type=dict[str, msgspec.Raw])
    return time.perf_counter() - start


def _innermost(what: str) -> str:
    """The last two functions of a chain of calls."""
    return " > ".join(what.split(" > ")[-2:])
