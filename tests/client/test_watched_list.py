"""The client's list that stays current, against the real daemon."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.client import connect
from sessiond.client.daemon import Daemon
from sessiond.client.watched_list import WatchedList
from sessiond.paths import Locations
from support.dialect_files import claude
from support.dialects import jsonl
from support.homes import a_home
from support.patience import BOUND


@pytest.fixture
def locations(monkeypatch: pytest.MonkeyPatch) -> Iterator[Locations]:
    with a_home() as locations:
        monkeypatch.setenv("SESSIOND_HOME", str(locations.home))
        monkeypatch.setenv("SESSIOND_TERMINAL", "one")
        yield locations


async def begun(daemon: Daemon, cwd: Path, title: str) -> str:
    session_id = (await daemon.create(str(cwd), title=title)).session.session_id
    for role in ("user", "assistant"):
        message = {"role": role, "content": [{"type": "text", "text": "hello"}]}
        await daemon.append(session_id, [{"type": "message", "message": message}])
    return session_id


class Shown:
    """The titles that a reader of the list shows."""

    def __init__(self, rows: WatchedList) -> None:
        self.rows = rows
        self.titles: dict[str, str | None] = {}
        self.wholes = 0

    async def until(self, titles: set[str]) -> None:
        async with asyncio.timeout(BOUND):
            while set(self.titles.values()) != titles:
                change = await anext(self.rows)
                if change.is_whole:
                    self.titles, self.wholes = {}, self.wholes + 1
                for session_id in change.removed:
                    self.titles.pop(session_id, None)
                self.titles |= {row.session_id: row.title for row in change.sessions}


async def test_the_whole_list_comes_first_and_then_every_change(locations: Locations, tmp_path: Path) -> None:
    async with connect(locations=locations) as writer, connect(locations=locations) as reader:
        first = await begun(writer, tmp_path, "one")
        await begun(writer, tmp_path, "two")
        await begun(writer, tmp_path / "elsewhere", "not in this folder")
        async with reader.watch_list(str(tmp_path), interval_ms=20) as rows:
            shown = Shown(rows)
            await shown.until({"one", "two"})
            await writer.rename(first, "uno")
            await shown.until({"uno", "two"})
            await writer.delete(first)
            await shown.until({"two"})
            await begun(writer, tmp_path, "three")
            await shown.until({"two", "three"})
            assert shown.wholes == 1


async def test_the_list_goes_on_after_the_daemon_was_killed(locations: Locations, tmp_path: Path) -> None:
    async with connect(locations=locations) as writer, connect(locations=locations) as reader:
        await begun(writer, tmp_path, "one")
        async with reader.watch_list(interval_ms=20) as rows:
            shown = Shown(rows)
            await shown.until({"one"})
            os.kill((await writer.status()).pid, signal.SIGKILL)
            await begun_again(writer, tmp_path, "two")
            await shown.until({"one", "two"})
            assert shown.wholes == 2


async def begun_again(daemon: Daemon, cwd: Path, title: str) -> None:
    """A session in the next daemon, which `list_sessions` starts."""
    await daemon.list_sessions()
    await begun(daemon, cwd, title)


async def test_a_closed_list_ends(locations: Locations, tmp_path: Path) -> None:
    async with connect(locations=locations) as daemon:
        rows = daemon.watch_list()
        assert (await anext(rows)).is_whole
        waiting = asyncio.create_task(anext(rows))
        await asyncio.sleep(0)
        await rows.aclose()
        with pytest.raises(StopAsyncIteration):
            await waiting


def repository(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


async def test_a_list_of_a_project_or_of_an_agent_has_no_other_session_from_the_beginning(
    locations: Locations, tmp_path: Path
) -> None:
    project = repository(tmp_path / "atlas")
    (project / "docs").mkdir()
    file = tmp_path / "from-claude.jsonl"
    common = {"sessionId": "aaaaaaaa-0000-4000-8000-000000000000", "cwd": str(tmp_path / "elsewhere")}
    file.write_bytes(
        jsonl(
            claude("user", "u1", None, "hello", **common),
            claude("assistant", "a1", "u1", "hi", **common),
            {"type": "custom-title", "customTitle": "of Claude Code", "sessionId": common["sessionId"]},
        )
    )
    async with connect(locations=locations) as writer, connect(locations=locations) as reader:
        await begun(writer, project, "in the project")
        await writer.import_sessions([str(file)])
        async with (
            reader.watch_list(project=str(project / "docs"), interval_ms=20) as of_project,
            reader.watch_list(agent="claude-code", interval_ms=20) as of_agent,
        ):
            assert [session.title for session in (await anext(of_project)).sessions] == ["in the project"]
            assert [session.title for session in (await anext(of_agent)).sessions] == ["of Claude Code"]
            await begun(writer, project / "docs", "in its docs")
            await Shown(of_project).until({"in its docs"})
