"""More than the daemon can take: nobody is harmed, nothing is lost, and memory stays bounded."""

import asyncio
import json  # noqa: TID251 - the tests' own reader is not the daemon's
from pathlib import Path
from typing import Any

import pytest

from sessiond.config import Config, LimitsConfig
from sessiond.hub.session import append_queue
from sessiond.rpc.message import encode_request
from sessiond.server.connection import read_throttle, requests, send_buffers
from sessiond.server.listeners import admission
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.disk import Disk
from support.patience import BOUND
from support.shared import started
from support.summarizers import SMALL, summarizing, talk
from support.waiting import until
from support.wire import Wire, in_thread

MIB = 1024 * 1024


def limited(**limits: int) -> Config:
    return Config(limits=LimitsConfig(**limits))


# --- clients -----------------------------------------------------------------------------------------------


async def test_one_client_too_many_is_told_so_and_the_next_finds_the_place_of_who_left(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, "socket", config=limited(max_clients=2)) as daemon:
        peers = [await daemon.attach(), await daemon.attach()]
        for peer in peers:
            await peer.call("server/status")

        def open_connection() -> list[dict[str, Any]]:
            with Wire(tmp_path) as wire:
                return wire.read_all()

        [told] = await in_thread(open_connection)
        assert (told["id"], told["error"]["code"], told["error"]["data"]["kind"]) == (
            None,
            1429,
            "overloaded",
        )
        assert told["error"]["data"]["retryable"]
        assert told["error"]["data"]["details"]["retryAfterMs"] > 0
        peers[0].connection.close()
        await until(lambda: len(daemon.inside.clients) == 1)
        status = await (await daemon.attach()).call("server/status")
        assert status["clientCount"] == 2


async def test_a_client_that_never_said_a_word_makes_place_when_all_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "SILENT_SECONDS", 0.0)
    async with running(tmp_path, "socket", config=limited(max_clients=2)) as daemon:
        speaking = await daemon.attach()
        await speaking.call("server/status")
        silent = await daemon.attach()
        await until(lambda: len(daemon.inside.clients) == 2)
        third = await daemon.attach()
        assert (await third.call("server/status"))["clientCount"] == 2
        async with asyncio.timeout(BOUND):
            await silent.is_closed.wait()
        assert (await speaking.call("server/status"))["clientCount"] == 2


def test_there_are_no_more_clients_than_half_of_the_descriptors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("resource.getrlimit", lambda _which: (256, 4096))
    assert admission.max_clients(1000) == 128
    assert admission.max_clients(50) == 50


# --- requests ----------------------------------------------------------------------------------------------


async def flood(peer: Peer, session_id: str, count: int, size: int = 10) -> list[asyncio.Task[Any]]:
    """Appends one behind the other, without waiting for an answer."""
    tasks = [
        asyncio.create_task(peer.append(session_id, user(f"{number} " + "x" * size)))
        for number in range(count)
    ]
    await asyncio.sleep(0)
    return tasks


async def test_a_flood_is_taken_in_as_fast_as_it_is_answered_and_nothing_of_it_is_lost(
    tmp_path: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_throttle, "MAX_IN_FLIGHT", 50)
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        other = await daemon.attach()
        with disk.hold("fdatasync"):
            appends = await flood(peer, session_id, 1_000)
            await until(lambda: daemon.inside.memory_budget.requests > 50)
            for _ in range(20):
                await other.call("server/status")
                assert daemon.inside.memory_budget.requests == 51
        seqs = [(await append)["lastSeq"] for append in appends]
        assert seqs == list(range(1, 1_001))
        assert (daemon.inside.memory_budget.requests, daemon.inside.memory_budget.incoming.taken) == (0, 0)


async def test_the_bodies_of_requests_in_work_are_bounded_too(tmp_path: Path, cwd: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls, config=limited(max_frame=MIB)) as daemon:
        peer, session_id = await started(daemon, cwd)
        other = await daemon.attach()
        with disk.hold("fdatasync"):
            appends = await flood(peer, session_id, 40, 200_000)
            await until(lambda: daemon.inside.memory_budget.incoming.taken > MIB)
            for _ in range(20):
                status = await other.call("server/status")
                assert MIB < status["heldBytes"] < MIB + 250_000
        assert [(await append)["lastSeq"] for append in appends] == list(range(1, 41))
        assert daemon.inside.memory_budget.incoming.taken == 0


async def test_when_all_clients_together_have_too_much_in_work_each_still_has_its_share(
    tmp_path: Path, cwd: str
) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls, config=limited(max_held=MIB)) as daemon:
        flooding = [await started(daemon, cwd) for _ in range(3)]
        for peer, _ in flooding:  # their own echo would fill the send buffers, which are bounded as much
            options = {"sessiond": {"optOutNotifications": ["session/appended"]}}
            await peer.call("initialize", initializationOptions=options)
        modest, session_id = await started(daemon, cwd)
        with disk.hold("fdatasync"):
            appends = [append for peer, its in flooding for append in await flood(peer, its, 30, 100_000)]
            await until(lambda: daemon.inside.memory_budget.is_short)
            mine = await flood(modest, session_id, 5)
            for _ in range(20):
                status = await modest.call("server/status")
            assert daemon.inside.memory_budget.is_short
            # The requests that were over the bound already, and the share of later clients.
            assert status["heldBytes"] < MIB + 3 * read_throttle.FAIR_SHARE * 110_000
        for append in appends + mine:
            assert (await append)["entries"][0]["status"] == "created"


async def test_a_session_that_cannot_be_written_fast_enough_refuses_what_would_not_fit(
    tmp_path: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append_queue, "THROTTLE_UNWRITTEN_BYTES", 100_000)
    monkeypatch.setattr(append_queue, "MAX_UNWRITTEN_BYTES", 200_000)
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        others = [await daemon.attach() for _ in range(3)]
        assert daemon.hub is not None
        log = daemon.hub.sessions.cached(session_id)
        assert log is not None
        with disk.hold("fdatasync"):
            first = await flood(peer, session_id, 1, 90_000)
            second = await flood(others[0], session_id, 1, 90_001)
            await until(lambda: log.unwritten_bytes > 180_000)
            refused = await refusal(others[1].append(session_id, user("x" * 90_000)))
            assert (refused.kind, refused.data["retryable"]) == ("overloaded", True)
            small = await flood(others[2], session_id, 1)
        for append in first + second + small:
            assert (await append)["entries"][0]["status"] == "created"
        assert (await others[1].append(session_id, user("x" * 90_000)))["lastSeq"] > 1
        assert log.unwritten_bytes == 0


async def test_an_append_larger_than_what_may_wait_is_taken_when_nothing_waits(
    tmp_path: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append_queue, "THROTTLE_UNWRITTEN_BYTES", 1_000)
    monkeypatch.setattr(append_queue, "MAX_UNWRITTEN_BYTES", 2_000)
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, cwd)
        for number in range(3):
            assert (await peer.append(session_id, user("x" * 50_000)))["lastSeq"] == number + 1


async def test_those_who_wait_for_a_summary_are_bounded_and_do_not_stop_the_reading(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MAX_WAITING", 3)
    peer, session_id = await talk(memory, cwd)
    writer = await summarizing(memory)
    asked = []
    for _ in range(3):
        asked.append(
            asyncio.create_task(refusal(peer.call("session/compact", sessionId=session_id, settings=SMALL)))
        )
        await asyncio.sleep(0)
    await writer.asked()
    refused = await refusal(peer.call("session/compact", sessionId=session_id, settings=SMALL))
    assert (refused.kind, refused.data["retryable"]) == ("overloaded", True)
    for number in range(len(peer.calls)):
        peer.connection.notify("$/cancelRequest", {"id": f"call-{number}"})
    assert [(await one).kind for one in asked] == ["canceled"] * 3
    await writer.canceled()


# --- large frames ------------------------------------------------------------------------------------------


async def test_a_large_frame_is_read_when_there_is_room_for_it_and_small_ones_meanwhile(
    tmp_path: Path, cwd: str
) -> None:
    async with running(tmp_path, "socket", config=limited(max_held=4 * MIB)) as daemon:
        peer, session_id = await started(daemon, cwd)
        incoming = daemon.inside.memory_budget.incoming
        body = encode_request(
            "large", "session/append", {"sessionId": session_id, "entries": [user("ab " * 1_000_000)]}
        )
        head = b"Content-Length: %d\r\n\r\n" % len(body)
        first, second = await in_thread(Wire, tmp_path), await in_thread(Wire, tmp_path)
        with first, second:
            await in_thread(first.send, head + body[:2_000_000])
            await until(lambda: incoming.taken == len(body))
            sending = asyncio.create_task(in_thread(second.send, head + body))
            await until(lambda: incoming.waiting == 1)
            assert (await peer.append(session_id, user("small")))["lastSeq"] == 1
            await in_thread(first.send, body[2_000_000:])
            answer = await in_thread(first.read)
            assert answer["result"]["lastSeq"] == 2
            await sending
            answer = await in_thread(second.read)
            assert answer["result"]["lastSeq"] == 3
        await until(lambda: not incoming.taken)


async def test_a_client_that_leaves_in_the_middle_of_a_large_frame_leaves_its_room_to_others(
    tmp_path: Path, cwd: str
) -> None:
    async with running(tmp_path, "socket", config=limited(max_held=4 * MIB)) as daemon:
        peer, session_id = await started(daemon, cwd)
        incoming = daemon.inside.memory_budget.incoming
        body = encode_request(
            "large", "session/append", {"sessionId": session_id, "entries": [user("ab " * 1_000_000)]}
        )
        frame = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        first, second = await in_thread(Wire, tmp_path), await in_thread(Wire, tmp_path)
        with second:
            with first:
                await in_thread(first.send, frame[:2_000_000])
                await until(lambda: incoming.taken > 0)
                sending = asyncio.create_task(in_thread(second.send, frame))
                await until(lambda: incoming.waiting == 1)
            await sending
            assert (await in_thread(second.read))["result"]["lastSeq"] == 1
        await until(lambda: not incoming.taken)
        assert (await peer.append(session_id, user("x")))["lastSeq"] == 2


async def test_a_message_may_be_as_large_as_chosen_and_no_larger(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path, "socket", config=limited(max_frame=MIB)) as daemon:
        peer, session_id = await started(daemon, cwd)
        shaken = await peer.call("initialize", initializationOptions={"sessiond": {}})
        limits = shaken["capabilities"]["experimental"]["sessiond"]["limits"]
        assert (limits["maxFrameBytes"], limits["maxBytesInFlight"]) == (MIB, MIB)
        await peer.append(session_id, user("x " * 500_000))
        other = await daemon.attach()

        def too_much() -> list[dict[str, Any]]:
            with Wire(tmp_path) as wire:
                wire.send(b"Content-Length: %d\r\n\r\n%b" % (MIB + 1, b'{"x":"' + b"y" * 10_000))
                return wire.read_all()

        [told] = await in_thread(too_much)
        data = told["error"]["data"]
        assert (data["kind"], data["details"]["limitBytes"]) == ("tooLarge", MIB)
        assert (await other.call("server/status"))["clientCount"] == 2


# --- those who do not read ---------------------------------------------------------------------------------


async def test_all_outboxes_together_are_bounded_and_those_that_do_not_read_go_first(
    tmp_path: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_buffers, "LOOK_AFTER", 100_000)
    monkeypatch.setattr(send_buffers, "STALLED_SECONDS", 0.0)
    async with running(tmp_path, config=limited(max_held=4 * MIB)) as daemon:
        peer, session_id = await started(daemon, cwd)
        deaf = [await daemon.attach() for _ in range(5)]
        for each in deaf:
            await each.call("session/subscribe", sessionId=session_id)
            each.connection.pause()
        for _ in range(60):
            await peer.append(session_id, user("x" * 100_000))
            assert daemon.inside.send_buffers.total < 5 * MIB
        await peer.until(lambda client: client.seqs() == list(range(1, 61)))
        for each in deaf:
            each.connection.resume()
            await each.until(lambda client: bool(client.told("session/lagged")))
            [lagged] = each.told("session/lagged")
            assert each.seqs() == list(range(1, lagged["lastSeq"] + 1))
            await each.call(
                "session/subscribe",
                sessionId=session_id,
                after=await each.position(session_id, lagged["lastSeq"]),
            )
        for each in deaf:
            await each.until(lambda client: client.seqs() == list(range(1, 61)))


async def test_a_client_that_asks_one_by_one_and_does_not_read_is_not_read_either(
    tmp_path: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_throttle, "QUEUE_SOFT", MIB)
    async with running(tmp_path, "socket") as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, user("x" * 50_000), assistant("ok"))
        deaf = await daemon.attach()
        await deaf.call("session/info", sessionId=session_id)
        deaf.connection.pause()
        asked = []
        for _ in range(200):
            asked.append(deaf.send("session/entries", sessionId=session_id))
            await peer.call("server/status")
        [queued] = [
            client["queuedBytes"]
            for client in (await peer.call("server/clients"))["clients"]
            if client["queuedBytes"]
        ]
        assert queued < 2 * MIB  # of 10 MB
        deaf.connection.resume()
        assert {len(answer["items"]) for answer in await asyncio.gather(*asked)} == {2}


async def test_when_told_is_not_enough_the_largest_outbox_is_let_go(
    tmp_path: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(send_buffers, "LOOK_AFTER", 100_000)
    async with running(tmp_path, config=limited(max_held=4 * MIB)) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, *(user("x" * 100_000) for _ in range(15)), assistant("ok"))
        deaf = [await daemon.attach() for _ in range(5)]
        for each in deaf:
            each.connection.pause()
            each.connection.send_body(encode_request("all", "session/entries", {"sessionId": session_id}))
        await until(lambda: len(daemon.inside.clients) < 6)
        assert daemon.inside.send_buffers.total <= 4 * MIB
        assert not peer.is_closed.is_set()
        assert (await peer.call("session/info", sessionId=session_id))["session"]["lastSeq"] == 16


@pytest.mark.slow
async def test_a_large_batch_comes_to_each_watcher_at_its_own_pace(tmp_path: Path, cwd: str) -> None:
    async with running(tmp_path, "socket", config=limited(max_held=8 * MIB)) as daemon:
        peer, session_id = await started(daemon, cwd)
        watching = [await daemon.attach() for _ in range(10)]
        for each in watching:
            await each.call("session/subscribe", sessionId=session_id)
        large = {"type": "custom", "customType": "x", "data": ["y" * 400_000 for _ in range(10)]}
        await peer.append(session_id, large, *(user("z" * 50_000) for _ in range(40)), user("end"))
        for each in [peer, *watching]:
            await each.until(lambda client: client.seqs() == list(range(1, 43)))
            assert all(note["replay"] for note in each.told("session/appended"))
        assert not daemon.inside.memory_budget.answers.taken
        await peer.append(session_id, user("small"))
        await watching[0].until(lambda client: client.seqs()[-1] == 43)
        assert not watching[0].told("session/appended")[-1]["replay"]


async def test_status_says_what_the_daemon_holds(tmp_path: Path, cwd: str) -> None:
    disk = Disk()
    async with running(tmp_path, calls=disk.calls) as daemon:
        peer, session_id = await started(daemon, cwd)
        before = await peer.call("server/status")
        assert (before["inFlightCount"], before["heldBytes"], before["queuedBytes"]) == (0, 0, 0)
        assert before["descriptorCount"] > 3
        assert before["taskCount"] > 0
        with disk.hold("fdatasync"):
            appends = await flood(peer, session_id, 3, 1_000)
            now = await (await daemon.attach()).call("server/status")
            assert now["inFlightCount"] == 3
            assert now["heldBytes"] > 3_000
        await asyncio.gather(*appends)
        json.dumps(now)
