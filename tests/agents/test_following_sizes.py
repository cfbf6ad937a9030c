"""Sessions of any size are kept: as many messages are here as the agent has in its own store."""

import os
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.transfer import memory_limit
from support.daemons import Peer, running
from support.dialect_files import meta, said
from support.following import has, until
from support.sized_sessions import WRITERS, texts_of
from support.writing_agents import WritingClaude, write_codex

YEAR_2001 = 1_000_000_000


async def listed(peer: Peer, agent: str) -> dict[str, Any]:
    [found] = [row for row in (await peer.call("agent/list"))["agents"] if row["name"] == agent]
    return dict(found)


async def counted(peer: Peer, agent: str) -> list[int]:
    """Follow an agent, and return the number of messages of each of its sessions."""
    await peer.call("agent/follow", agents=[agent], workDoneToken="first")
    about = await listed(peer, agent)
    assert (about["problems"], about["waitingCount"]) == ([], 0)
    sessions = [session["sessionId"] for session in (await peer.call("session/list"))["sessions"]]
    infos = [(await peer.call("session/info", sessionId=session))["session"] for session in sessions]
    return [info["messageCount"] for info in infos]


@pytest.mark.parametrize("size", [1_000, 2_000_000, pytest.param(50_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", WRITERS)
async def test_as_many_messages_are_here_as_the_agent_has(
    kind: str, size: int, agents_home: Path, tmp_path: Path
) -> None:
    agent, write = WRITERS[kind]
    texts = texts_of(size)
    write(agents_home, texts)
    for path in agents_home.rglob("*.*"):
        os.utime(path, (YEAR_2001, YEAR_2001))
    async with running(tmp_path / "home") as daemon:
        assert await counted(await daemon.attach(), agent) == [len(texts)]


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
async def test_a_file_whose_first_line_is_longer_than_the_beginning_that_is_looked_at_is_read(
    agent: str, agents_home: Path, tmp_path: Path
) -> None:
    if agent == "codex":
        write_codex(
            agents_home, meta(instructions="x" * 1_500_000), said("user", "hello"), said("assistant", "hi")
        )
    else:
        claude = WritingClaude(agents_home)
        claude.asks("x" * 1_500_000)
        claude.says("hi")
    async with running(tmp_path / "home") as daemon:
        assert len(await counted(await daemon.attach(), agent)) == 1


async def test_a_file_is_refused_only_for_lack_of_memory_and_is_read_once_there_is_enough(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    claude.says("good day")
    size = claude.path.stat().st_size
    monkeypatch.setattr(memory_limit, "ALWAYS_READ", size - 1)
    monkeypatch.setattr(memory_limit, "free_bytes", lambda: size * memory_limit.FACTOR - 1)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        [problem] = (await listed(peer, "claude-code"))["problems"]
        assert problem["path"] == str(claude.path)
        assert "of memory" in problem["message"]
        found = (await peer.call("server/doctor"))["findings"]
        assert str(claude.path) in [finding["location"]["path"] for finding in found]
        monkeypatch.setattr(memory_limit, "free_bytes", lambda: size * memory_limit.FACTOR)
        await peer.call("agent/wake", agent="claude-code")  # it does not wait for the check
        await has(peer, "good day")
        await until(lambda: _has_no_problem(peer))
        assert await counted(peer, "claude-code") == [2]


async def _has_no_problem(peer: Peer) -> bool:
    return not (await listed(peer, "claude-code"))["problems"]


def test_small_files_are_read_whatever_memory_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "free_bytes", lambda: 0)
    assert memory_limit.reason_to_refuse(memory_limit.ALWAYS_READ) is None
    assert memory_limit.reason_to_refuse(memory_limit.ALWAYS_READ + 1) is not None
    assert memory_limit.largest_readable() == memory_limit.ALWAYS_READ
