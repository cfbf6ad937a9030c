"""The servers under test as separate processes, and the kernel's figures about them."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sessiond.client import connect_blocking
from sessiond.paths import find_locations

PATIENCE = 30.0
_QUIET_SECONDS = 1.5
_SETTLING_SECONDS = 10.0
_CPUCLOCK_SCHED = 2
"""With the complement of a process id, this makes the id of that process's clock, as clock_getcpuclockid(3) does."""


@dataclass(frozen=True)
class Process:
    """A server: its process and the socket that it listens on."""

    pid: int
    socket: str

    def cpu(self) -> float:
        """Seconds of processor time of all its threads so far, ended ones included, to the nanosecond."""
        return time.clock_gettime(~self.pid << 3 | _CPUCLOCK_SCHED)

    def main_thread_cpu(self) -> float:
        """Seconds of processor time of its main thread so far. In the daemon, that thread runs the event loop."""
        statistics = Path(f"/proc/{self.pid}/task/{self.pid}/schedstat").read_text(encoding="ascii")
        return int(statistics.split()[0]) / 1e9

    def settled_cpu(self) -> float:
        """Wait until the process has no work left, at most ten seconds, and return its processor time then.

        Work is over when for 1.5 s the process neither used more than one percent of a processor nor waited for one:
        an acknowledged append is synced within a second, and on a busy machine work that is left may have to wait.
        """
        deadline = time.monotonic() + _SETTLING_SECONDS
        while True:
            before, waited = self.cpu(), self._waited()
            time.sleep(_QUIET_SECONDS)
            used, waiting = self.cpu() - before, self._waited() - waited
            is_quiet = used <= _QUIET_SECONDS * 0.01 and waiting <= _QUIET_SECONDS * 0.2
            if is_quiet or time.monotonic() > deadline:
                return before

    def _waited(self) -> float:
        """Seconds that its living threads have waited for a processor."""
        tasks = Path(f"/proc/{self.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text(encoding="ascii").split()[1]) for task in tasks) / 1e9

    def memory(self) -> int:
        """Bytes of its private memory; pages of mapped files do not count."""
        return self._status("RssAnon")

    def resident(self) -> int:
        """Bytes of memory that it holds, shared libraries included."""
        return self._status("VmRSS")

    def _status(self, field: str) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
        raise LookupError(field)


class Daemon(Process):
    """A sessiond with a home of its own."""

    def call(self, method: str, **params: Any) -> Any:
        """Send a request over a new connection."""
        with self.connect() as daemon:
            return daemon.call(method, params)

    def connect(self) -> Any:
        """A blocking connection, as a script uses it."""
        return connect_blocking(
            autostart=False, locations=find_locations({"SESSIOND_HOME": str(Path(self.socket).parent.parent)})
        )


@contextmanager
def sessiond(home: Path) -> Iterator[Daemon]:
    """A daemon on this home, ended when the block ends."""
    with _served(home, [sys.executable, "-E", "-P", "-m", "sessiond", "serve"], "/") as daemon:
        yield daemon


@contextmanager
def probed_sessiond(home: Path, report: Path) -> Iterator[Daemon]:
    """The same daemon. `report` receives the time that each callback holds its event loop (see `loop_probe`)."""
    command = [sys.executable, "-m", "scripts.benchmarks.loop_probe", str(report), "serve"]
    with _served(home, command, str(Path.cwd())) as daemon:
        yield daemon


@contextmanager
def _served(home: Path, command: list[str], cwd: str) -> Iterator[Daemon]:
    environ = {**os.environ, "SESSIOND_HOME": str(home)}
    daemon = subprocess.Popen(
        command, env=environ, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=cwd
    )
    with _ended(daemon):
        path = find_locations({"SESSIOND_HOME": str(home)}).socket
        _until_listening(path, daemon)
        yield Daemon(daemon.pid, path)


@contextmanager
def echo(folder: Path, reply_bytes: int) -> Iterator[Process]:
    """The yardstick: the barest server that speaks the same frames, answering with `reply_bytes` of JSON."""
    path = str(folder / f"echo-{reply_bytes}.sock")
    command = [sys.executable, "-m", "scripts.benchmarks.echo_server", path, str(reply_bytes)]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    with _ended(server):
        _until_listening(path, server)
        yield Process(server.pid, path)


@contextmanager
def minimal(folder: Path) -> Iterator[Process]:
    """The measured limit: a server without layers that does the unavoidable steps (see `minimal_server`)."""
    path = str(folder / "minimal.sock")
    command = [sys.executable, "-m", "scripts.benchmarks.minimal_server", path, str(folder)]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    with _ended(server):
        _until_listening(path, server)
        yield Process(server.pid, path)


@contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _until_listening(path: str, process: subprocess.Popen[bytes]) -> None:
    def answers() -> bool:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode} before it listened")
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(path) == 0

    until(answers)


def until(happens: Callable[[], bool], *, every: float = 0.001) -> float:
    """Return the seconds until it happens. Polls at an interval. Raises TimeoutError after half a minute."""
    start = time.perf_counter()
    while not happens():
        if time.perf_counter() - start > PATIENCE:
            raise TimeoutError(f"not after {PATIENCE:.0f} s")
        time.sleep(every)
    return time.perf_counter() - start
