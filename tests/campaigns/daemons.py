"""Daemons of a campaign: real processes, each under a home in the campaign's own folder."""

import contextlib
import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaigns.campaign import Broken
from sessiond.client import connect, connect_blocking
from sessiond.client.blocking import BlockingDaemon as BlockingDaemon
from sessiond.client.daemon import Daemon
from sessiond.paths import Locations, find_locations
from support import image_blob_daemon

COMMAND = tuple(image_blob_daemon.command())
"""The command of a daemon whose images are blobs, so that blobs are tried, too."""
PATIENCE = 60.0
"""Seconds that anything may take before it counts as hung. A wait ends as soon as it can."""


@dataclass(frozen=True)
class Home:
    """A SESSIOND_HOME, and whichever daemon lives there. The path is short, as a socket's must be."""

    folder: Path

    @property
    def locations(self) -> Locations:
        return find_locations({"SESSIOND_HOME": str(self.folder)})

    @property
    def environment(self) -> dict[str, str]:
        """For processes that are to use this home. Autostart is allowed, whatever the caller's own says."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("SESSIOND_")}
        return {**own, "SESSIOND_HOME": str(self.folder)}

    def connect(
        self, *, autostart: bool = True, name: str = "campaign"
    ) -> AbstractAsyncContextManager[Daemon]:
        """The product's asynchronous client, which starts the daemon when there is none."""
        return connect(locations=self.locations, autostart=autostart, name=name)

    def connect_blocking(self, *, autostart: bool = True) -> BlockingDaemon:
        return connect_blocking(locations=self.locations, autostart=autostart)

    def call(self, method: str, **params: Any) -> Any:
        """Ask over a connection that is made for this one request."""
        with self.connect_blocking() as daemon:
            return daemon.call(method, params)

    def pid(self) -> int | None:
        """The daemon that is ready here; None when there is none, or it is only just starting."""
        try:
            told = json.loads(Path(self.locations.endpoint).read_bytes())
            pid = int(told["pid"])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return pid if runs(pid) and start_time(pid) == told.get("startTime") else None

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """Send the daemon a signal, and wait until it has ended."""
        pid = self.pid()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
            wait_gone(pid)

    @contextlib.contextmanager
    def serving(
        self,
        *,
        under: Sequence[str] = (),
        command: Sequence[str] = COMMAND,
        words: Sequence[str] = ("serve",),
        **more: str,
    ) -> Iterator["subprocess.Popen[bytes]"]:
        """A daemon as a child of ours, in the foreground, ready; killed when the block ends.

        `under` is put before its command line, as a tracer is; `command` may be another that serves; `more` are
        variables of its environment. Its standard error goes to `state/stderr`.
        """
        Path(self.locations.state).mkdir(mode=0o700, parents=True, exist_ok=True)
        with (
            open(Path(self.locations.state) / "stderr", "ab") as stderr,
            subprocess.Popen(
                [*under, *command, *words],
                env={**self.environment, **more},
                stdin=subprocess.DEVNULL,
                stdout=stderr,
                stderr=stderr,
            ) as process,
        ):
            try:
                until(lambda: process.poll() is not None or self.answers(), "the daemon does not listen")
                yield process
            finally:
                process.kill()
                end_all_in(self.folder)

    def answers(self) -> bool:
        """Whether something listens here. A daemon does so a moment before it has told where it is."""
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self.locations.socket) == 0


def runs(pid: int) -> bool:
    """Whether a process has not ended. One that nobody has buried yet has, unless a thread of it still works:
    a thread that was killed in a sync holds the locks of its process until the disk has answered."""
    fields = _stat(pid)
    return fields is not None and (fields[0] not in (b"Z", b"X") or int(fields[17]) > 1)


def _stat(pid: int) -> list[bytes] | None:
    """The fields of a process behind its name: state first, then from 4 on as proc(5) counts them."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return stat.rpartition(b")")[2].split()


def state_of(pid: int) -> str:
    """The state of a process as ps(1) shows it, such as `S`, or `T` for one that is stopped; empty: it has ended."""
    fields = _stat(pid)
    return "" if fields is None else fields[0].decode()


def start_time(pid: int) -> int | None:
    """When a process began, in ticks since the start of the machine: with its id it names one process for ever."""
    fields = _stat(pid)
    return None if fields is None else int(fields[19])


def kill_the_same(pid: int, began: int | None) -> None:
    """Kill a process and wait until it has ended; nobody who was given its id since (see `start_time`)."""
    if began is None or start_time(pid) != began:
        return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    until(lambda: start_time(pid) != began or not runs(pid), f"process {pid} does not end")


def wait_gone(pid: int) -> None:
    """Wait until a process has ended, in whoever's care it was."""
    until(lambda: not runs(pid), f"process {pid} does not end")


def until(happens: Callable[[], object], otherwise: str) -> None:
    """Return as soon as it happens; `Broken`, with these words, when it does not within `PATIENCE`."""
    deadline = time.monotonic() + PATIENCE
    pause = 0.0005
    while not happens():
        if time.monotonic() > deadline:
            raise Broken(f"{otherwise} within {PATIENCE:.0f} s")
        time.sleep(pause)
        pause = min(pause * 2, 0.02)


def end_all_in(folder: Path) -> None:
    """Kill every process whose SESSIOND_HOME is this folder or lies in it, and see them gone."""
    deadline = time.monotonic() + PATIENCE
    while left := processes_in(folder):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            raise Broken(f"processes {left} do not end")
        time.sleep(0.01)


def processes_in(folder: Path) -> list[int]:
    """Every process whose SESSIOND_HOME is this folder or lies in it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        pid = int(process.name)
        home = _home_of(pid)
        if home is not None and Path(home).is_relative_to(folder) and pid != os.getpid() and runs(pid):
            found.append(pid)
    return found


def _home_of(pid: int) -> str | None:
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return None
    prefix = b"SESSIOND_HOME="
    return next(
        (os.fsdecode(variable[len(prefix) :]) for variable in variables if variable.startswith(prefix)), None
    )
