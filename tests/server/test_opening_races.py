"""Asking for a session while it is created, promoted or closed: the session is answered, or that it is not there."""

import asyncio
import random
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.index.listing import IndexedIds
from support.daemons import Peer, Refused, Running, assistant, refusal, running, user
from support.disk import Disk
from support.shared import started

NOT_THERE = ("sessionNotFound", "sessionTrashed")
ASKING = ("session/open", "session/subscribe", "session/info", "session/entries", "session/close", "path")


async def outcome(call: Coroutine[Any, Any, Any]) -> str:
    try:
        await call
    except Refused as refused:
        return refused.kind
    return "answered"


async def ask(peer: Peer, home: Path, session_id: str, chance: random.Random) -> list[str]:
    """Ask for a session in several ways, beginning at any moment of its creation."""
    found = []
    for _ in range(chance.choice((0, 1, 3, 6, 12, 24))):
        await asyncio.sleep(0)
    for _ in range(chance.choice((1, 2, 4))):
        method = chance.choice(ASKING)
        path = next(home.glob(f"data/drafts/*/*{session_id}.jsonl"), None)
        if method != "path":
            found.append(await outcome(peer.call(method, sessionId=session_id)))
        elif path is not None:
            found.append(await outcome(peer.call("session/open", path=str(path))))
    return found


@pytest.mark.parametrize("seed", range(6))
async def test_a_session_is_there_for_its_creator_and_there_or_not_found_for_others(
    tmp_path: Path, cwd: str, seed: int
) -> None:
    chance = random.Random(seed)
    async with running(tmp_path) as daemon:
        creator, *others = [await daemon.attach() for _ in range(6)]

        async def create(session_id: str) -> None:
            await creator.call("session/create", cwd=cwd, id=session_id)
            await creator.call("session/info", sessionId=session_id)
            if chance.random() < 0.6:
                await creator.append(session_id, assistant("promotes"))
            else:
                await creator.append(session_id, user("stays a draft"))

        for number in range(20):
            session_id = f"race-session-{number}"
            creating = asyncio.create_task(create(session_id))
            found = await asyncio.gather(*(ask(peer, tmp_path, session_id, chance) for peer in others))
            await creating
            assert {kind for each in found for kind in each} <= {"answered", *NOT_THERE}


async def test_a_session_that_is_opened_by_the_path_it_had_as_a_draft_is_one_session(
    tmp_path: Path, cwd: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        [draft] = daemon.files("drafts")
        others = [await daemon.attach() for _ in range(4)]
        promoting = asyncio.create_task(peer.append(session_id, assistant("promotes")))
        opening = [outcome(other.call("session/open", path=str(draft))) for other in others]
        assert set(await asyncio.gather(*opening)) <= {"answered", *NOT_THERE}
        await promoting
        assert len(daemon.inside.hub.sessions.all()) == 1


async def test_a_request_for_a_session_whose_creation_the_disk_refuses_fails_as_not_found(
    tmp_path: Path, cwd: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        creator, other = await daemon.attach(), await daemon.attach()
        disk.refuse("write")
        creating = asyncio.create_task(refusal(creator.call("session/create", cwd=cwd, id="never-made")))
        asked = asyncio.create_task(refusal(other.call("session/info", sessionId="never-made")))
        assert (await creating).kind == "storageFailed"
        assert (await asked).kind == "sessionNotFound"


async def test_two_clients_that_create_the_same_session_get_one_session_between_them(
    memory: Running, cwd: str
) -> None:
    first, second = await memory.attach(), await memory.attach()
    made = await asyncio.gather(
        outcome(first.call("session/create", cwd=cwd, id="made-twice")),
        outcome(second.call("session/create", cwd=cwd, id="made-twice")),
    )
    assert sorted(made) == ["alreadyExists", "answered"]


async def test_a_copy_of_an_open_session_is_refused_as_one(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, assistant("x"))
    [path] = memory.files()
    copy = memory.home / "copy.jsonl"
    copy.write_bytes(path.read_bytes())
    assert (await refusal(peer.call("session/open", path=str(copy)))).kind == "alreadyExists"
    link = memory.home / "link.jsonl"
    link.symlink_to(path)
    assert (await peer.call("session/open", path=str(link)))["session"]["sessionId"] == session_id


async def test_a_trashed_session_is_reported_as_trashed_although_the_index_has_its_former_path(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer, session_id = await started(memory, cwd)
    draft = (await peer.call("session/info", sessionId=session_id))["session"]["path"]
    await peer.append(session_id, user("1"), assistant("2"))  # moves the file out of the drafts
    await peer.call("session/delete", sessionId=session_id)

    async def find_by_id(_session_id: str, *, min_prefix: int) -> IndexedIds:
        return IndexedIds({session_id: draft}, [])

    assert memory.hub is not None
    monkeypatch.setattr(memory.hub.index, "find_by_id", find_by_id)
    refused = await refusal(peer.call("session/info", sessionId=session_id))
    assert refused.kind == "sessionTrashed"
