"""Holds of terminals survive a restart of the daemon, and end with their terminals."""

import json  # noqa: TID251 - files are read as another program reads them
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.discovery.processes import is_running, running_process, start_time_by_ps
from sessiond.rpc.process import boot_id, start_time
from sessiond.store.records import Process
from support.daemons import Peer, Running, assistant, running, user
from support.waiting import until

CWD = "/work/held"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """The first process of a terminal."""
    with subprocess.Popen(["sleep", "600"]) as started:
        try:
            yield started
        finally:
            started.kill()


def pane(name: str, pid: int | None) -> dict[str, Any]:
    return {"id": name, "kind": "tmux", "cwd": CWD, "pid": pid}


def hold_files(home: Path) -> list[Path]:
    return sorted((home / "state" / "terminal-holds").glob("*.json"))


def changed(home: Path, **members: Any) -> None:
    """Change what the only hold says of its process."""
    (file,) = hold_files(home)
    told = json.loads(file.read_bytes())
    file.write_text(json.dumps({**told, "process": {**told["process"], **members}}), encoding="utf-8")


async def held(daemon: Running, name: str, pid: int) -> str:
    """A session with an answer that a terminal has."""
    peer = await daemon.attach()
    made = await peer.call("session/create", cwd=CWD, terminal=pane(name, pid))
    session_id: str = made["session"]["sessionId"]
    await peer.append(session_id, user("hello"), assistant("hi"))
    return session_id


async def went_on(daemon: Running, name: str, pid: int | None = None) -> tuple[str, str]:
    peer = await daemon.attach()
    went = await peer.call("session/continue", cwd=CWD, terminal=pane(name, pid))
    return went["session"]["sessionId"], went["reason"]


async def test_another_daemon_knows_the_holds_of_living_terminals(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    async with running(tmp_path) as daemon:
        mine = await held(daemon, "one", process.pid)
    async with running(tmp_path) as daemon:
        other, rule = await went_on(daemon, "two", os.getpid())
        assert (other != mine, rule) == (True, "created")
        assert await went_on(daemon, "one", process.pid) == (mine, "breadcrumb")


async def test_a_hold_names_the_process_with_which_it_ends(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    async with running(tmp_path) as daemon:
        mine = await held(daemon, "one", process.pid)
    (file,) = hold_files(tmp_path)
    assert json.loads(file.read_bytes()) == {
        "version": 1,
        "terminal": "one",
        "kind": "tmux",
        "process": {"pid": process.pid, "startTime": start_time(process.pid), "bootId": boot_id()},
        "sessions": {CWD: mine},
    }


async def test_the_session_of_an_ended_terminal_is_free(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    async with running(tmp_path) as daemon:
        left = await held(daemon, "one", process.pid)
    process.kill()
    process.wait()
    async with running(tmp_path) as daemon:
        assert await went_on(daemon, "two", os.getpid()) == (left, "recent")
    assert [file.name for file in hold_files(tmp_path)] == ["two.json"]


@pytest.mark.parametrize("members", [{"startTime": 1}, {"bootId": "another"}, {"pid": 2**31 - 1}])
async def test_a_hold_of_a_reused_process_id_has_ended(
    tmp_path: Path, process: subprocess.Popen[bytes], members: dict[str, Any]
) -> None:
    async with running(tmp_path) as daemon:
        left = await held(daemon, "one", process.pid)
    changed(tmp_path, **members)
    async with running(tmp_path) as daemon:
        assert await went_on(daemon, "two") == (left, "recent")
    assert not hold_files(tmp_path)


async def test_a_damaged_hold_is_ignored_and_preserved(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    async with running(tmp_path) as daemon:
        left = await held(daemon, "one", process.pid)
    (file,) = hold_files(tmp_path)
    file.write_bytes(file.read_bytes()[:-10])
    damaged = file.read_bytes()
    async with running(tmp_path) as daemon:
        assert await went_on(daemon, "two", os.getpid()) == (left, "recent")
        assert file.read_bytes() == damaged
        assert await went_on(daemon, "one", process.pid) == (left, "breadcrumb")
    assert file.with_name("one.json.damaged").read_bytes() == damaged


async def test_a_daemon_removes_the_files_of_ended_terminals(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    async with running(tmp_path) as daemon:
        for name in ("tty:pts-3@1", "tmux:%5@1"):
            await held(daemon, name, process.pid)
        await held(daemon, "old", os.getpid())
        peer = await daemon.attach()
        await peer.call("session/create", cwd=CWD, terminal=pane("old-and-dead", None))
    crumbs = tmp_path / "state" / "terminal-sessions"
    for name in ("old", "old-and-dead"):
        os.utime(crumbs / name, (1000, 1000))
    process.kill()
    process.wait()
    async with running(tmp_path):
        await until(lambda: {path.name for path in crumbs.iterdir()} == {"tmux=3a%5@1", "old"})
        assert [file.name for file in hold_files(tmp_path)] == ["old.json"]


async def test_old_sessions_that_a_terminal_holds_are_skipped_after_a_restart(
    tmp_path: Path, process: subprocess.Popen[bytes]
) -> None:
    async with running(tmp_path) as daemon:
        mine = await held(daemon, "one", process.pid)
        path = (await _info(await daemon.attach(), mine))["path"]
    os.utime(path, (1000, 1000))
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        done = await peer.call("session/cleanup", maxAgeMs=3600 * 1_000, dryRun=True)
        assert [
            (notification["session"]["sessionId"], notification["reason"]) for notification in done["skipped"]
        ] == [(mine, "open")]


def test_a_process_is_the_same_only_with_its_start_and_boot(process: subprocess.Popen[bytes]) -> None:
    found = running_process(process.pid)
    assert found == Process(process.pid, start_time(process.pid) or 0, boot_id())
    assert is_running(found)
    assert running_process(process.pid, found.start_time) == found
    assert running_process(process.pid, found.start_time + 1) is None
    assert not is_running(Process(found.pid, found.start_time + 1, found.boot_id))
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not is_running(found)


def test_without_proc_the_start_time_is_that_of_ps(process: subprocess.Popen[bytes]) -> None:
    first = start_time_by_ps(process.pid)
    assert first is not None
    assert first == start_time_by_ps(process.pid)
    assert first > 1_600_000_000
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert start_time_by_ps(process.pid) is None
    process.wait()
    assert start_time_by_ps(process.pid) is None


async def _info(peer: Peer, session_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await peer.call("session/info", sessionId=session_id))["session"]
    return found
