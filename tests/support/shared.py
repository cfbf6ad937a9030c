"""Fixtures: a daemon in each of the three modes. The tests of a file share the process."""

import json  # noqa: TID251 - files are read as another program reads them
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from support.daemons import MODES, Mode, Peer, Running, joined, running
from support.homes import a_home, environment, sessiond

_numbers = count(1)


@pytest.fixture(scope="module")
def process_home() -> Iterator[Path]:
    """The home of a daemon that runs as a process of its own."""
    with a_home() as locations:
        ready, ready_end = os.pipe()
        # The daemon runs in the background, and ends when the home is removed.
        command = sessiond("serve", "--ready-fd", str(ready_end))
        subprocess.run(command, env=environment(locations), pass_fds=[ready_end], check=True)
        os.close(ready_end)
        with open(ready, "rb") as pipe:
            assert pipe.readline() == b"READY\n"
        yield Path(str(locations.home))


_EACH_MODE = [mode if mode == "memory" else pytest.param(mode, marks=pytest.mark.slow) for mode in MODES]


@pytest.fixture(params=_EACH_MODE)
async def daemon(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Running]:
    """A daemon in one of the three modes. Sessions of other tests may be there, too."""
    mode: Mode = request.param
    if mode == "process":
        found = joined(request.getfixturevalue("process_home"))
        try:
            yield found
        finally:
            await found.detach_all()
        return
    async with running(tmp_path, mode) as made:
        yield made


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Running]:
    """A daemon that is joined in memory, for tests that do not depend on the connection."""
    async with running(tmp_path) as made:
        yield made


@pytest.fixture
def cwd() -> str:
    """A folder that no other test uses."""
    return f"/work/project-{next(_numbers)}"


def terminal(name: str, *, cwd: str, pid: int | None = None) -> dict[str, Any]:
    """The terminal of a client."""
    return {"id": f"{name}-{cwd.rpartition('-')[2]}", "kind": "tty", "cwd": cwd, "pid": pid}


async def started(daemon: Running, cwd: str, **params: Any) -> tuple[Peer, str]:
    """A client with a new session open, and the session's id."""
    peer = await daemon.attach()
    made = await peer.call("session/create", cwd=cwd, **params)
    return peer, made["session"]["sessionId"]


def lines_of(path: Path | str) -> list[dict[str, Any]]:
    """A log, read without the product's code."""
    return [json.loads(line) for line in Path(path).read_bytes().split(b"\n") if line]
