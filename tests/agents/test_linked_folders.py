"""Folders of agents that are symbolic links: each folder is read once, wherever it is."""

from pathlib import Path
from typing import Any

import pytest

from sessiond.agents import folder_walk
from sessiond.hub.following import agent_watches, follower
from support.daemons import Peer, running
from support.following import has, texts
from support.writing_agents import WritingClaude

OTHER = "99999999-2222-4333-8444-555555555555"


async def following(peer: Peer) -> dict[str, Any]:
    """Follow Claude Code. Returns the reasons why paths are left out, by their names."""
    await peer.call("agent/follow", agents=["claude-code"], workDoneToken="first")
    agents = (await peer.call("agent/list"))["agents"]
    [agent] = [agent for agent in agents if agent["name"] == "claude-code"]
    return {Path(problem["path"]).name: problem["message"] for problem in agent["problems"]}


async def count(peer: Peer) -> int:
    return len((await peer.call("session/list", includeDrafts=True))["sessions"])


async def test_a_project_folder_elsewhere_is_followed_once(agents_home: Path, tmp_path: Path) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    project = claude.path.parent
    (outside := tmp_path / "disk").mkdir()
    (moved := outside / "moved").mkdir()
    project.rename(moved / "project")
    project.symlink_to(moved / "project")
    (project.parent / "second").symlink_to(moved / "project")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        assert await following(peer) == {}
        assert (await count(peer), await texts(peer)) == (1, ["hello"])
        claude.says("added")
        await has(peer, "added")
        assert await texts(peer) == ["hello", "added"]
        other = WritingClaude(agents_home, OTHER, project=project.name)
        other.asks("a new file")
        await has(peer, "a new file", OTHER)
        assert await following(peer) == {}
        assert await count(peer) == 2


async def test_changes_in_a_linked_folder_are_found_without_a_watch(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_watches.AgentWatches, "watch", lambda *_: False)
    monkeypatch.setattr(follower, "POLL_SECONDS", 0.2)
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    project = claude.path.parent
    project.rename(tmp_path / "moved")
    project.symlink_to(tmp_path / "moved")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        assert await following(peer) == {}
        claude.says("added")
        await has(peer, "added")


async def test_links_to_what_is_read_otherwise_give_no_copy_and_loops_end(
    agents_home: Path, tmp_path: Path
) -> None:
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    project = claude.path.parent
    (project.parent / "a-copy").symlink_to(project)
    (project.parent / "z-copy").symlink_to(project)
    (project / "up").symlink_to(project.parent)
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        assert await following(peer) == {}
        assert (await count(peer), await texts(peer)) == (1, ["hello"])
        claude.says("added")
        await has(peer, "added")
        assert (await following(peer), await count(peer)) == ({}, 1)


async def test_a_link_that_leads_nowhere_or_above_is_named_and_stops_nothing(
    agents_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_walk, "MAX_LINKED_FOLDERS", 3)
    claude = WritingClaude(agents_home)
    claude.asks("hello")
    projects = claude.path.parent.parent
    (projects / "gone").symlink_to(tmp_path / "nowhere")
    (projects / "itself").symlink_to(projects / "itself")
    (projects / "above").symlink_to(agents_home)
    for number in range(5):
        (tmp_path / f"large/{number}").mkdir(parents=True)
    (projects / "large").symlink_to(tmp_path / "large")
    async with running(tmp_path / "home") as daemon:
        peer = await daemon.attach()
        assert await following(peer) == {
            "gone": folder_walk.LEADS_NOWHERE,
            "itself": folder_walk.LEADS_NOWHERE,
            "above": folder_walk.LINK,
            "large": folder_walk.TOO_MANY_FOLDERS,
        }
        assert await texts(peer) == ["hello"]
        assert (projects / "gone").readlink() == tmp_path / "nowhere"
