"""Names of files and folders that are no text, or look like something else: each file is followed like any other."""

import asyncio
import dataclasses
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sessiond.agents.table import AGENTS
from sessiond.hub.following import followed_agent
from sessiond.hub.transfer import foreign_files
from sessiond.protocol.findings import finding
from sessiond.store.files.watch import FolderWatch
from support import small_sessions
from support.daemons import Peer, running
from support.dialect_files import meta, said
from support.following import has, texts, until
from support.patience import BOUND
from support.writing_agents import WritingClaude, write_codex

STRANGE = {
    "not UTF-8": b"caf\xe9",
    "another that is not UTF-8": b"caf\xe8",
    "bytes of half a character": b"\xf0\x9f\x98",
    "an encoded surrogate": b"\xed\xb3\xbf",
    "a new line": b"two\nlines",
    "control characters": b"\x01\x1b[31m\x7f",
    "right to left": "\u202eabc".encode(),
    "percent": b"%2e%2e%00",
    "long": b"n" * 200,
    "an option": b"--help",
    "a space at its end": b"end ",
    "a number sign": b"#one#two",
}
"""Names, by what is strange about them."""


def session_of(number: int) -> str:
    return f"{number:08}-2222-4333-8444-555555555555"


def claude_at(home: Path, project: bytes, number: int) -> WritingClaude:
    """Claude Code, whose project has a folder of this name and whose file has it, too."""
    claude = WritingClaude(home, session_of(number))
    claude.path = home / ".claude/projects" / os.fsdecode(project) / os.fsdecode(project + b".jsonl")
    return claude


async def test_files_with_strange_names_are_read_and_followed(agents_home: Path, tmp_path: Path) -> None:
    everyone = [claude_at(agents_home, name, number) for number, name in enumerate(STRANGE.values())]
    for claude in everyone:
        claude.asks("hello")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        for claude in everyone:
            claude.says("good day")
        for claude in everyone:
            await has(peer, "good day", claude.session)
            assert await texts(peer, claude.session) == ["hello", "good day"]
        agent = await listed(peer)
        assert (agent["sessionCount"], agent["problemCount"]) == (len(STRANGE), 0)


async def _is(value: object) -> bool:
    return bool(value)


async def listed(peer: Peer, name: str = "claude-code") -> dict[str, Any]:
    [found] = [agent for agent in (await peer.call("agent/list"))["agents"] if agent["name"] == name]
    return dict(found)


async def test_folders_with_strange_names_are_watched_from_the_moment_they_are_made(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessiond.hub.following.follower.WATCHED_SECONDS", 3_600.0)
    WritingClaude(agents_home).asks("hello")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        for number, name in enumerate(STRANGE.values()):
            claude = claude_at(agents_home, name, number)
            claude.asks("hello")
            await has(peer, "hello", claude.session)
            moved = claude.path.parent.with_name(f"moved-{number}")
            claude.path = claude.path.parent.rename(moved) / claude.path.name
            claude.says("from its new place")
            await has(peer, "from its new place", claude.session)


async def test_a_watch_reports_names_of_any_bytes_and_goes_on(tmp_path: Path) -> None:
    for name in STRANGE.values():  # present before the watch begins
        (tmp_path / "before" / os.fsdecode(name)).mkdir(parents=True)
    seen: set[str] = set()
    began: list[float] = []
    watch = FolderWatch(
        [str(tmp_path)], seen.update, is_reported=lambda _: True, began=lambda: began.append(1.0)
    )
    try:
        async with asyncio.timeout(BOUND):
            await until(lambda: _is(began))
            for name in STRANGE.values():
                for folder in (tmp_path / "before" / os.fsdecode(name), tmp_path / os.fsdecode(name)):
                    folder.mkdir(exist_ok=True)
                    path = folder / os.fsdecode(name)
                    path.write_bytes(b"x")
                    await until(lambda: _is(str(path) in seen))  # noqa: B023 - it is awaited here
        assert len(began) == 1
    finally:
        watch.close()


async def test_an_error_of_one_file_is_named_and_stops_neither_its_agent_nor_another(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = foreign_files.read

    def failing(path: str, *more: Any) -> Any:
        if "unlucky" in path:
            raise UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed")
        return read(path, *more)

    monkeypatch.setattr(foreign_files, "read", failing)
    unlucky = claude_at(agents_home, b"unlucky", 1)
    unlucky.asks("nobody reads this")
    lucky = [WritingClaude(agents_home, session_of(number)) for number in range(2, 9)]
    for claude in lucky:
        claude.asks("hello")
    write_codex(agents_home, meta(), said("user", "of another agent"))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code", "codex"], workDoneToken="first")
        for claude in lucky:
            assert await texts(peer, claude.session) == ["hello"]
        unlucky.says("nor this")
        lucky[0].says("good day")
        await has(peer, "good day", lucky[0].session)
        await has(peer, "of another agent")
        agent = await listed(peer)
        [problem] = agent["problems"]
        assert problem["path"] == str(unlucky.path)
        assert problem["message"].startswith("reading it failed: UnicodeEncodeError")
        assert agent["failure"] is None
        [finding] = [
            reported
            for reported in (await peer.call("server/doctor"))["findings"]
            if reported["location"]["path"] == str(unlucky.path)
        ]
        assert finding["message"] == problem["message"]
        monkeypatch.setattr(foreign_files, "read", read)
        unlucky.says("somebody does now")
        await has(peer, "somebody does now", unlucky.session)

        async def has_no_problem() -> bool:
            return bool((await listed(peer))["problems"] == [])

        await until(has_no_problem)  # its messages are there a moment before its problem is forgotten


async def test_an_agent_whose_files_cannot_be_found_says_so_and_is_tried_again(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, is_failing = AGENTS["claude-code"], True

    def failing(path: str) -> bool:
        if is_failing:
            raise RuntimeError("the folders are cursed")
        return row.is_session_file(path)

    monkeypatch.setitem(AGENTS, "claude-code", dataclasses.replace(row, is_session_file=failing))
    monkeypatch.setattr(followed_agent, "FIRST_PAUSE", 0.05)
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    write_codex(agents_home, meta(id=session_of(5)), said("user", "of another agent"))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code", "codex"], workDoneToken="first")
        await has(peer, "of another agent", session_of(5))

        async def has_failed() -> bool:
            return bool((await listed(peer))["failure"] == "RuntimeError: the folders are cursed")

        await until(has_failed)
        kinds = {
            reported["kind"]: reported["message"]
            for reported in (await peer.call("server/doctor"))["findings"]
        }
        assert "the folders are cursed" in kinds["agentNotFollowed"]
        is_failing = False
        await has(peer, "hello")
        assert (await listed(peer))["failure"] is None


def test_advice_about_a_strange_name_can_be_given_to_a_shell(tmp_path: Path) -> None:
    for name in STRANGE.values():
        path = tmp_path / os.fsdecode(name)
        path.write_bytes(name)
        command = re.search("ls -ld (.*); head", finding("agentFileSkipped", "", str(path)).advice, re.DOTALL)
        assert command is not None
        assert subprocess.check_output(["bash", "-c", f"cat {command[1]}"]) == name


async def test_a_folder_that_is_named_like_a_session_is_no_problem(agents_home: Path, tmp_path: Path) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
        (claude.path.parent / "folder.jsonl").mkdir()
        claude.says("good day")
        await has(peer, "good day")
        assert (await listed(peer))["problems"] == []


async def test_a_database_with_a_strange_name_is_followed_and_its_end_is_known(
    agents_home: Path, tmp_path: Path
) -> None:
    path = agents_home / ".local/share/opencode" / os.fsdecode(b"opencode-#x.db#y\xff.db")
    small_sessions.write("opencode", path, session_of(1), "hello", 1)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("agent/follow", agents=["opencode"], workDoneToken="first")
        small_sessions.write("opencode", path, session_of(1), "hello", 2)

        async def row() -> Any:
            [found] = (await peer.call("session/list"))["sessions"]
            return found

        async def has_grown() -> bool:
            return bool((await row())["messageCount"] == 3)

        async def is_gone() -> bool:
            return bool((await row())["origin"]["gone"])

        await until(has_grown)
        path.unlink()
        await until(is_gone)
