"""Followed forks of Codex: their history is in the rollout of another thread."""

import os
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.following import follower
from sessiond.hub.transfer import foreign_files
from support.daemons import Peer, running
from support.dialect_files import SESSION, meta, said
from support.following import has, until
from support.writing_agents import write_codex

FORK = "22222222-3333-4444-8555-666666666666"
LONG = "word " * 70_000


def numbered(first: int, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**line, "ordinal": first + place} for place, line in enumerate(lines)]


def write_source(home: Path) -> Path:
    later = said("user", "not in the fork")
    return write_codex(
        home, *numbered(0, meta(), said("user", LONG), said("assistant", "first"), later), name=SESSION
    )


def write_fork(home: Path) -> Path:
    base = {"thread_id": SESSION, "end_ordinal_exclusive": 3, "end_byte_offset": 0}
    head = meta(id=FORK, forked_from_id=SESSION, history_base=base)
    return write_codex(
        home,
        *numbered(3, head, said("user", "two"), said("assistant", "second")),
        name=FORK,
        day="2026/02/03",
    )


async def context(peer: Peer, session: str) -> list[str]:
    """Return the texts that a model is sent."""
    messages = (await peer.call("session/context", sessionId=session))["messages"]
    contents = [message["message"]["content"] for message in messages]
    return [content if isinstance(content, str) else content[0]["text"] for content in contents]


async def test_a_fork_that_grows_has_its_history_which_is_read_once(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "GROWING_SECONDS", 3600.0)
    write_source(agents_home)
    write_fork(agents_home)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["codex"], workDoneToken="first")
        assert await context(peer, FORK) == [LONG, "first", "two", "second"]
        whole: list[str] = []
        read = foreign_files.read

        def reading(path: str, *more: Any) -> Any:
            whole.append(path)
            return read(path, *more)

        monkeypatch.setattr(foreign_files, "read", reading)
        for number in range(3):
            write_codex(
                agents_home,
                *numbered(6 + number, said("assistant", f"later {number}")),
                name=FORK,
                day="2026/02/03",
            )
            await has(peer, f"later {number}", FORK)
        assert whole == []
        later = ["later 0", "later 1", "later 2"]
        assert await context(peer, FORK) == [LONG, "first", "two", "second", *later]
        found = (await peer.call("session/info", sessionId=FORK))["session"]
        assert found["parentSessionId"] == SESSION


async def agent_problems(peer: Peer) -> list[str]:
    agents = (await peer.call("agent/list"))["agents"]
    [codex] = [agent for agent in agents if agent["name"] == "codex"]
    return [problem["message"] for problem in codex["problems"]]


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_followed_fork_says_what_it_lacks_and_has_it_when_its_source_appears(
    is_restarted: bool, agents_home: Path, tmp_path: Path
) -> None:
    fork = write_fork(agents_home)
    os.utime(fork, (1_700_000_000, 1_700_000_000))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["codex"], workDoneToken="first")
        origin = (await peer.call("session/info", sessionId=FORK))["session"]["origin"]
        assert origin["missingHistory"] == {"sessionId": SESSION, "lineCount": 3}
        assert await context(peer, FORK) == ["two", "second"]
        assert [SESSION in problem for problem in await agent_problems(peer)] == [True]
        found = (await peer.call("server/doctor"))["findings"]
        assert [finding["location"]["path"] for finding in found if SESSION in finding["message"]] == [
            str(fork)
        ]
        if not is_restarted:
            write_source(agents_home)
            await until(lambda: has_history(peer))
            await until(lambda: has_no_problem(peer))
    if is_restarted:
        write_source(agents_home)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["codex"], workDoneToken="again")
        await until(lambda: has_history(peer))
        await until(lambda: has_no_problem(peer))
        assert "missingHistory" not in (await peer.call("session/info", sessionId=FORK))["session"]["origin"]
        assert FORK in await listed(peer)


async def has_no_problem(peer: Peer) -> bool:
    return await agent_problems(peer) == []


async def listed(peer: Peer) -> list[str]:
    return [session["sessionId"] for session in (await peer.call("session/list"))["sessions"]]


async def has_history(peer: Peer) -> bool:
    return await context(peer, FORK) == [LONG, "first", "two", "second"]


async def test_a_fork_that_was_continued_here_without_its_history_stays_and_is_named(
    agents_home: Path, tmp_path: Path
) -> None:
    fork = write_fork(agents_home)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        [session] = (await peer.call("session/import", path=str(fork)))["sessions"]
        assert [SESSION in problem["message"] for problem in session["problems"]] == [True]
        await peer.call("session/label", sessionId=FORK, entryId=await first_entry(peer), label="mine")
        write_source(agents_home)
        write_codex(agents_home, *numbered(5, said("user", "three")), name=FORK, day="2026/02/03")
        os.utime(fork, (2_000_000_000, 2_000_000_000))
        [session] = (await peer.call("session/import", path=str(fork)))["sessions"]
        assert any("pieces" in problem["message"] for problem in session["problems"])
        assert session["addedCount"] == 1
        await peer.call("session/delete", sessionId=FORK)
        [again] = (await peer.call("session/import", path=str(fork)))["sessions"]
        assert not again["problems"]
        assert await context(peer, FORK) == [LONG, "first", "two", "second", "three"]


async def first_entry(peer: Peer) -> str:
    messages = (await peer.call("session/context", sessionId=FORK))["messages"]
    return str(messages[0]["entryId"])
