"""The first reading of everything that five agents wrote: processor time, memory, and what it takes on disk.

agentsview, which also keeps what agents wrote, does the same with the same files in the same run. It is a program in Go
that stores messages in a database, without the trees and without what it does not show.
"""

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from scripts.benchmarks.agent_mix import SHARES, Mix, write_mix
from scripts.benchmarks.costs import cpu_with_children, highest_child, on_disk, peaks
from scripts.benchmarks.processes import Daemon, sessiond
from scripts.benchmarks.report import Row, formatted, sampled

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE, SMOKE_SIZE = 1_000_000_000, 12_000_000
CPU_PER_GB: Final = 90.0
"""Seconds of processor time until 1 GB is followed and indexed."""
PEOPLE_PER_GB: Final = 15.0
"""Seconds of processor time until the words of people in 1 GB are found."""
ON_DISK: Final = 0.40
"""The size of everything that is stored, in sizes of the originals."""
DAEMON_BYTES: Final = 150e6
_POLL_SECONDS: Final = 0.5
_SAMPLES: Final = 20


class _Reading(NamedTuple):
    """One first reading: seconds of processor time, bytes of memory and of disk by kind."""

    cpu: float
    people_cpu: float
    peak: int
    child_peak: int
    disk: Counter[str]


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Measure with a private home, in which all five agents have sessions."""
    ada = folder / "ada"
    mix = write_mix(ada, SMOKE_SIZE if quick else SIZE)
    with _home(ada):
        ours = _read(folder / "home", mix)
        peer = _agentsview(ada)
    gigabytes = mix.size / 1e9
    stored = ours.disk.total() / mix.size
    is_full = not quick
    what = f"{mix.size / 1e6:,.0f} MB of {len(SHARES)} agents in {mix.session_count:,} sessions"
    kinds = ", ".join(f"{name} {size / mix.size:.2f} x" for name, size in ours.disk.most_common())
    return [
        sampled(
            f"first reading of {what}, CPU for 1 GB until all of it is found", [ours.cpu / gigabytes], "s",
            ratio=_beside(peer and ours.cpu / peer.cpu), limit=CPU_PER_GB if is_full else None,
        ),
        sampled(
            "  until the first prompts are found", [ours.people_cpu / gigabytes], "s",
            limit=PEOPLE_PER_GB if is_full else None,
        ),
        sampled(
            "  highest memory of the daemon", [ours.peak], "B", ratio=_beside(peer and ours.peak / peer.peak),
            limit=DAEMON_BYTES if is_full else None,
        ),
        sampled("  highest memory of a child process", [ours.child_peak], "B"),
        sampled(
            f"  stored on disk, of the size of the originals: {kinds}", [stored], "x",
            ratio=_beside(peer and ours.disk.total() / peer.disk.total()), limit=ON_DISK if is_full else None,
        ),
    ]  # fmt: skip


def _beside(ratio: float | None) -> str:
    return "agentsview is not installed" if ratio is None else f"{formatted(ratio, 'x')} agentsview"


@contextmanager
def _home(home: Path) -> "Iterator[None]":
    """Make `home` the home of the processes that are started in the block."""
    former = dict(os.environ)
    os.environ["HOME"] = str(home)
    for name in (
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "PI_CODING_AGENT_DIR",
        "XDG_DATA_HOME",
    ):
        os.environ.pop(name, None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(former)


def _read(home: Path, mix: Mix) -> _Reading:
    """Follow all agents until everything is indexed."""
    with sessiond(home) as daemon:
        before = cpu_with_children(daemon.pid)
        with peaks(daemon.pid) as found, daemon.connect() as connection:
            following = threading.Thread(
                target=connection.call, args=("agent/follow", {"agents": sorted(SHARES)})
            )
            following.start()
            step = max(1, mix.session_count // _SAMPLES)
            for number in range(0, mix.session_count, step):
                _until(lambda number=number: _finds(daemon, mix.word(number)))  # type: ignore[misc]
            people = cpu_with_children(daemon.pid) - before
            following.join()
            _until(lambda: not daemon.call("session/search", query="zebra")["unsearched"]["sessionCount"])
            used = cpu_with_children(daemon.pid) - before
    return _Reading(used, people, found[daemon.pid], highest_child(found, daemon.pid), on_disk(home))


def _finds(daemon: Daemon, word: str) -> bool:
    return bool(daemon.call("session/search", query=word)["hits"])


def _until(happens: Callable[[], bool]) -> None:
    while not happens():
        time.sleep(_POLL_SECONDS)


def _agentsview(home: Path) -> _Reading | None:
    """Return the same of agentsview; None if it is not installed."""
    program = Path(sys.executable).with_name("agentsview")
    if not program.exists():
        return None
    environ = {**os.environ, "AGENTSVIEW_NO_DAEMON": "1"}
    syncing = subprocess.Popen(
        [str(program), "sync"],
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(syncing.pid, 0)
    syncing.returncode = os.waitstatus_to_exitcode(status)
    if syncing.returncode:
        raise RuntimeError(f"agentsview ended with {syncing.returncode}")
    used = usage.ru_utime + usage.ru_stime
    return _Reading(used, used, usage.ru_maxrss * 1024, 0, on_disk(home / ".agentsview"))
