"""A large session opens from its index as it opens without one, and only the lines after the index are read."""

import os
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.session import log_reader, open_index_writer
from sessiond.store.files import open_indexes
from sessiond.store.files.log import FileLog
from support.columns import entries_of
from support.daemons import Peer, assistant, running, user

ENTRIES = [user("one", id="e1"), assistant("two", id="e2"), user("three", id="e3")]


@pytest.fixture(autouse=True)
def every_session_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (log_reader, open_index_writer):
        monkeypatch.setattr(module, "MIN_INDEXED_BYTES", 1)


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of log files that were scanned for lines."""
    found: list[int] = []
    scan = FileLog.scan

    def counted(self: FileLog, start: int = 0) -> Any:
        for data in scan(self, start):
            found.append(len(data))
            yield data

    monkeypatch.setattr(FileLog, "scan", counted)
    return found


async def created(home: Path) -> Path:
    async with running(home) as daemon:
        peer = await daemon.attach()
        session = (await peer.call("session/create", cwd="/p", id="indexed1"))["session"]["sessionId"]
        await peer.append(session, *ENTRIES)
        (file,) = daemon.files()
        return file


async def opened(peer: Peer, path: Path) -> tuple[Any, list[dict[str, Any]]]:
    """Return the facts that a client gets when it opens a session."""
    session = (await peer.call("session/open", path=str(path)))["session"]
    entries = await peer.call("session/entries", sessionId=session["sessionId"])
    return session, entries_of(entries)


async def opened_by_a_new_daemon(home: Path, path: Path) -> tuple[Any, list[dict[str, Any]]]:
    async with running(home) as daemon:
        return await opened(await daemon.attach(), path)


def folder(home: Path) -> Path:
    return next(home.rglob(open_indexes.FOLDER))


async def test_a_session_that_was_closed_opens_without_reading_its_lines(
    tmp_path: Path, scanned: list[int]
) -> None:
    path = await created(tmp_path)
    scanned.clear()
    with_index = await opened_by_a_new_daemon(tmp_path, path)
    assert scanned == []
    for file in folder(tmp_path).iterdir():
        file.unlink()
    without = await opened_by_a_new_daemon(tmp_path, path)
    assert sum(scanned) == path.stat().st_size
    assert with_index == without
    assert [entry["id"] for entry in without[1]] == ["e1", "e2", "e3"]


async def test_a_new_daemon_knows_which_rows_views_omit(tmp_path: Path) -> None:
    path = await created(tmp_path)
    async with running(tmp_path) as daemon:
        session, _ = await opened(await daemon.attach(), path)
        live = daemon.inside.hub.sessions.cached(session["sessionId"])
        assert live is not None
        assert len(live.outline.silent) == live.tree.committed == 4


async def test_lines_of_another_program_are_read_after_the_index(tmp_path: Path, scanned: list[int]) -> None:
    path = await created(tmp_path)
    line = (
        b'{"type":"custom","customType":"x","id":"e4","parentId":"e3","timestamp":"2026-01-01T00:00:00Z"}\n'
    )
    with path.open("ab") as file:
        file.write(line)
    scanned.clear()
    _, entries = await opened_by_a_new_daemon(tmp_path, path)
    assert sum(scanned) == len(line)
    assert [entry["id"] for entry in entries] == ["e1", "e2", "e3", "e4"]


async def test_a_rewritten_file_is_read_anew(tmp_path: Path) -> None:
    path = await created(tmp_path)
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b'"e2"', b'"E2"'))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    _, entries = await opened_by_a_new_daemon(tmp_path, path)
    assert [entry["id"] for entry in entries] == ["e1", "E2", "e3"]


async def test_a_new_title_in_the_header_is_in_the_next_index(tmp_path: Path, scanned: list[int]) -> None:
    path = await created(tmp_path)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await peer.call("session/open", path=str(path))
        await peer.call("session/rename", sessionId="indexed1", title="Another title")
    scanned.clear()
    session, _ = await opened_by_a_new_daemon(tmp_path, path)
    assert session["title"] == "Another title"
    assert scanned == []


async def test_a_damaged_index_costs_nothing_but_time(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = await created(tmp_path)
    (index,) = folder(tmp_path).iterdir()
    index.write_bytes(index.read_bytes()[:-1])
    _, entries = await opened_by_a_new_daemon(tmp_path, path)
    assert [entry["id"] for entry in entries] == ["e1", "e2", "e3"]
    assert "is damaged; the session is read instead" in caplog.text


async def test_a_deleted_session_leaves_no_index(tmp_path: Path) -> None:
    path = await created(tmp_path)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await peer.call("session/open", path=str(path))
        await peer.call("session/delete", sessionId="indexed1")
    assert list(folder(tmp_path).iterdir()) == []


async def test_the_doctor_knows_the_folder(tmp_path: Path) -> None:
    await created(tmp_path)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        findings = (await peer.call("server/doctor"))["findings"]
    assert list(folder(tmp_path).iterdir()) != []
    assert "unknownFile" not in {finding["kind"] for finding in findings}
