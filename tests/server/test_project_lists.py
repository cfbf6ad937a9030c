"""Lists, searches, watches and session/continue for a project: all folders of a repository of git."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from hub.test_projects import below, git, needs_git, repository
from support.daemons import Peer, Running, assistant, user
from support.watched_lists import watching

pytestmark = needs_git


async def session(peer: Peer, cwd: Path, text: str = "hello") -> str:
    created = await peer.call("session/create", cwd=str(cwd))
    name = str(created["session"]["sessionId"])
    await peer.call("session/append", sessionId=name, entries=[user(text), assistant("yes")])
    return name


async def listed(peer: Peer, **params: Any) -> set[str]:
    return {row["sessionId"] for row in (await peer.call("session/list", **params))["sessions"]}


async def test_a_project_is_listed_from_each_of_its_folders(memory: Running, tmp_path: Path) -> None:
    root = repository(tmp_path / "atlas")
    git(root, "worktree", "add", "-q", str(tmp_path / "feature"))
    peer = await memory.attach()
    at_root = await session(peer, root)
    in_folder = await session(peer, below(root, "src"))
    in_worktree = await session(peer, tmp_path / "feature")
    other = await session(peer, below(tmp_path, "other"))
    ours = {at_root, in_folder, in_worktree}
    for place in (root, root / "src", below(root, "docs"), tmp_path / "feature"):
        assert await listed(peer, project=str(place)) == ours
    assert await listed(peer, cwd=str(root)) == {at_root}
    assert await listed(peer, project=str(tmp_path / "other")) == {other}
    assert await listed(peer) == ours | {other}


async def test_a_search_is_limited_to_a_project(memory: Running, tmp_path: Path) -> None:
    root = repository(tmp_path / "atlas")
    peer = await memory.attach()
    ours = await session(peer, below(root, "src"), "a quokka")
    await session(peer, below(tmp_path, "other"), "a quokka")
    found = await peer.call("session/search", query="quokka", project=str(root), waitMs=10_000)
    assert [hit["sessionId"] for hit in found["hits"]] == [ours]


async def test_a_watch_of_a_project_receives_sessions_of_its_folders(memory: Running, tmp_path: Path) -> None:
    root = repository(tmp_path / "atlas")
    peer = await memory.attach()
    watched = await watching(peer, project=str(root))
    await session(peer, below(tmp_path, "other"))
    ours = await session(peer, below(root, "src"))
    await watched.until(lambda item: list(item.rows) == [ours])


async def test_a_folder_becomes_a_project_when_a_repository_is_made(memory: Running, tmp_path: Path) -> None:
    root = below(tmp_path, "atlas")
    peer = await memory.attach()
    at_root, in_folder = await session(peer, root), await session(peer, below(root, "src"))
    assert await listed(peer, project=str(root / "src")) == {in_folder}
    git(root, "init", "-q")
    assert await listed(peer, project=str(root / "src")) == {at_root, in_folder}


async def test_sessions_of_a_worktree_that_was_removed_stay_with_their_project(
    memory: Running, tmp_path: Path
) -> None:
    root = repository(tmp_path / "atlas")
    git(root, "worktree", "add", "-q", str(tmp_path / "feature"))
    peer = await memory.attach()
    name = await session(peer, tmp_path / "feature")
    assert await listed(peer, project=str(root)) == {name}
    shutil.rmtree(tmp_path / "feature")
    assert await listed(peer, project=str(root)) == {name}
    assert await listed(peer, project=str(tmp_path / "feature")) == {name}


async def test_a_project_that_was_moved_is_found_again(memory: Running, tmp_path: Path) -> None:
    root = repository(tmp_path / "atlas")
    peer = await memory.attach()
    names = {await session(peer, root), await session(peer, below(root, "src"))}
    assert await listed(peer, project=str(root)) == names
    moved = root.rename(tmp_path / "renamed")
    assert await listed(peer, project=str(moved)) == names
    assert await listed(peer, project=str(moved / "src")) == names


@pytest.mark.parametrize("project", [True, False])
async def test_a_session_of_another_folder_of_the_project_is_continued_if_asked_for(
    memory: Running, tmp_path: Path, project: bool
) -> None:
    root = repository(tmp_path / "atlas")
    peer = await memory.attach()
    name = await session(peer, root)
    found = await peer.call("session/continue", cwd=str(below(root, "src")), project=project)
    assert (found["session"]["sessionId"] == name) is project
    assert found["created"] is not project


async def test_a_session_of_the_folder_itself_is_continued_first(memory: Running, tmp_path: Path) -> None:
    root = repository(tmp_path / "atlas")
    peer = await memory.attach()
    own = await session(peer, below(root, "src"))
    await session(peer, root)
    found = await peer.call("session/continue", cwd=str(root / "src"), project=True)
    assert found["session"]["sessionId"] == own
