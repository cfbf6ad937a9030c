"""The leaf of a followed session after a restart: that of its file, unless a client moved it."""

import json  # noqa: TID251 - a log is changed as an earlier version wrote it
import os
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.transfer import foreign_files
from sessiond.hub.transfer.leaf_owner import RESTORED
from support.columns import entries_of
from support.daemons import Peer, running
from support.dialect_files import SESSION
from support.following import has, info, until
from support.writing_agents import WritingClaude


async def leaf(peer: Peer) -> Any:
    return (await info(peer))["leafId"]


async def begin(claude: WritingClaude, home: Path) -> Path:
    """Let a daemon follow a session of three turns, and end. Returns the log."""
    for number in range(3):
        claude.asks(f"question {number}")
        claude.says(f"answer {number}")
    async with running(home) as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        claude.write({"type": "mode", "mode": "normal", "sessionId": SESSION})
        await until(lambda: _has_raw(peer))
        [log] = daemon.files()
    return log


async def _has_raw(peer: Peer) -> bool:
    entries = entries_of(await peer.call("session/entries", sessionId=SESSION))
    return any(entry["id"] == "raw-7" for entry in entries)


async def test_a_leaf_that_an_earlier_version_moved_is_put_right_and_reported(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home)
    log = await begin(claude, tmp_path / "home")
    *others, moved = log.read_bytes().splitlines(keepends=True)
    line = json.loads(moved)
    assert (line["type"], line["targetId"]) == ("leaf", claude.last)
    wrong = {**line, "id": "0badc0de", "targetId": claude.first}
    log.write_bytes(b"".join(others) + json.dumps(wrong).encode() + b"\n")
    os.utime(claude.path, (1_000_000_000, 1_000_000_000))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="again")
        await until(lambda: _is_leaf(peer, claude.last))
        [session] = (await peer.call("session/import", path=str(claude.path)))["sessions"]
        assert [problem["message"] for problem in session["problems"]] == [RESTORED]


async def _is_leaf(peer: Peer, entry: str | None) -> bool:
    found = (await peer.call("session/resolve", query=SESSION))["sessions"]
    return bool(found) and await leaf(peer) == entry


async def test_a_leaf_that_a_client_moved_stays_after_a_restart_until_the_agent_goes_on(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home)
    await begin(claude, tmp_path / "home")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("session/branch", sessionId=SESSION, entryId=claude.first, commandId="a-move")
    claude.write({"type": "mode", "mode": "plan", "sessionId": SESSION})
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="again")
        assert await leaf(peer) == claude.first
        last = claude.asks("on we go")
        await has(peer, "on we go")
        assert await leaf(peer) == last


async def test_only_added_lines_are_read_after_a_restart(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = WritingClaude(agents_home)
    for number in range(40):
        claude.asks(f"{number} " + "word " * 2_000)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
    monkeypatch.setattr(foreign_files, "read", None)
    claude.says("while none ran")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="again")
        await has(peer, "while none ran")
        last = claude.says("and now")
        await has(peer, "and now")
        assert await leaf(peer) == last
