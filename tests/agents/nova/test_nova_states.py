"""A file of NOVA is read, and followed, as the state that it has now."""

import json  # noqa: TID251 - files of other programs are written as they write them
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from support.daemons import Peer, Running, running
from support.following import until

SESSION = "11111111-2222-4333-8444-555555555555"


def write(file: Path, plan: str, **more: Any) -> None:
    """NOVA saves a session."""
    state = {
        "session_id": SESSION, "created_at": "2025-01-01T00:00:00", "last_updated": "2025-01-01T01:00:00",
        "model": "one", "current_plan": plan, "key_decisions": [], "latest_artifacts": {}, "tags": [], **more,
    }  # fmt: skip
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(state), encoding="utf-8")


@pytest.fixture
async def memory(tmp_path: Path, agents_home: Path) -> AsyncIterator[Running]:
    async with running(tmp_path / "home") as daemon:
        yield daemon


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "heron" / ".nova" / "sessions" / f"{SESSION}.json"


async def read(peer: Peer, file: Path, **more: Any) -> dict[str, Any]:
    [session] = (await peer.call("session/import", path=str(file), **more))["sessions"]
    return dict(session)


async def state(peer: Peer, session: str) -> dict[str, Any]:
    found = (await peer.call("session/export", sessionId=session, format="nova"))["text"]
    return dict(json.loads(found))


async def test_a_file_that_changed_is_the_state_of_its_session(memory: Running, file: Path) -> None:
    peer = await memory.attach()
    write(file, "look for herons", turn_count=2)
    session = (await read(peer, file))["sessionId"]
    for plan, turns in (("count the herons", 5), ("look for herons", 2), ("draw a heron", 9)):
        write(
            file, plan, turn_count=turns, key_decisions=[{"decision": plan, "rationale": "r"}] * (turns > 2)
        )
        assert (await read(peer, file))["status"] == "grown"
        assert (await read(peer, file))["status"] == "unchanged"
        found = await state(peer, session)
        assert (found["current_plan"], found["turn_count"]) == (plan, turns)
        assert len(found["key_decisions"]) == (turns > 2)


async def test_a_name_that_was_given_here_does_not_keep_an_old_state(memory: Running, file: Path) -> None:
    peer = await memory.attach()
    write(file, "look for herons")
    session = (await read(peer, file))["sessionId"]
    await peer.call("session/rename", sessionId=session, title="Herons")
    write(file, "count the herons")
    await read(peer, file)
    assert (await state(peer, session))["current_plan"] == "count the herons"


async def test_work_that_was_done_here_stays(memory: Running, file: Path) -> None:
    peer = await memory.attach()
    write(file, "look for herons")
    session = (await read(peer, file))["sessionId"]
    await peer.call("state/update", sessionId=session, plan="look for owls")
    write(file, "count the herons")
    assert (await read(peer, file))["status"] == "grown"
    assert (await state(peer, session))["current_plan"] == "look for owls"


async def test_the_project_is_the_folder_with_the_folder_of_nova(memory: Running, file: Path) -> None:
    peer = await memory.attach()
    write(file, "look for herons")
    session = await read(peer, file)
    info = (await peer.call("session/info", sessionId=session["sessionId"]))["session"]
    assert (info["cwd"], session["problems"]) == (str(file.parents[2]), [])


async def test_a_folder_that_a_later_import_names_is_that_of_the_session(
    memory: Running, tmp_path: Path
) -> None:
    peer = await memory.attach()
    write(tmp_path / "state.json", "look for herons")
    session = (await read(peer, tmp_path / "state.json"))["sessionId"]
    assert (await peer.call("session/info", sessionId=session))["session"]["cwd"] == ""
    await read(peer, tmp_path / "state.json", cwd="/work/heron")
    info = (await peer.call("session/info", sessionId=session))["session"]
    assert info["cwd"] == "/work/heron"
    [listed] = (await peer.call("session/list", cwd="/work/heron"))["sessions"]
    assert listed["sessionId"] == session


async def test_the_sessions_of_nova_are_followed(memory: Running, agents_home: Path) -> None:
    peer = await memory.attach()
    file = agents_home / ".nova" / "sessions" / f"{SESSION}.json"
    write(file, "look for herons")
    await peer.call("agent/follow", agents=["nova"], workDoneToken="first")
    assert (await state(peer, SESSION))["current_plan"] == "look for herons"
    write(file, "count the herons")

    async def is_new() -> bool:
        return bool((await state(peer, SESSION))["current_plan"] == "count the herons")

    await until(is_new)
