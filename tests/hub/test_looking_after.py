"""The work of the hub by itself: it closes unused sessions, trashes old drafts, and ends in order."""

import asyncio
import os
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from sessiond.hub import upkeep
from sessiond.hub.hub import Hub
from sessiond.hub.session.live import LiveSession
from sessiond.hub.upkeep import IDLE_SECONDS, MAX_IDLE_SESSIONS
from sessiond.store.errors import StorageFailed
from support import logs
from support.daemons import Running, assistant, refusal, running, user
from support.disk import Disk
from support.shared import started


def inside(daemon: Running) -> Hub:
    assert daemon.hub is not None
    return daemon.hub


def the(daemon: Running, session_id: str) -> LiveSession:
    live = inside(daemon).sessions.cached(session_id)
    assert live is not None
    return live


def aged(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


# --- letting go --------------------------------------------------------------------------------------------


async def test_a_session_that_nobody_uses_is_let_go_of_and_found_again(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1"), assistant("2"))
    the(memory, session_id).used_at -= IDLE_SECONDS + 1
    await inside(memory).upkeep.sweep()
    assert inside(memory).sessions.all()
    await peer.call("session/close", sessionId=session_id)
    the(memory, session_id).used_at -= IDLE_SECONDS + 1
    await inside(memory).upkeep.sweep()
    assert not inside(memory).sessions.all()
    assert (await peer.append(session_id, user("3")))["lastSeq"] == 3


async def test_of_many_sessions_that_no_client_has_open_only_the_last_used_stay_open(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The daemon sweeps each second, too. On a busy machine, it must not close any before all are there.
    monkeypatch.setattr(upkeep, "LEAST_IDLE_SECONDS", 300.0)
    peer = await memory.attach()
    count = MAX_IDLE_SESSIONS + 6
    for number in range(count):
        await peer.call("session/create", cwd=cwd, id=f"session-{number:03}")
        await peer.append(f"session-{number:03}", user("needle"), assistant("yes"))
        if number != 1:
            await peer.call("session/close", sessionId=f"session-{number:03}")
    for number in range(count):
        the(memory, f"session-{number:03}").used_at -= 500 - number
    await inside(memory).upkeep.sweep()
    stay = sorted(session.session_id for session in inside(memory).sessions.all())
    assert stay == ["session-001", *(f"session-{number:03}" for number in range(6, count))]
    assert (await peer.call("session/list", limit=1000, withTotal=True))["totalCount"] == count
    assert len((await peer.call("session/search", query="needle", limit=100))["hits"]) == count


async def test_a_session_that_long_work_reads_stays_open(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1"), assistant("2"))
    await peer.call("session/close", sessionId=session_id)
    live = the(memory, session_id)
    live.used_at -= IDLE_SECONDS + 1

    working = asyncio.create_task(live.drive(_held(hold := [True])))
    await asyncio.sleep(0)
    await inside(memory).upkeep.sweep()
    assert inside(memory).sessions.all() == [live]
    hold[0] = False
    await working
    live.used_at -= IDLE_SECONDS + 1
    await inside(memory).upkeep.sweep()
    assert inside(memory).sessions.all() == []


def _held(hold: list[bool]) -> Generator[None, None, None]:
    """Work that goes on for as long as `hold` says so."""
    while hold[0]:
        yield


@pytest.mark.parametrize("why", ["watched", "ephemeral"])
async def test_a_session_that_somebody_may_want_is_kept(memory: Running, cwd: str, why: str) -> None:
    peer, session_id = await started(memory, cwd, ephemeral=why == "ephemeral")
    await peer.append(session_id, user("1"), assistant("2"))
    await peer.call("session/close", sessionId=session_id)
    if why == "watched":
        await peer.call("session/subscribe", sessionId=session_id)
    the(memory, session_id).used_at -= IDLE_SECONDS + 1
    await inside(memory).upkeep.sweep()
    assert inside(memory).sessions.all()


async def test_a_replaced_file_that_nobody_holds_is_let_go_of(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1"))
    await peer.append(session_id, assistant("2"))
    await peer.call("session/close", sessionId=session_id)
    await peer.call("session/subscribe", sessionId=session_id)
    path = memory.files()[0]
    path.write_bytes(path.read_bytes()[:-20])
    await inside(memory).upkeep.sweep()
    assert not inside(memory).sessions.all()
    await peer.until(lambda client: bool(client.told("session/lagged")))
    assert (await peer.call("session/info", sessionId=session_id))["session"]["entryCount"] == 1


async def test_a_session_that_cannot_be_looked_after_keeps_no_other_from_it(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer, bad_id = await started(memory, cwd)
    _, good_id = await started(memory, cwd)
    await peer.append(good_id, user("1"), assistant("2"))

    def refuse() -> int:
        raise StorageFailed("nothing goes")

    monkeypatch.setattr(the(memory, bad_id).log, "foreign_bytes", refuse)
    path = memory.files()[0]
    with path.open("ab") as file:
        file.write(b'{"type":"custom","customType":"x","id":"f","parentId":null}\n')
    await inside(memory).upkeep.sweep()
    assert the(memory, good_id).tree.seq == 3


# --- drafts ------------------------------------------------------------------------------------------------


async def test_drafts_that_nobody_answered_go_to_the_trash_when_they_are_old(
    tmp_path: Path, cwd: str
) -> None:
    async with running(tmp_path) as daemon:
        for name in ("old-one-1", "new-one-1"):
            peer, _ = await started(daemon, cwd, id=name)
            await peer.append(name, user(name))
    for path in daemon.files("drafts"):
        if "old-one" in path.name:
            aged(path, 1000)
    async with running(tmp_path) as daemon:
        assert await inside(daemon).repairs.trash_old_drafts(500) == 1
        assert [path.name[-15:] for path in daemon.files("drafts")] == ["new-one-1.jsonl"]
        [trashed] = daemon.files("trash")
        assert b"old-one-1" in trashed.read_bytes()


async def test_a_draft_that_is_open_is_not_trashed_however_old(memory: Running, cwd: str) -> None:
    await started(memory, cwd)
    aged(memory.files("drafts")[0], 1000)
    assert await inside(memory).repairs.trash_old_drafts(500) == 0
    assert memory.files("drafts")


async def test_a_draft_that_another_program_answered_is_a_session(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, user("1"))
        [path] = daemon.files("drafts")
        answer = logs.log(logs.assistant("foreign", id="f", parent=None))
        with path.open("ab") as file:
            file.write(answer)
        await peer.until(lambda client: client.seqs() == [1, 2])
        session = (await peer.call("session/info", sessionId=session_id))["session"]
        assert session["isDraft"] is False
        assert await peer.call("session/close", sessionId=session_id) == {
            "clientCount": 0,
            "trashId": None,
            "trashPath": None,
        }
    [path] = [*daemon.files("drafts"), *daemon.files("sessions")]
    aged(path, 1000)
    async with running(tmp_path) as daemon:
        assert await inside(daemon).repairs.trash_old_drafts(500) == 0
        peer = await daemon.attach()
        assert [listed["sessionId"] for listed in (await peer.call("session/list"))["sessions"]] == [
            session_id
        ]


async def test_a_draft_that_cannot_be_trashed_stays_and_is_found(tmp_path: Path, cwd: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, user("1"))
        disk.refuse("fsync")
        assert (await refusal(peer.call("session/close", sessionId=session_id))).kind == "storageFailed"
        disk.allow("fsync")
        found = (await peer.call("session/open", sessionId=session_id))["session"]
        assert found["firstPrompt"] == "1"


# --- the end -----------------------------------------------------------------------------------------------


async def test_the_end_is_orderly_where_the_disk_refuses_and_says_so(tmp_path: Path, cwd: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, first = await started(daemon, cwd)
        _, second = await started(daemon, cwd)
        for session_id in (first, second):
            await peer.append(session_id, user("1"), assistant("2"), durability="written")
        disk.refuse("fdatasync")
        disk.refuse("fsync")
        with pytest.raises(StorageFailed):
            await inside(daemon).close()
        assert not inside(daemon).sessions.all()
    assert peer.is_closed.is_set()
    async with running(tmp_path) as daemon:
        assert len((await (await daemon.attach()).call("session/list"))["sessions"]) == 2
