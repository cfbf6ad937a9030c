"""Files of a followed agent that are not as they should be: each is named with what to do, and all else goes on."""

import asyncio
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.following import agent_watches, follower
from sessiond.hub.native import originals
from sessiond.hub.native.originals import Original
from support.daemons import Peer, running
from support.dialect_files import SESSION, meta, said
from support.following import has, texts, until
from support.rights import with_rights_of_a_user
from support.writing_agents import WritingClaude, write_codex

YEAR_2001 = 1_000_000_000


async def following(peer: Peer, agent: str = "claude-code") -> None:
    await peer.call("agent/follow", agents=[agent], workDoneToken="first")


async def problems(peer: Peer, agent: str = "claude-code") -> list[dict[str, Any]]:
    """The problems that `agent/list` names."""
    [found] = [row for row in (await peer.call("agent/list"))["agents"] if row["name"] == agent]
    assert found["problemCount"] >= len(found["problems"])
    return list(found["problems"])


async def _has_no_problem(peer: Peer, agent: str) -> bool:
    return await problems(peer, agent) == []


async def findings(peer: Peer, kind: str) -> list[tuple[str, int | None, str]]:
    """The path, the line and the advice of each finding of a kind."""
    found = (await peer.call("server/doctor"))["findings"]
    return [
        (finding["location"]["path"], finding["location"]["line"], finding["advice"])
        for finding in found
        if finding["kind"] == kind
    ]


async def test_a_file_with_lines_that_cannot_be_read_is_named_with_the_first_of_them(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    with claude.path.open("ab") as file:
        file.write(b'{"type": "user", torn\n\x00\x01\n')
    claude.says("good day")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer)
        assert await texts(peer) == ["hello", "good day"]
        [problem] = await problems(peer)
        assert (problem["path"], problem["line"]) == (str(claude.path), 2)
        assert problem["message"].startswith("the line is not JSON")
        assert problem["message"].endswith("(1 more in this file)")
        assert f"sed -n 2p {claude.path}" in problem["advice"]
        [(path, line, advice)] = await findings(peer, "agentLineDamaged")
        assert (path, line, advice) == (str(claude.path), 2, problem["advice"])


async def test_a_file_with_a_hole_takes_no_space(agents_home: Path, tmp_path: Path) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    with claude.path.open("r+b") as file:
        file.truncate(16 << 20)
    os.utime(claude.path, (YEAR_2001, YEAR_2001))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer)
        assert await texts(peer) == ["hello"]
        [problem] = await problems(peer)
        assert (problem["line"], problem["message"][:27]) == (2, "the line contains NUL bytes")
        [agent] = [
            agent for agent in (await peer.call("agent/list"))["agents"] if agent["name"] == "claude-code"
        ]
        assert agent["sizeBytes"] == 16 << 20
        assert agent["storedBytes"] < 10_000


async def test_many_files_with_problems_are_counted_and_some_are_named(
    agents_home: Path, tmp_path: Path
) -> None:
    for number in range(25):
        claude = WritingClaude(agents_home, f"{number:08}-2222-4333-8444-555555555555")
        claude.asks("hello")
        with claude.path.open("ab") as file:
            file.write(b"torn{\n")
        os.utime(claude.path, (YEAR_2001, YEAR_2001))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer)
        [agent] = [
            agent for agent in (await peer.call("agent/list"))["agents"] if agent["name"] == "claude-code"
        ]
        assert (agent["sessionCount"], agent["problemCount"], len(agent["problems"])) == (25, 25, 20)


async def test_a_file_that_may_not_be_read_is_named_and_read_once_it_may(
    agents_home: Path, tmp_path: Path
) -> None:
    write_codex(agents_home, meta(), said("user", "hello"))
    [path] = agents_home.rglob("rollout-*.jsonl")
    path.chmod(0)
    with with_rights_of_a_user():
        async with running(tmp_path / "home") as daemon:
            peer = await daemon.attach()
            await following(peer, "codex")
            [problem] = await problems(peer, "codex")
            assert (problem["path"], problem["line"]) == (str(path), None)
            assert problem["message"] == "it cannot be read: permission denied"
            assert f"chmod u+rX {path}" in problem["advice"]
            assert [finding[0] for finding in await findings(peer, "agentFileForbidden")] == [str(path)]
            path.chmod(0o600)
            await peer.call("agent/wake", agent="codex", path=str(path))
            await has(peer, "hello")
            await until(lambda: _has_no_problem(peer, "codex"))
            assert await findings(peer, "agentFileForbidden") == []


async def test_a_file_that_cannot_be_read_is_named_also_while_its_agent_writes_to_it(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_watches.AgentWatches, "watch", lambda *_: False)  # what is added is not seen
    monkeypatch.setattr(follower, "POLL_SECONDS", 3_600.0)
    path = write_codex(agents_home, "no session")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer, "codex")
        for _ in range(2):
            assert [problem["path"] for problem in await problems(peer, "codex")] == [str(path)]
            assert [finding[0] for finding in await findings(peer, "agentFileSkipped")] == [str(path)]
            write_codex(agents_home, "no session either")


async def test_a_link_out_of_the_folder_is_named_and_imported_only_when_that_is_asked_for(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    outside = claude.path.rename(tmp_path / claude.path.name)
    claude.path.symlink_to(outside)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer)
        [problem] = await problems(peer)
        assert problem["path"] == str(claude.path)
        assert f"sessiond import {claude.path}" in problem["advice"]
        assert [finding[0] for finding in await findings(peer, "agentFileLinked")] == [str(claude.path)]
        assert await texts(peer) == []
        await peer.call("session/import", path=str(claude.path))
        assert await texts(peer) == ["hello"]


async def test_a_file_that_is_replaced_while_it_is_read_is_read_in_its_last_state(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    whole = claude.path.read_bytes()
    last = threading.Event()

    def replace() -> None:
        """Put another file with more lines in its place, again and again, as a program that writes whole files."""
        number = 0
        while not last.is_set():
            number += 1
            claude.says(f"answer {number}", parent=claude.first)
            line = claude.path.read_bytes().splitlines(keepends=True)[-1]
            new = claude.path.with_suffix(".new")
            new.write_bytes(whole + line)
            new.rename(claude.path)
            time.sleep(0.002)

    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        writer = threading.Thread(target=replace)
        writer.start()
        try:
            await following(peer)
            await until(lambda: _has_texts(peer, 4))
        finally:
            last.set()
            writer.join()
        claude.says("the last answer", parent=claude.first)
        await has(peer, "the last answer")
        assert (await texts(peer))[0] == "hello"
        assert await problems(peer) == []


async def _has_texts(peer: Peer, count: int) -> bool:
    return len(await texts(peer)) >= count


async def test_a_folder_with_many_files_does_not_hold_the_loop(agents_home: Path, tmp_path: Path) -> None:
    folder = WritingClaude(agents_home).path.parent
    for number in range(150):
        claude = WritingClaude(agents_home, f"{number:08}-2222-4333-8444-555555555555")
        claude.asks("hello")
        os.utime(claude.path, (YEAR_2001, YEAR_2001))
    steps: list[float] = []

    async def watch() -> None:
        """Note the processor time that each turn of the loop takes; a busy machine does not lengthen it."""
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            steps.append(time.thread_time() - before)

    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        watching = asyncio.create_task(watch())
        await following(peer)
        watching.cancel()
        [agent] = [
            agent for agent in (await peer.call("agent/list"))["agents"] if agent["name"] == "claude-code"
        ]
    assert (agent["sessionCount"], agent["waitingCount"], agent["problemCount"]) == (150, 0, 0)
    assert len(list(folder.iterdir())) == 150
    assert max(steps) < 0.1


@pytest.mark.parametrize("name", ["--yolo", "-x"])
def test_an_id_that_looks_like_an_option_is_given_to_no_command(agents_home: Path, name: str) -> None:
    day = agents_home / ".codex/sessions/2026/01/01"
    day.mkdir(parents=True)
    for text in (name, SESSION):
        (day / f"rollout-{text}.jsonl").write_bytes(b"{}\n")
    environ = {"HOME": str(agents_home)}
    assert originals.find(Original("codex", SESSION, None), "/", environ) is not None
    assert originals.find(Original("codex", name, None), "/", environ) is None
