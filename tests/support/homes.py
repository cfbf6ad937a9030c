"""Private folders for daemons in tests, and the processes that run there."""

import _socket
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sessiond.paths import Locations, find_locations
from support.patience import BOUND

TESTS = Path(__file__).parent.parent


@contextlib.contextmanager
def a_home(**environment: str) -> Iterator[Locations]:
    """An empty SESSIOND_HOME with a short path; processes that still run there at the end are killed."""
    folder = tempfile.mkdtemp(prefix="sd-")
    locations = find_locations({"SESSIOND_HOME": folder, **environment})
    try:
        yield locations
    finally:
        # A daemon that is starting has no endpoint yet, and would create the folder again.
        while left := _processes_in(folder):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def a_stand_in(locations: Locations, *, descriptors: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """The daemon's process in the foreground, ready, with an echo server in place of the real one."""
    limit = f"ulimit -n {descriptors}; " if descriptors else ""
    command = ["/bin/sh", "-c", f'{limit}exec "$0" -m support.stand_in', sys.executable]
    with a_ready_process(command, locations) as process:
        yield process


@contextlib.contextmanager
def a_ready_process(command: list[str], locations: Locations) -> Iterator[subprocess.Popen[str]]:
    """A process for this home that has printed that it is ready. It ends with the block."""
    with subprocess.Popen(
        command,
        cwd=TESTS,
        env=environment(locations),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "READY\n"
            yield process
        finally:
            process.kill()


def _processes_in(folder: str) -> list[int]:
    """The processes whose environment names exactly this home, which is new for every test."""
    wanted = f"SESSIOND_HOME={folder}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            inherited = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if wanted in inherited and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found


def environment(locations: Locations, **more: str) -> dict[str, str]:
    """The environment for a command that is to use this home."""
    return {**os.environ, "SESSIOND_HOME": str(locations.home), **more}


def sessiond(*words: str) -> list[str]:
    """The command line of the real daemon."""
    return [sys.executable, "-m", "sessiond", *words]


def answers(client: _socket.socket) -> bool:
    """Whether the echo server answers."""
    client.settimeout(BOUND)
    client.sendall(b"hallo")
    return client.recv(5) == b"hallo"


def wait_until(holds: Callable[[], bool], seconds: float = BOUND) -> None:
    """Return when `holds` returns true; raise AssertionError after a number of seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)
