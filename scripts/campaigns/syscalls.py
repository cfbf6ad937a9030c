"""Death at every single system call: strace kills the daemon at the N-th call of a kind, for every N there is."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from scripts.campaigns.campaign import Campaign, Figures, Ground, hold
from scripts.campaigns.daemons import Home, end_all_in, runs, until
from scripts.campaigns.nursery import Nursery, nursery
from scripts.campaigns.victims import VICTIMS, Stage, Victim

from sessiond.client.dial import CannotConnect
from sessiond.client.wire import Disconnected

CALLS = (
    "write", "fdatasync", "fsync", "rename", "openat", "ftruncate", "unlink", "mkdir", "link", "dup2,dup3",
    "pwrite64", "fchmod", "utimensat", "sendto",
)  # fmt: skip
"""What changes a file or a name, or tells somebody; each kind is counted by itself. `sendto` is an answer."""

_FIRST = ("append", "create", "promotion", "fork", "trash", "migration of version 2", "repair of half a line")
"""Before the others, since a short run may not come to an end."""


def run(ground: Ground) -> Figures:
    strace = shutil.which("strace")
    if strace is None:
        ground.leave_out("strace")
    order = sorted(VICTIMS, key=lambda it: _FIRST.index(it.name) if it.name in _FIRST else len(_FIRST))
    deaths = 0
    acted = set()
    with nursery() as nurse:
        points = _Points(ground, nurse, strace)
        points.try_tracing()
        turns = ((victim, call) for victim in order for call in CALLS)
        for _, (victim, call) in zip(
            ground.each_round(short=len(order) * len(CALLS), long=len(order) * len(CALLS), seconds=35),
            turns,
            strict=False,
        ):
            died = points.walk(victim, call)
            deaths += died
            acted.add(victim.name)
    hold(deaths > 0, "nothing was killed at all")
    return Figures(
        rounds=deaths, faults=deaths, checked=deaths, more=f"{len(acted)} of {len(order)} kinds of change"
    )


class _Points:
    """Goes through the points of death of a victim, each from the same beginning."""

    def __init__(self, ground: Ground, nurse: Nursery, strace: str) -> None:
        self._ground = ground
        self._nurse = nurse
        self._strace = strace
        self._home = Home(ground.folder / "h")
        self._saved = ground.folder / "saved"
        self._prepared: Victim | None = None
        self._before: dict[str, object] = {}

    def try_tracing(self) -> None:
        pid = self._nurse.start(self._home)
        try:
            with _traced(self._strace, pid, "getppid", 1, self._ground.folder) as attached:
                if not attached:
                    told = (self._ground.folder / "strace").read_text(encoding="utf-8", errors="replace")
                    self._ground.cannot(f"strace may not trace a process of ours: {told.strip()}")
        finally:
            self._end()

    def walk(self, victim: Victim, call: str) -> int:
        """Kill at the first call of this kind, at the second and so on, until the victim is done before."""
        self._prepare(victim)
        number = 1
        while self._dies(victim, call, number):
            number += 1
        return number - 1

    def _prepare(self, victim: Victim) -> None:
        if self._prepared is victim:
            return
        self._end()
        shutil.rmtree(self._home.folder, ignore_errors=True)
        shutil.rmtree(self._saved, ignore_errors=True)
        self._nurse.start(self._home)
        with self._home.connect_blocking(autostart=False) as daemon:
            stage = Stage(self._home, daemon)
            victim.prepare(stage)
            self._before = stage.before
        self._end()
        shutil.copytree(self._home.folder, self._saved, ignore=shutil.ignore_patterns("*.sock"))
        self._prepared = victim

    def _dies(self, victim: Victim, call: str, number: int) -> bool:
        """One death, and what must hold afterwards. False when the victim was done before it."""
        shutil.rmtree(self._home.folder)
        shutil.copytree(self._saved, self._home.folder)
        pid = self._nurse.start(self._home)
        acknowledged = False
        with _traced(self._strace, pid, call, number, self._ground.folder) as attached:
            hold(attached, "strace does not attach any more")
            with (
                contextlib.suppress(Disconnected, CannotConnect, ConnectionError),
                self._home.connect_blocking(autostart=False) as daemon,
            ):
                victim.act(Stage(self._home, daemon, dict(self._before)))
                acknowledged = True
            if not acknowledged:
                until(lambda: not runs(pid), "a daemon that ended a connection does not end")
        died = not runs(pid)
        hold(died or acknowledged, f"{victim.name}: the connection ended without a death")
        self._end()
        self._nurse.start(self._home)
        try:
            with self._home.connect_blocking(autostart=False) as daemon:
                victim.check(Stage(self._home, daemon, dict(self._before)), acknowledged)
        except Exception as error:
            error.add_note(f"after a death in {victim.name} at {call} number {number}")
            raise
        finally:
            self._end()
        return died

    def _end(self) -> None:
        self._home.kill()
        end_all_in(self._home.folder)


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
