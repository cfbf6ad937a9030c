"""Death at every single system call: strace kills the daemon at the N-th call of a kind, for every N there is."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from itertools import count, product
from pathlib import Path

from scripts.campaigns.campaign import Campaign, Figures, Ground, hold
from scripts.campaigns.daemons import Home, until
from scripts.campaigns.nursery import Nursery, nursery
from scripts.campaigns.rehearsal import Rehearsal, died
from scripts.campaigns.victims import VICTIMS, Victim

CALLS = (
    "write", "fdatasync", "fsync", "rename", "openat", "ftruncate", "unlink", "mkdir", "link", "dup2,dup3",
    "pwrite64", "fchmod", "utimensat", "sendto",
)  # fmt: skip
"""What changes a file or a name, or tells somebody; each kind is counted by itself. `sendto` is an answer."""


def run(ground: Ground) -> Figures:
    strace = shutil.which("strace")
    if strace is None:
        ground.leave_out("strace")
    deaths = 0
    acted = set()
    with nursery() as nurse:
        _try_tracing(ground, nurse, strace)
        rehearsal = Rehearsal(ground.folder, nurse)
        pairs = list(product(VICTIMS, CALLS))
        for number in ground.each_round(short=len(pairs), long=len(pairs)):
            victim, call = pairs[number % len(pairs)]
            deaths += _walk(rehearsal, strace, victim, call)
            acted.add(victim.name)
    hold(deaths > 0, "nothing was killed at all")
    return Figures(
        deaths, faults=deaths, checked=deaths, more=f"{len(acted)} of {len(VICTIMS)} kinds of change"
    )


def _try_tracing(ground: Ground, nurse: Nursery, strace: str) -> None:
    home = Home(ground.folder / "t")
    pid = nurse.start(home)
    with _traced(strace, pid, "getppid", 1, ground.folder) as attached:
        if not attached:
            told = (ground.folder / "strace").read_text(encoding="utf-8", errors="replace")
            ground.cannot(f"strace may not trace a process of ours: {told.strip()}")
    home.kill()


def _walk(rehearsal: Rehearsal, strace: str, victim: Victim, call: str) -> int:
    """Kill at the first call of this kind, at the second and so on, until the victim is done before."""
    for number in count(1):
        pid = rehearsal.begin(victim)
        with _traced(strace, pid, call, number, rehearsal.home.folder.parent) as attached:
            hold(attached, "strace does not attach any more")
            acknowledged = rehearsal.act(victim, pid)
        dead = died(victim, pid, acknowledged)
        rehearsal.check(victim, acknowledged, f"at {call} number {number}")
        if not dead:
            return number - 1
    raise AssertionError("there are infinitely many numbers")


@contextlib.contextmanager
def _traced(strace: str, pid: int, call: str, number: int, folder: Path) -> Iterator[bool]:
    """Have strace kill a process at the N-th call of a kind of one of its threads; whether it is attached."""
    told = folder / "strace"
    command = [
        strace, "--follow-forks", "--attach", str(pid), "--trace", call, "--output", "/dev/null",
        "--inject", f"{call}:signal=KILL:when={number}",
    ]  # fmt: skip
    with (
        open(told, "wb") as stderr,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr) as tracer,
    ):
        try:
            until(
                lambda: b"attached" in told.read_bytes() or tracer.poll() is not None,
                "strace does not attach",
            )
            yield tracer.poll() is None
        finally:
            tracer.terminate()  # it lets go of the process, if that still runs


CAMPAIGN = Campaign(
    name="syscalls",
    promise="A change is done or it is not, at whichever system call the daemon dies.",
    how="strace kills the daemon at the first, second, … N-th call of each kind that touches a file, a name or a "
    "client, during appends, creation, promotion, forks, trash, migrations, repairs, blobs, compaction, moves; "
    "another daemon is asked afterwards",
    run=run,
)
