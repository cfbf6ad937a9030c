"""Messages that a client sends in one piece are one unit from placing to reply (decision 0047)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.columns import entries_of
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.disk import Disk
from support.patience import BOUND
from support.shared import started


async def session_of(daemon: Running, cwd: str) -> tuple[Peer, str]:
    """A session whose file is in the sessions folder, so that its messages are appended in groups."""
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, assistant("ready"))
    return peer, session_id


def send(peer: Peer, session_id: str, *texts: str, durability: str = "written") -> list[asyncio.Future[Any]]:
    """Send one request for each text now, all in one piece."""
    return [
        peer.send("session/append", sessionId=session_id, entries=[user(text)], durability=durability)
        for text in texts
    ]


async def texts(peer: Peer, session_id: str) -> list[str]:
    found = entries_of(await peer.call("session/path", sessionId=session_id))
    return [entry["message"]["content"] for entry in found[1:]]


async def test_messages_to_two_sessions_in_one_piece_keep_their_order_in_each(
    memory: Running, cwd: str
) -> None:
    peer, first = await session_of(memory, cwd)
    second = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    await peer.append(second, assistant("ready"))
    sent = []
    for number in range(20):
        sent += send(peer, first if number % 3 else second, f"{number}")
    await asyncio.gather(*sent)
    assert await texts(peer, first) == [f"{number}" for number in range(20) if number % 3]
    assert await texts(peer, second) == [f"{number}" for number in range(20) if not number % 3]


async def test_messages_of_different_durability_in_one_piece_keep_their_order(
    tmp_path: Path, cwd: str
) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await session_of(daemon, cwd)
        sent = []
        for number in range(20):
            sent += send(peer, session_id, f"{number}", durability="synced" if number % 3 else "written")
        results = await asyncio.gather(*sent)
        assert [result["lastSeq"] for result in results] == list(range(2, 22))
        assert await texts(peer, session_id) == [f"{number}" for number in range(20)]


async def test_each_message_of_a_piece_has_the_one_before_it_as_its_parent(memory: Running, cwd: str) -> None:
    peer, session_id = await session_of(memory, cwd)
    await asyncio.gather(*send(peer, session_id, *(f"{number}" for number in range(100))))
    stored = entries_of(await peer.call("session/entries", sessionId=session_id))
    assert [entry["parentId"] for entry in stored[1:]] == [entry["id"] for entry in stored[:-1]]
    assert len({entry["id"] for entry in stored}) == 101


async def test_a_request_behind_messages_of_the_same_piece_sees_all_of_them(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await session_of(memory, cwd)
    send(peer, session_id, "a", "b", "c")
    read = peer.send("session/path", sessionId=session_id)
    send(peer, session_id, "d")
    async with asyncio.timeout(BOUND):
        found = entries_of(await read)
    assert [entry["message"]["content"] for entry in found[1:]] == ["a", "b", "c"]


async def test_messages_to_a_closed_session_open_it_and_keep_their_order(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await session_of(daemon, cwd)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        await asyncio.gather(*send(peer, session_id, *(f"{number}" for number in range(10))))
        assert await texts(peer, session_id) == [f"{number}" for number in range(10)]


async def test_messages_before_a_drain_in_the_same_piece_are_stored_and_those_behind_it_are_refused(
    tmp_path: Path, cwd: str
) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await session_of(daemon, cwd)
        before = send(peer, session_id, "a", "b", durability="synced")
        drain = peer.send("server/drain")
        behind = send(peer, session_id, "c", "d")
        results = await asyncio.gather(*before, drain)
        assert [result["lastSeq"] for result in results[:2]] == [2, 3]
        assert [(await refusal(request)).kind for request in behind] == ["draining", "draining"]
        (path,) = daemon.files()
        assert path.read_bytes().count(b"\n") == 4


async def test_messages_of_a_client_that_leaves_behind_them_are_stored(memory: Running, cwd: str) -> None:
    peer, session_id = await session_of(memory, cwd)
    send(peer, session_id, "a", "b", "c")
    peer.connection.close()
    other = await memory.attach()
    async with asyncio.timeout(BOUND):
        while await texts(other, session_id) != ["a", "b", "c"]:
            pass


@pytest.mark.parametrize("fails", [False, True])
async def test_no_message_of_a_piece_is_counted_as_in_flight_after_its_response(
    tmp_path: Path, cwd: str, *, fails: bool
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await session_of(daemon, cwd)
        budget = daemon.inside.memory_budget
        if fails:
            disk.refuse("write", 1)
        sent = send(peer, session_id, *(f"{number}" for number in range(100)))
        await asyncio.gather(*sent, return_exceptions=True)
        assert budget.requests == 0
        assert budget.incoming.taken == 0


async def test_a_failed_write_loses_all_messages_of_a_piece_and_the_next_piece_goes_on_behind_the_last_leaf(
    tmp_path: Path, cwd: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await session_of(daemon, cwd)
        disk.refuse("write", 1)
        lost = send(peer, session_id, "lost", "too")
        assert [(await refusal(request)).kind for request in lost] == ["storageFailed", "storageFailed"]
        results = await asyncio.gather(*send(peer, session_id, "a", "b"))
        assert [result["lastSeq"] for result in results] == [2, 3]
        assert await texts(peer, session_id) == ["a", "b"]


async def test_responses_name_the_places_of_messages_between_which_another_program_wrote(
    tmp_path: Path, cwd: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await session_of(daemon, cwd)
        (path,) = daemon.files()

        def write_as_another_program() -> None:
            with path.open("ab") as file:
                file.write(
                    b'{"type":"custom","customType":"other","id":"f0e1gn","parentId":null,"timestamp":"t"}\n'
                )

        disk.before_next("write", write_as_another_program)
        results = await asyncio.gather(*send(peer, session_id, "a", "b", "c"))
        assert [result["entries"][0]["seq"] for result in results] == [3, 4, 5]
        stored = entries_of(await peer.call("session/entries", sessionId=session_id))
        assert [entry["id"] for entry in stored[2:]] == [result["entries"][0]["id"] for result in results]
