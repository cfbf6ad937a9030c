"""A large file is read in a child process, with the same result."""

import os
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.execution.child_process import KeptProcess
from sessiond.hub.transfer import import_appending, import_reading
from support.daemons import Peer, running
from support.dialect_files import FILES
from support.dialects import jsonl
from support.long_sessions import SESSIONS
from support.shared import lines_of

OLD = 1_700_000_000


@pytest.fixture
def every_file_is_large(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on; the paths of files that a process reads."""
    read: list[str] = []
    run = KeptProcess.run

    async def noted(self: KeptProcess, function: Any, source: Any, *arguments: Any, **options: Any) -> Any:
        if isinstance(source, str):  # otherwise it was read already
            read.append(source)
        return await run(self, function, source, *arguments, **options)

    monkeypatch.setattr(import_reading, "LARGE_FILE", 0)
    monkeypatch.setattr(KeptProcess, "run", noted)
    return read


def write(path: Path, lines: Any) -> Path:
    path.write_bytes(jsonl(*lines))
    os.utime(path, (OLD, OLD))
    return path


async def imported(peer: Peer, path: Path, **params: Any) -> dict[str, Any]:
    return dict(await peer.call("session/import", path=str(path), **params))


async def outcome(home: Path, source: Path) -> tuple[dict[str, Any], list[Any]]:
    """Return the answer to an import into an empty home, and the lines that it stores."""
    async with running(home) as daemon:
        peer = await daemon.attach()
        result = await imported(peer, source)
        info = (await peer.call("session/info", sessionId=result["sessions"][0]["sessionId"]))["session"]
        return result, lines_of(Path(info["path"]))


@pytest.mark.parametrize("dialect", FILES)
async def test_it_becomes_the_same_session(
    dialect: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    source = write(tmp_path / "session.jsonl", FILES[dialect])
    here = await outcome(tmp_path / "here", source)
    read = request.getfixturevalue("every_file_is_large")
    assert await outcome(tmp_path / "apart", source) == here
    assert read == [str(source)]


async def test_it_grows_with_its_file(tmp_path: Path, every_file_is_large: list[str]) -> None:
    lines = FILES["go"]
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        statuses = []
        for count in (4, 4, len(lines)):
            source = write(tmp_path / "session.jsonl", lines[:count])
            [session] = (await imported(peer, source))["sessions"]
            statuses.append((session["status"], session["addedCount"] > 0))
    assert statuses == [("created", True), ("unchanged", False), ("grown", True)]


async def grown(home: Path, source: Path, lines: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the outcomes of imports of a part of a file, the whole, and the whole again, and what is stored."""
    async with running(home) as daemon:
        peer = await daemon.attach()
        results = []
        for count in (len(lines) // 2, len(lines), len(lines)):
            write(source, lines[:count])
            results.append(await imported(peer, source))
        session_id = results[0]["sessions"][0]["sessionId"]
        info = (await peer.call("session/info", sessionId=session_id))["session"]
        return results, lines_of(Path(info["path"]))


@pytest.mark.parametrize("dialect", SESSIONS)
async def test_a_session_grows_as_it_does_when_its_file_is_read_here(
    dialect: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    lines = SESSIONS[dialect](6, long=510_000)
    here = await grown(tmp_path / "here", tmp_path / "session.jsonl", lines)
    read = request.getfixturevalue("every_file_is_large")
    assert await grown(tmp_path / "apart", tmp_path / "session.jsonl", lines) == here
    assert [result["sessions"][0]["status"] for result in here[0]] == ["created", "grown", "unchanged"]
    assert len(read) == 2
    assert not list((tmp_path / "apart").rglob(".text-*"))


@pytest.mark.parametrize("dialect", SESSIONS)
async def test_a_session_grows_by_many_entries_as_by_few(
    dialect: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    here = await grown(tmp_path / "here", tmp_path / "session.jsonl", SESSIONS[dialect](6))
    request.getfixturevalue("every_file_is_large")
    monkeypatch.setattr(import_appending, "ENTRIES_AT_ONCE", 3)
    results, stored = await grown(tmp_path / "apart", tmp_path / "session.jsonl", SESSIONS[dialect](6))
    assert results == here[0]
    assert without_leaf_ids(stored) == without_leaf_ids(here[1])


def without_leaf_ids(lines: list[Any]) -> list[Any]:
    """The id of a line that sets the leaf depends on the entries before its append."""
    return [{**line, "id": ""} if line["type"] == "leaf" else line for line in lines]


async def test_another_session_with_the_same_id_gets_an_id_of_its_own(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    lines = SESSIONS["claude-code"](3)
    first = write(tmp_path / "first.jsonl", lines)
    second = tmp_path / "second.jsonl"
    second.write_bytes(first.read_bytes().replace(b"prompt", b"PROMPT").replace(b"question", b"QUESTION"))
    os.utime(second, (OLD, OLD))
    assert second.read_bytes() != first.read_bytes()
    logs = []
    for home in ("here", "apart"):
        if home == "apart":
            request.getfixturevalue("every_file_is_large")
        async with running(tmp_path / home) as daemon:
            peer = await daemon.attach()
            await imported(peer, first)
            [session] = (await imported(peer, second))["sessions"]
            assert session["status"] == "created"
            info = (await peer.call("session/info", sessionId=session["sessionId"]))["session"]
            logs.append(lines_of(Path(info["path"])))
    assert logs[0] == logs[1]
    assert not list((tmp_path / "apart").rglob(".text-*"))


async def test_a_file_that_is_no_session_is_skipped_for_the_same_reason(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    source = tmp_path / "notes.jsonl"
    source.write_bytes(b"no session\n")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        here = await imported(peer, source)
        read = request.getfixturevalue("every_file_is_large")
        assert await imported(peer, source) == here
    assert read == [file["path"] for file in here["skipped"]] == [str(source)]


async def test_a_child_process_that_is_killed_skips_only_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    write(folder / "first.jsonl", FILES["go"])
    write(folder / "second.jsonl", FILES["claude-code"])

    run = KeptProcess.run

    async def dying(self: KeptProcess, function: Any, path: str, *arguments: Any, **options: Any) -> Any:
        if path.endswith("first.jsonl"):
            return await run(self, os._exit, 9)
        return await run(self, function, path, *arguments, **options)

    monkeypatch.setattr(import_reading, "LARGE_FILE", 0)
    monkeypatch.setattr(KeptProcess, "run", dying)
    async with running(tmp_path / "home") as daemon:
        result = await imported(await daemon.attach(), folder)
    assert [file["path"] for file in result["skipped"]] == [str(folder / "first.jsonl")]
    assert [session["path"] for session in result["sessions"]] == [str(folder / "second.jsonl")]


async def test_it_is_read_in_a_thread_if_no_process_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path / "session.jsonl", FILES["go"])
    here = await outcome(tmp_path / "here", source)
    monkeypatch.setattr(import_reading, "LARGE_FILE", 0)
    monkeypatch.setattr("sessiond.hub.execution.child_process.COMMAND", ("/nowhere/python",))
    assert await outcome(tmp_path / "without", source) == here
