"""Folders of their own for daemons in tests, and the processes that run there."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sessiond.paths import Places, places
from sessiond.server import endpoint

TESTS = Path(__file__).parent.parent


@contextlib.contextmanager
def a_home(**environment: str) -> Iterator[Places]:
    """An empty SESSIOND_HOME with a short path; a daemon that runs there at the end is killed."""
    folder = tempfile.mkdtemp(prefix="sd-")
    where = places({"SESSIOND_HOME": folder, **environment})
    try:
        yield where
    finally:
        told = endpoint.read(where.endpoint)
        if told is not None and told.pid != os.getpid() and endpoint.is_alive(told):
            os.kill(told.pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def a_stand_in(where: Places, *, descriptors: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """The daemon's process, foreground, with an echo for a server; ready."""
    limit = f"ulimit -n {descriptors}; " if descriptors else ""
    with subprocess.Popen(
        ["/bin/sh", "-c", f'{limit}exec "$0" -m support.stand_in', sys.executable],
        cwd=TESTS,
        env={**os.environ, "SESSIOND_HOME": str(where.home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "READY\n"
            yield process
        finally:
            process.kill()


def environment(where: Places, **more: str) -> dict[str, str]:
    """The environment for a command that is to use this home."""
    return {**os.environ, "SESSIOND_HOME": str(where.home), **more}


def sessiond(*words: str) -> list[str]:
    """The command line of the real thing."""
    return [sys.executable, "-m", "sessiond", *words]


def answers(client: socket.socket) -> bool:
    """Whether a stand-in is at the other end."""
    client.settimeout(5)
    client.sendall(b"hallo")
    return client.recv(5) == b"hallo"


def wait_until(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    """Return as soon as `holds` does; an AssertionError after so many seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)
