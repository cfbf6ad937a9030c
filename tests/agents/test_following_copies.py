"""Followed agents with several files of one session: copies, moved folders, strays, and files that are refused."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.errors import ChildFailed
from sessiond.hub.transfer import import_reading
from support.columns import entries_of
from support.daemons import Peer, running
from support.dialect_files import SESSION, meta, said
from support.dialects import jsonl
from support.following import has, info, texts, until
from support.writing_agents import WritingClaude, write_codex

YEAR_2001 = 1_000_000_000
OTHER = "22222222-2222-4333-8444-555555555555"


async def listed(peer: Peer, agent: str) -> dict[str, Any]:
    agents = (await peer.call("agent/list"))["agents"]
    [found] = [row for row in agents if row["name"] == agent]
    return dict(found)


async def following(peer: Peer, agent: str) -> None:
    await peer.call("agent/follow", agents=[agent], workDoneToken="first")


async def states(peer: Peer) -> list[tuple[str, str | None]]:
    """The states of the agent's file and the paths that the session records, in order."""
    entries = entries_of(await peer.call("session/entries", sessionId=SESSION, limit=1_000))
    found = [entry["data"] for entry in entries if entry.get("customType") == "sessiond.originState"]
    return [(item["state"], item.get("sourcePath")) for item in found]


async def origin(peer: Peer) -> tuple[str, bool]:
    found = (await info(peer))["origin"]
    return found["path"], found["gone"]


async def session_ids(peer: Peer) -> list[str]:
    return [session["sessionId"] for session in (await peer.call("session/list"))["sessions"]]


def gemini(home: Path) -> Path:
    chats = home / ".gemini/tmp/heron/chats"
    chats.mkdir(parents=True)
    (chats.parent / ".project_root").write_text("/work", encoding="utf-8")
    return chats


def gemini_line(name: str, type: str, text: str) -> dict[str, Any]:
    content = [{"text": text}] if type == "user" else text
    return {"id": name, "timestamp": "2026-01-01T00:00:01.000Z", "type": type, "content": content}


HEAD = {"sessionId": SESSION, "projectHash": "x", "startTime": "2026-01-01T00:00:00.000Z", "kind": "main"}
CONTEXT = "<session_context>\nThis is the Gemini CLI.\n</session_context>"


@pytest.mark.parametrize("is_stray_newer", [True, False])
async def test_a_stray_file_hides_no_session_of_gemini(
    is_stray_newer: bool, agents_home: Path, tmp_path: Path
) -> None:
    chats = gemini(agents_home)
    stray, real = (
        chats / "session-2026-01-01T00-08-11111111.jsonl",
        chats / "session-2026-01-01T00-00-1.jsonl",
    )
    stray.write_bytes(jsonl(HEAD, gemini_line("c2", "user", CONTEXT)))
    turns = gemini_line("q", "user", "plover"), gemini_line("a", "gemini", "good day")
    real.write_bytes(jsonl(HEAD, gemini_line("c1", "user", CONTEXT), *turns))
    os.utime(stray if not is_stray_newer else real, (YEAR_2001, YEAR_2001))
    for daemon_number in range(2):
        async with running(tmp_path / "home") as daemon:
            peer = await daemon.attach()
            await following(peer, "gemini")
            assert await texts(peer) == ["plover", "good day"]
            assert await session_ids(peer) == [SESSION]
            now = await info(peer)
            assert (now["leafId"], now["origin"]["path"]) == ("a", str(real))
            if daemon_number == 0:
                [hit] = (await peer.call("session/search", query="plover"))["hits"]
                assert hit["sessionId"] == SESSION
            assert (await listed(peer, "gemini"))["problemCount"] == 0


async def test_a_stray_file_that_a_resume_makes_does_not_move_the_leaf(
    agents_home: Path, tmp_path: Path
) -> None:
    chats = gemini(agents_home)
    turns = gemini_line("q", "user", "plover"), gemini_line("a", "gemini", "good day")
    (chats / "session-1.jsonl").write_bytes(jsonl(HEAD, *turns))
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer, "gemini")
        (chats / "session-2.jsonl").write_bytes(jsonl(HEAD, gemini_line("c2", "user", CONTEXT)))

        async def has_stray() -> bool:
            page = await peer.call("session/entries", sessionId=SESSION, limit=1_000)
            return any(entry["id"] == "c2" for entry in entries_of(page))

        await until(has_stray)
        now = await info(peer)
        assert (now["leafId"], now["origin"]["path"]) == ("a", str(chats / "session-1.jsonl"))


async def test_two_rollouts_of_one_codex_id_are_one_session(agents_home: Path, tmp_path: Path) -> None:
    lines = meta(), said("user", "hello"), said("assistant", "good day")
    old = write_codex(agents_home, *lines, name="a", day="2026/01/01")
    os.utime(old, (YEAR_2001, YEAR_2001))
    new = write_codex(agents_home, *lines, said("user", "and now?"), name="b", day="2026/01/02")
    for _ in range(2):
        async with running(tmp_path / "home") as daemon:
            peer = await daemon.attach()
            await following(peer, "codex")
            assert await session_ids(peer) == [SESSION]
            assert await texts(peer) == ["hello", "good day", "and now?"]
            assert await origin(peer) == (str(new), False)
            agent = await listed(peer, "codex")
            assert (agent["fileCount"], agent["sessionCount"], agent["problemCount"]) == (2, 1, 0)


async def test_a_project_folder_that_is_moved_takes_its_sessions_along(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home, project="-work")
    claude.asks("hello")
    claude.says("good day")
    moved = claude.path.parent.with_name("-new-place")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer, "claude-code")
        claude.path.parent.rename(moved)
        claude.path = moved / claude.path.name

        async def is_moved() -> bool:
            return await origin(peer) == (str(claude.path), False)

        await until(is_moved)
        assert (await info(peer))["cwd"] == "/work", "no line names another folder yet"
        claude.asks("still here?", cwd="/new/place")
        await has(peer, "still here?")

        async def is_in_the_new_place() -> bool:
            return bool((await info(peer))["cwd"] == "/new/place")

        await until(is_in_the_new_place)
        assert await session_ids(peer) == [SESSION]
        assert await texts(peer) == ["hello", "good day", "still here?"]
        assert (await listed(peer, "claude-code"))["problemCount"] == 0


async def test_a_restored_backup_changes_nothing(agents_home: Path, tmp_path: Path) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    claude.says("good day")
    backup = claude.path.read_bytes()
    claude.asks("and now?")
    last = claude.says("still fine")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer, "claude-code")
        before = await info(peer)
        copy = WritingClaude(agents_home, project="-backup").path
        copy.parent.mkdir()
        copy.write_bytes(backup)
        os.utime(copy, (YEAR_2001, YEAR_2001))

        async def is_read() -> bool:
            agent = await listed(peer, "claude-code")
            return bool(agent["fileCount"] == 2 and not agent["waitingCount"])

        await until(is_read)
        after = await info(peer)
        assert (after["leafId"], after["lastSeq"]) == (last, before["lastSeq"])
        assert await origin(peer) == (str(claude.path), False)


async def test_a_session_is_gone_only_with_its_last_file(agents_home: Path, tmp_path: Path) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    last = claude.says("good day")
    os.utime(claude.path, (YEAR_2001, YEAR_2001))
    copy = claude.path.parent.with_name("-copy") / claude.path.name
    copy.parent.mkdir()
    shutil.copyfile(claude.path, copy)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer, "claude-code")
        before = await info(peer)
        assert await origin(peer) == (str(copy), False)
        copy.unlink()

        async def is_at(path: Path, *, is_gone: bool) -> bool:
            return await origin(peer) == (str(path), is_gone)

        await until(lambda: is_at(claude.path, is_gone=False))
        claude.path.unlink()
        await until(lambda: is_at(claude.path, is_gone=True))
        assert (await states(peer))[-2:] == [("present", str(claude.path)), ("gone", None)]
        after = await info(peer)
        assert (after["leafId"], after["updatedAt"]) == (last, before["updatedAt"])


async def test_a_file_that_is_refused_is_named_by_the_list_and_by_doctor_also_after_a_restart(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude, other = WritingClaude(agents_home), WritingClaude(agents_home, OTHER)
    claude.asks("hello")
    other.asks("I am refused")
    refused = str(other.path)
    read = import_reading.read

    async def failing(path: str, *more: Any) -> Any:
        if path == refused:
            raise ChildFailed("signal 9")
        return await read(path, *more)

    monkeypatch.setattr(import_reading, "read", failing)

    async def named(peer: Peer) -> tuple[list[str], list[str]]:
        found = (await peer.call("server/doctor"))["findings"]
        findings = [finding["location"]["path"] for finding in found if finding["kind"] == "agentFileSkipped"]
        return [problem["path"] for problem in (await listed(peer, "claude-code"))["problems"]], findings

    for _ in range(2):
        async with running(tmp_path / "home") as daemon:
            peer = await daemon.attach()
            await following(peer, "claude-code")
            assert await texts(peer) == ["hello"]
            assert await named(peer) == ([refused], [refused])
    monkeypatch.setattr(import_reading, "read", read)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer, "claude-code")
        await has(peer, "I am refused", OTHER)
        assert await named(peer) == ([], [])


async def test_a_settled_file_of_no_known_program_is_named_also_after_a_restart(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = WritingClaude(agents_home).path
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{"neither": "nor"}\n')
    os.utime(path, (YEAR_2001, YEAR_2001))
    monkeypatch.setattr("sessiond.hub.transfer.source_state.UNSETTLED_SECONDS", 0.0)
    for _ in range(3):
        async with running(tmp_path / "home") as daemon:
            peer = await daemon.attach()
            await following(peer, "claude-code")
            [problem] = (await listed(peer, "claude-code"))["problems"]
            assert problem["path"] == str(path)


async def test_a_file_that_was_read_and_is_refused_keeps_its_session(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await following(peer, "claude-code")
        claude.path.write_bytes(b'{"neither": "nor"}\n')

        async def is_named() -> bool:
            return bool((await listed(peer, "claude-code"))["problemCount"])

        await until(is_named)
        assert (await listed(peer, "claude-code"))["sessionCount"] == 1
        claude.path.unlink()

        async def is_gone() -> bool:
            return await origin(peer) == (str(claude.path), True)

        await until(is_gone)
        assert await texts(peer) == ["hello"]
