"""Repeated imports of a file while it is written give the session that one import of the whole file gives."""

import os
from pathlib import Path
from typing import Any

import pytest

from support.columns import entries_of
from support.daemons import Peer, running
from support.dialect_files import FILES
from support.dialects import jsonl
from support.logs import Line

GROWING = {name: lines for name, lines in FILES.items() if name != "nova"}


async def stored_in(peer: Peer, session_id: str) -> dict[str, Line]:
    page = await peer.call("session/entries", sessionId=session_id, limit=1_000)
    return {entry["id"]: entry for entry in entries_of(page) if entry["type"] != "leaf"}


async def imported(peer: Peer, path: Path) -> str | None:
    result = await peer.call("session/import", path=str(path))
    return str(result["sessions"][0]["sessionId"]) if result["sessions"] else None


@pytest.mark.parametrize("dialect", GROWING)
async def test_imports_line_by_line_and_at_once_give_the_same_session(dialect: str, tmp_path: Path) -> None:
    lines: list[Any] = GROWING[dialect]
    path = tmp_path / "session.jsonl"
    async with running(tmp_path / "growing") as daemon:
        peer = await daemon.attach()
        for count in range(1, len(lines) + 1):
            path.write_bytes(jsonl(*lines[:count]))
            await imported(peer, path)
        os.utime(path, (1_700_000_000, 1_700_000_000))
        session = await imported(peer, path)
        assert session is not None
        grown = await stored_in(peer, session)
        leaf = (await peer.call("session/info", sessionId=session))["session"]["leafId"]
    async with running(tmp_path / "at-once") as daemon:
        peer = await daemon.attach()
        at_once = await imported(peer, path)
        assert at_once == session
        whole = await stored_in(peer, session)
        assert leaf == (await peer.call("session/info", sessionId=session))["session"]["leafId"]
    beside = ("origin-", "raw-", "line-", "title-")
    assert {name: entry["parentId"] for name, entry in grown.items()} == {
        name: entry["parentId"] for name, entry in whole.items()
    }
    for name, item in whole.items():
        assert grown[name] == item or name.startswith(beside)


async def test_many_sessions_that_have_grown_are_not_kept_open(tmp_path: Path) -> None:
    lines = GROWING["go"]
    folder = tmp_path / "all"
    folder.mkdir()
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        for count in (4, len(lines)):
            for number in range(5):
                header = {**lines[0], "id": f"sess-{number:04}"}
                (folder / f"{number}.jsonl").write_bytes(jsonl(header, *lines[1:count]))
            result = await peer.call("session/import", path=str(folder))
            assert len(result["sessions"]) == 5
        assert {session["status"] for session in result["sessions"]} == {"grown"}
        assert (await peer.call("server/status"))["openSessionCount"] == 0
