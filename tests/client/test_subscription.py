"""Following a session: every entry once and in order, whatever happens to the connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from sessiond.client.daemon import Daemon
from sessiond.client.notifications import NotificationsMissedError
from sessiond.client.wire import DisconnectedError, RpcError
from sessiond.protocol import types as t
from support.rpc_peers import until
from support.scripted import LOG, SESSION, Scripted, taken


@asynccontextmanager
async def attached(scripted: Scripted) -> AsyncIterator[Daemon]:
    daemon = scripted.client()
    try:
        yield daemon
    finally:
        await daemon.aclose()


def ids(first: int, last: int) -> list[str]:
    return [f"e{seq}" for seq in range(first, last + 1)]


async def test_missed_lines_come_first_and_then_new_ones() -> None:
    scripted = Scripted()
    scripted.add(5)
    async with attached(scripted) as daemon:
        entries = daemon.subscribe(SESSION, after=2)
        assert await taken(entries, 3) == ids(3, 5)
        scripted.add(2)
        assert await taken(entries, 2) == ids(6, 7)
        assert entries.seq == 7


async def test_without_a_place_it_begins_now() -> None:
    scripted = Scripted()
    scripted.add(3)
    async with attached(scripted) as daemon, daemon.subscribe(SESSION) as entries:
        assert entries.seq == 3
        scripted.add(1)
        assert await taken(entries, 1) == ids(4, 4)


async def test_lines_that_came_live_before_the_replay_are_not_taken_out_of_order() -> None:
    scripted = Scripted()
    scripted.add(4)
    scripted.before_ack = [("session/appended", scripted.note([4]))]
    async with attached(scripted) as daemon:
        assert await taken(daemon.subscribe(SESSION, after=1), 3) == ids(2, 4)


async def test_a_gap_too_large_for_a_replay_is_read_page_by_page() -> None:
    scripted = Scripted()
    scripted.snapshots = True
    scripted.add(10)
    async with attached(scripted) as daemon:
        entries = daemon.subscribe(SESSION, after=0)
        first = await taken(entries, 1)
        scripted.add(2)
        assert first + await taken(entries, 11) == ids(1, 12)


async def test_a_client_that_lagged_catches_up() -> None:
    scripted = Scripted()
    async with attached(scripted) as daemon, daemon.subscribe(SESSION) as entries:
        scripted.add(2)
        assert await taken(entries, 2) == ids(1, 2)
        scripted.add(3, tell=False)
        scripted.send("session/lagged", {"sessionId": SESSION, "logId": LOG, "lastSeq": 2})
        assert await taken(entries, 3) == ids(3, 5)


async def test_a_reader_that_is_slower_than_its_buffer_reads_from_the_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sessiond.client.subscription.MAX_BUFFERED", 3)
    scripted = Scripted()
    async with attached(scripted) as daemon, daemon.subscribe(SESSION) as entries:
        scripted.add(20)
        assert await taken(entries, 20) == ids(1, 20)


async def test_it_goes_on_behind_the_last_entry_when_the_daemon_is_back() -> None:
    scripted = Scripted()
    async with attached(scripted) as daemon, daemon.subscribe(SESSION) as entries:
        scripted.add(2)
        assert await taken(entries, 1) == ids(1, 1)
        scripted.away = True
        scripted.crash()
        scripted.add(2, tell=False)
        waiting = asyncio.create_task(taken(entries, 3))
        await asyncio.sleep(0)
        scripted.away = False
        assert await waiting == ids(2, 4)


async def test_a_daemon_that_takes_connections_only_to_end_them_is_waited_for() -> None:
    scripted = Scripted()
    async with attached(scripted) as daemon, daemon.subscribe(SESSION) as entries:
        scripted.leaving = True
        scripted.crash()
        scripted.add(2, tell=False)
        waiting = asyncio.create_task(taken(entries, 2))
        await until(lambda: scripted.dialled > 1)
        for _ in range(100):
            await asyncio.sleep(0)
        assert scripted.dialled < 10
        scripted.leaving = False
        assert await waiting == ids(1, 2)


async def test_a_daemon_that_dies_while_it_answers_the_subscription_is_asked_again() -> None:
    scripted = Scripted()
    scripted.add(2)
    scripted.loses_answer_to = "session/subscribe"
    async with attached(scripted) as daemon:
        assert await taken(daemon.subscribe(SESSION, after=0), 2) == ids(1, 2)


async def test_two_subscriptions_to_one_session_do_not_disturb_each_other() -> None:
    scripted = Scripted()
    scripted.add(3)
    async with attached(scripted) as daemon, daemon.subscribe(SESSION) as live:
        late = daemon.subscribe(SESSION, after=0)
        assert await taken(late, 3) == ids(1, 3)
        scripted.add(1)
        assert await taken(live, 1) == await taken(late, 1) == ids(4, 4)
        await late.aclose()
        assert scripted.count("session/unsubscribe") == 0
    assert scripted.count("session/unsubscribe") == 1


async def test_it_ends_with_its_daemon() -> None:
    scripted = Scripted()
    async with attached(scripted) as daemon:
        entries = daemon.subscribe(SESSION)
        waiting = asyncio.create_task(anext(entries, None))
        await until(lambda: scripted.count("session/subscribe"))
        await daemon.aclose()
        async with asyncio.timeout(5):
            assert await waiting is None


async def test_a_lost_answer_to_an_append_is_asked_for_again_and_doubles_nothing() -> None:
    scripted = Scripted()
    scripted.loses_answer_to = "session/append"
    async with attached(scripted) as daemon:
        result = await daemon.append(SESSION, [{"type": "custom"}, {"type": "custom", "id": "mine"}])
    assert [entry.status for entry in result.entries] == ["duplicate", "duplicate"]
    assert len(scripted.log) == 2
    assert scripted.log[1]["id"] == "mine"


async def test_another_request_whose_answer_was_lost_is_repeated_with_its_command_id() -> None:
    scripted = Scripted()
    scripted.loses_answer_to = "session/rename"
    async with attached(scripted) as daemon:
        await daemon.rename(SESSION, "x")
        await daemon.rename(SESSION, "x", command_id="mine")
        first, again, other = [item for name, item in scripted.asked if name == "session/rename"]
        assert first == again
        assert (other["commandId"], first["commandId"] == "mine") == ("mine", False)


async def test_a_request_that_cannot_be_repeated_is_not_when_its_answer_was_lost() -> None:
    scripted = Scripted()
    scripted.loses_answer_to = "session/close"
    async with attached(scripted) as daemon:
        with pytest.raises(DisconnectedError):
            await daemon.close(SESSION)
        assert scripted.count("session/close") == 1


async def test_notifications_are_structs_and_a_gap_is_told_once() -> None:
    scripted = Scripted()
    async with attached(scripted) as daemon:
        await daemon.connected()
        notes = daemon.notifications("session/lagged")
        everything = daemon.notifications()
        scripted.add(1)
        scripted.send("session/lagged", {"sessionId": SESSION, "logId": LOG, "lastSeq": 1})
        scripted.send("new/thing", {"a": 1})
        assert await anext(notes) == t.LaggedNote(session_id=SESSION, log_id=LOG, last_seq=1)
        seen = [await anext(everything) for _ in range(3)]
        assert [type(note).__name__ for note in seen] == ["AppendedBatch", "LaggedNote", "dict"]
        scripted.crash()
        with pytest.raises(NotificationsMissedError):
            await anext(notes)
        await daemon.connected()
        scripted.send("session/lagged", {"sessionId": SESSION, "logId": LOG, "lastSeq": 2})
        assert await anext(notes) == t.LaggedNote(session_id=SESSION, log_id=LOG, last_seq=2)


async def test_a_request_of_the_daemon_is_declined() -> None:
    scripted = Scripted()
    async with attached(scripted) as daemon:
        await daemon.connected()
        assert scripted.connection is not None
        with pytest.raises(Exception, match="client/summarize") as raised:
            await scripted.connection.call("client/summarize", {})
        assert getattr(raised.value, "code", None) == -32601


def test_a_refusal_is_the_same_error_for_both_clients() -> None:
    from sessiond.client import RpcError as Public

    assert Public is RpcError
