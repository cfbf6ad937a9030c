"""A folder without sessions may have been renamed: its former name is suggested, and no session is moved."""

from pathlib import Path
from typing import Any

import pytest

from support.daemons import Peer, Running, assistant, user
from support.shared import terminal


async def talked(peer: Peer, cwd: Path, **params: Any) -> str:
    """A session of a folder that is there; its id."""
    cwd.mkdir(parents=True, exist_ok=True)
    name: str = (await peer.call("session/create", cwd=str(cwd), **params))["session"]["sessionId"]
    await peer.append(name, user("hello"), assistant("hi"))
    return name


async def former(peer: Peer, cwd: Path, **params: Any) -> list[dict[str, Any]]:
    went = await peer.call("session/continue", cwd=str(cwd), **params)
    found: list[dict[str, Any]] = went["formerFolders"]
    return found


async def test_a_folder_that_was_renamed_is_offered_and_its_sessions_can_be_moved(
    memory: Running, tmp_path: Path
) -> None:
    peer = await memory.attach()
    old, new = tmp_path / "old", tmp_path / "new"
    names = [await talked(peer, old) for _ in range(2)]
    old.rename(new)
    [found] = await former(peer, new)
    assert (found["cwd"], sorted(found["sessionIds"])) == (str(old), sorted(names))
    assert (await peer.call("session/info", sessionId=names[0]))["session"]["cwd"] == str(old)
    await peer.call("session/move", sessionId=found["sessionIds"][0], cwd=str(new))
    assert (await peer.call("session/list", cwd=str(new), withTotal=True))["totalCount"] == 1


async def test_a_folder_of_the_same_name_is_likelier_than_one_beside_it(
    memory: Running, tmp_path: Path
) -> None:
    peer = await memory.attach()
    await talked(peer, tmp_path / "b" / "other")
    await talked(peer, tmp_path / "a" / "project")
    (tmp_path / "b" / "other").rmdir()
    (tmp_path / "a" / "project").rmdir()
    assert [item["cwd"] for item in await former(peer, tmp_path / "b" / "project")] == [
        str(tmp_path / "a/project")
    ]


async def test_the_folder_of_the_breadcrumb_is_suggested_first(
    memory: Running, tmp_path: Path, cwd: str
) -> None:
    peer = await memory.attach()
    where = terminal("pane", cwd=cwd) | {"cwd": str(tmp_path / "far")}
    await talked(peer, tmp_path / "far", terminal=where)
    await talked(peer, tmp_path / "a" / "project")
    (tmp_path / "far").rmdir()
    (tmp_path / "a" / "project").rmdir()
    found = await former(
        peer, tmp_path / "b" / "project", terminal=where | {"cwd": str(tmp_path / "b/project")}
    )
    assert [session["cwd"] for session in found] == [str(tmp_path / "far")]


@pytest.mark.parametrize("reason", ["there", "several", "draft"])
async def test_an_unlikely_folder_is_not_suggested(memory: Running, tmp_path: Path, reason: str) -> None:
    peer = await memory.attach()
    if reason == "draft":
        await peer.call("session/create", cwd=str(tmp_path / "old"))
    else:
        await talked(peer, tmp_path / "old")
    if reason == "several":
        await talked(peer, tmp_path / "older")
        (tmp_path / "older").rmdir()
        (tmp_path / "old").rmdir()
    assert await former(peer, tmp_path / "new") == []


async def test_a_folder_with_sessions_has_no_need_of_a_former_one(memory: Running, tmp_path: Path) -> None:
    peer = await memory.attach()
    await talked(peer, tmp_path / "old")
    (tmp_path / "old").rmdir()
    await talked(peer, tmp_path / "new")
    assert await former(peer, tmp_path / "new") == []
