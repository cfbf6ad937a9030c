"""The files that agents will delete, and whether their sessions are here: in storage/agents and doctor."""

import json  # noqa: TID251 - settings are written as the agents' users write them
import os
import time
from pathlib import Path
from typing import Any

import pytest

from sessiond.config import AgentsConfig, Config
from sessiond.hub.doctor.examination import examine
from sessiond.hub.doctor.scope import Scope
from sessiond.paths import find_locations
from support.daemons import Peer, Running, running
from support.dialect_files import SESSION
from support.writing_agents import WritingClaude

DAY = 86_400
OTHER = "99999999-2222-4333-8444-555555555555"


def transcript(home: Path, *, days: float, session: str = SESSION, text: str = "hello") -> Path:
    """A transcript of Claude Code that was changed so many days ago."""
    claude = WritingClaude(home, session)
    claude.asks(text)
    claude.says("good day")
    then = time.time() - days * DAY
    os.utime(claude.path, (then, then))
    return claude.path


def settings(home: Path, **values: Any) -> None:
    path = home / ".claude/settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(values), encoding="utf-8")


async def measured(peer: Peer, agent: str = "claude-code") -> dict[str, Any]:
    [found] = [row for row in (await peer.call("storage/agents"))["agents"] if row["agent"] == agent]
    return dict(found)


async def deletion(peer: Peer) -> tuple[int, int, list[str]]:
    found = (await measured(peer))["deletion"]
    return found["dueCount"], found["missingCount"], found["missing"]


async def followed(daemon: Running) -> Peer:
    peer = await daemon.attach()
    await peer.call("agent/follow", agents=["claude-code"], workDoneToken="all")
    return peer


async def test_only_agents_with_files_are_listed(agents_home: Path, tmp_path: Path) -> None:
    transcript(agents_home, days=1)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        assert [row["agent"] for row in (await peer.call("storage/agents"))["agents"]] == ["claude-code"]


async def test_all_files_of_a_folder_count_and_session_files_apart(agents_home: Path, tmp_path: Path) -> None:
    path = transcript(agents_home, days=40)
    beside = path.parent / SESSION / "tool-results" / "out.txt"
    beside.parent.mkdir(parents=True)
    beside.write_bytes(b"x" * 70_000)
    (path.parent / "link").symlink_to("/usr")
    async with running(tmp_path / "home") as daemon:
        found = await measured(await daemon.attach())
    assert (found["fileCount"], found["sessionBytes"]) == (1, path.stat().st_size)
    assert found["otherBytes"] == 70_000
    assert found["recentBytes"] == 70_000
    assert not found["isFollowed"]
    assert found["folders"] == [str(agents_home / ".claude/projects")]


async def test_files_that_will_go_within_a_week_are_due(agents_home: Path, tmp_path: Path) -> None:
    transcript(agents_home, days=22, session=OTHER)
    old = transcript(agents_home, days=24)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        assert await deletion(peer) == (1, 1, [str(old)])
        settings(agents_home, cleanupPeriodDays=365)
        assert await deletion(peer) == (0, 0, [])


async def test_a_file_that_was_read_is_here_and_one_that_was_written_since_is_not(
    agents_home: Path, tmp_path: Path
) -> None:
    path = transcript(agents_home, days=40)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        await peer.call("session/import", path=str(path))
        assert await deletion(peer) == (1, 0, [])
        with path.open("ab") as file:
            file.write(b'{"type":"user"}\n')
        os.utime(path, (1_000_000_000, 1_000_000_000))
        assert await deletion(peer) == (1, 1, [str(path)])
        await followed(daemon)
        assert await deletion(peer) == (1, 0, [])


async def test_the_doctor_notes_what_an_agent_that_is_not_followed_will_delete(
    agents_home: Path, tmp_path: Path
) -> None:
    path = transcript(agents_home, days=40)
    async with running(tmp_path / "home") as daemon:
        [found] = await findings(await daemon.attach(), "agentWillDelete")
        assert (found["severity"], found["location"]["path"]) == ("note", str(path))
        assert await findings(await followed(daemon), "agentWillDelete") == []


async def test_the_doctor_warns_of_what_a_followed_agent_will_delete_before_it_is_read(
    agents_home: Path, tmp_path: Path
) -> None:
    transcript(agents_home, days=40)
    locations = find_locations({"SESSIOND_HOME": str(tmp_path / "home")})
    scope = Scope(locations, Config(agents=AgentsConfig(follow=("claude-code",))))
    for _ in examine(scope):
        pass
    assert ("agentWillDelete", "warning") in {(one.finding.kind, one.finding.severity) for one in scope.found}


async def test_the_doctor_names_giant_files(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = transcript(agents_home, days=1)
    monkeypatch.setattr("sessiond.hub.doctor.agent_files.GIANT_BYTES", path.stat().st_size)
    async with running(tmp_path / "home") as daemon:
        [found] = await findings(await followed(daemon), "giantAgentFile")
    assert found["location"]["path"] == str(path)


async def test_the_doctor_warns_of_a_disk_that_will_be_full_in_a_month(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = transcript(agents_home, days=1, text="x" * 30_000)
    free = [path.stat().st_size * 100]
    monkeypatch.setattr("sessiond.hub.doctor.growth.free_bytes", lambda folder: free[0])
    monkeypatch.setattr("sessiond.hub.doctor.growth.LOW_BYTES", 0)
    async with running(tmp_path / "home") as daemon:
        peer = await followed(daemon)
        assert await findings(peer, "diskFullSoon") == []
        free[0] = path.stat().st_size - 1
        [found] = await findings(peer, "diskFullSoon")
        os.utime(path, (1_000_000_000, 1_000_000_000))
        assert await findings(peer, "diskFullSoon") == []
    assert found["severity"] == "warning"


async def findings(peer: Peer, kind: str) -> list[dict[str, Any]]:
    found = (await peer.call("server/doctor"))["findings"]
    return [finding for finding in found if finding["kind"] == kind]
