"""Subscriptions: the reply, then the gap, then live; each line once and in order; nobody waits for others."""

import asyncio
import random
from typing import Any

import pytest

from sessiond.hub.session import subscribers
from support.columns import entries_of
from support.daemons import Peer, Running, assistant, user
from support.shared import started
from support.wire import Wire, in_thread

OVER_SOCKETS = pytest.mark.parametrize("daemon", ["socket", "process"], indirect=True)


async def filled(daemon: Running, cwd: str, count: int) -> tuple[Peer, str]:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, *(user(f"{number}") for number in range(count)))
    return peer, session_id


# --- the gap -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", [0, 1, 7, 9, 10])
async def test_exactly_what_came_after_is_replayed(daemon: Running, cwd: str, after: int) -> None:
    peer, session_id = await filled(daemon, cwd, 10)
    other = await daemon.attach()
    result = await other.call(
        "session/subscribe", sessionId=session_id, after=await other.position(session_id, after)
    )
    assert (result["mode"], result["fromSeq"], result["toSeq"]) == ("replay", after + 1, 10)
    assert result["reason"] is None
    await peer.append(session_id, user("live"))
    await other.until(lambda client: 11 in client.seqs())
    assert other.seqs() == list(range(after + 1, 12))
    assert other.order[0] == "reply"
    *replayed, live = other.told("session/appended")
    assert all(note["replay"] and note["origin"] is None for note in replayed)
    assert not live["replay"]
    entries = [entry for note in other.told("session/appended") for entry in entries_of(note)]
    stored = await peer.call(
        "session/entries", sessionId=session_id, after=await peer.position(session_id, after)
    )
    assert entries == entries_of(stored)


async def test_without_after_one_reads_what_is_there_oneself(daemon: Running, cwd: str) -> None:
    peer, session_id = await filled(daemon, cwd, 3)
    other = await daemon.attach()
    result = await other.call("session/subscribe", sessionId=session_id)
    assert (result["mode"], result["fromSeq"], result["toSeq"]) == ("snapshot", 4, 3)
    assert result["reason"]
    assert result["session"]["lastSeq"] == 3
    await peer.append(session_id, user("live"))
    await other.until(lambda client: client.seqs() == [4])


async def test_a_place_that_the_log_never_had_gets_a_snapshot(daemon: Running, cwd: str) -> None:
    peer, session_id = await filled(daemon, cwd, 3)
    other = await daemon.attach()
    result = await other.call(
        "session/subscribe", sessionId=session_id, after=await other.position(session_id, 4)
    )
    assert (result["mode"], result["fromSeq"], result["toSeq"]) == ("snapshot", 4, 3)
    await peer.append(session_id, user("live"))
    await other.until(lambda client: client.seqs() == [4])


async def test_a_gap_that_is_too_large_gets_a_snapshot(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sessiond.server.handlers.watching.REPLAY_LIMIT", 1000)
    _, session_id = await filled(memory, cwd, 20)
    other = await memory.attach()
    assert (
        await other.call(
            "session/subscribe", sessionId=session_id, after=await other.position(session_id, 19)
        )
    )["mode"] == "replay"
    assert (
        await other.call("session/subscribe", sessionId=session_id, after=await other.position(session_id, 0))
    )["mode"] == "snapshot"


async def test_a_long_replay_comes_in_slices_and_goes_over_into_live_without_a_seam(
    memory: Running, cwd: str
) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, *(user("x" * 10_000) for _ in range(200)))
    other = await memory.attach()
    replaying = other.call(
        "session/subscribe", sessionId=session_id, after=await other.position(session_id, 0)
    )
    appends = [peer.append(session_id, user(f"{number}")) for number in range(50)]
    await asyncio.gather(replaying, *appends)
    await other.until(lambda client: 250 in client.seqs())
    assert other.seqs() == list(range(1, 251))
    assert len([note for note in other.told("session/appended") if note["replay"]]) > 3


async def test_subscribing_again_starts_over_from_there(daemon: Running, cwd: str) -> None:
    peer, session_id = await filled(daemon, cwd, 5)
    await peer.call("session/subscribe", sessionId=session_id, after=await peer.position(session_id, 3))
    await peer.until(lambda client: client.seqs()[-2:] == [4, 5])
    await peer.append(session_id, user("live"))
    await peer.until(lambda client: client.seqs()[-1] == 6)
    assert peer.seqs().count(6) == 1


async def test_a_client_that_unsubscribes_gets_no_more_notifications_and_has_the_session_open_still(
    daemon: Running, cwd: str
) -> None:
    peer, session_id = await filled(daemon, cwd, 1)
    other = await daemon.attach()
    await other.call("session/open", sessionId=session_id)
    assert await peer.call("session/unsubscribe", sessionId=session_id) == {"wasSubscribed": True}
    assert await peer.call("session/unsubscribe", sessionId=session_id) == {"wasSubscribed": False}
    assert await peer.call("session/unsubscribe", sessionId="never-opened") == {"wasSubscribed": False}
    before = peer.seqs()
    await peer.append(session_id, user("silent"))
    await other.until(lambda client: client.seqs() == [2])
    await peer.call("server/status")
    assert peer.seqs() == before
    assert await other.call("session/close", sessionId=session_id) == {
        "clientCount": 1,
        "trashId": None,
        "trashPath": None,
    }


# --- exactly once ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
async def test_every_watcher_gets_every_line_once_and_in_order_whenever_it_comes_and_goes(
    daemon: Running, cwd: str, seed: int
) -> None:
    chance = random.Random(seed)
    peer, session_id = await filled(daemon, cwd, 1)
    writers = [await daemon.attach() for _ in range(3)]
    total = 150

    async def write(who: Peer, share: int) -> None:
        left = share
        while left:
            size = min(chance.randint(1, 5), left)
            left -= size
            how = chance.choice(["synced", "written"])
            await who.append(
                session_id, *(user("x" * chance.randint(1, 3000)) for _ in range(size)), durability=how
            )
            if chance.random() < 0.3:
                await asyncio.sleep(chance.random() * 0.005)

    async def watch_in_pieces() -> list[int]:
        seen: list[int] = []
        while not seen or seen[-1] < total + 1:
            who = await daemon.attach()
            await who.call(
                "session/subscribe",
                sessionId=session_id,
                after=await who.position(session_id, seen[-1] if seen else 0),
            )
            pause = chance.random() * 0.01
            await asyncio.sleep(pause)
            if pause < 0.005:
                who.connection.abort()
            else:
                await who.call("session/unsubscribe", sessionId=session_id)
            seen += who.seqs()
        return seen

    *watched, _, _, _ = await asyncio.gather(
        *(watch_in_pieces() for _ in range(4)), *(write(who, total // 3) for who in writers)
    )
    assert all(seen == list(range(1, total + 2)) for seen in watched)
    await peer.until(lambda client: client.seqs()[-1] == total + 1)
    assert peer.seqs() == list(range(1, total + 2))


# --- who did it --------------------------------------------------------------------------------------------


async def test_a_change_names_the_client_that_made_it(daemon: Running, cwd: str) -> None:
    peer = await daemon.attach()
    greeting = {"initializationOptions": {"sessiond": {"clientId": f"script{cwd[-3:]}"}}}
    shaken = await peer.call("initialize", **greeting)
    told = shaken["capabilities"]["experimental"]["sessiond"]
    name = told["clientId"]
    session_id = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    other = await daemon.attach()
    await other.call("session/open", sessionId=session_id)
    await peer.append(session_id, user("1", id="a"))
    await peer.call("session/rename", sessionId=session_id, title="T")
    await peer.call("session/branch", sessionId=session_id, entryId="a")
    await other.until(lambda client: bool(client.told("session/leafMoved")))
    origin = {
        "kind": "client", "clientId": name, "serverId": told["serverId"], "agent": None, "commandId": None,
    }  # fmt: skip
    for kind in ("session/appended", "session/changed", "session/leafMoved"):
        assert all(note["origin"] == origin for note in other.told(kind))
        assert peer.told(kind) == other.told(kind)


async def test_two_clients_of_one_name_are_told_apart(daemon: Running, cwd: str) -> None:
    names = set()
    for _ in range(3):
        peer = await daemon.attach()
        greeting = {"initializationOptions": {"sessiond": {"clientId": "same-name" + cwd[-3:]}}}
        shaken = await peer.call("initialize", **greeting)
        names.add(shaken["capabilities"]["experimental"]["sessiond"]["clientId"])
    assert len(names) == 3
    clients = (await peer.call("server/clients"))["clients"]
    assert names <= {client["clientId"] for client in clients}


async def test_a_client_that_opts_out_is_not_notified(daemon: Running, cwd: str) -> None:
    peer, session_id = await filled(daemon, cwd, 1)
    other = await daemon.attach()
    options = {"optOutNotifications": ["session/appended", "session/changed"]}
    await other.call("initialize", initializationOptions={"sessiond": options})
    await other.call("session/subscribe", sessionId=session_id, after=await other.position(session_id, 0))
    await peer.append(session_id, user("2"))
    await peer.call("session/rename", sessionId=session_id, title="T")
    await peer.call("session/branch", sessionId=session_id, entryId=None)
    await other.until(lambda client: bool(client.told("session/leafMoved")))
    assert not other.told("session/appended")
    assert not other.told("session/changed")


async def test_a_change_that_lists_show_is_told_to_all_and_only_its_lines_to_watchers(
    daemon: Running, cwd: str
) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("1", id="a"), assistant("2"))
    bystander = await daemon.attach()
    await bystander.call("server/status")
    await peer.call("session/rename", sessionId=session_id, title="New")
    await peer.call("session/tag", sessionId=session_id, add=["t"])
    await peer.call("session/label", sessionId=session_id, entryId="a", label="here")
    await peer.append(session_id, {"type": "session_info", "name": "By hand"})
    await bystander.until(lambda client: len(client.told("session/changed")) == 4)
    changed = bystander.told("session/changed")
    assert [note["changed"] for note in changed] == [["title"], ["tags"], ["labels"], ["title"]]
    assert [note["session"]["title"] for note in changed] == ["New", "New", "New", "By hand"]
    assert changed[-1]["session"]["tags"] == ["t"]
    assert not bystander.told("session/appended")


async def test_a_client_that_only_speaks_lsp_is_told_nothing(memory: Running, cwd: str) -> None:
    editor = await memory.attach()
    await editor.call("initialize", capabilities={"textDocument": {}}, processId=None, rootUri=None)
    await filled(memory, cwd, 1)
    assert not editor.notes


# --- the slow ----------------------------------------------------------------------------------------------


async def test_a_client_that_does_not_read_is_told_that_it_lags_and_catches_up_exactly(
    memory: Running, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscribers, "SOFT_LIMIT", 200_000)
    peer, session_id = await filled(memory, cwd, 1)
    slow = await memory.attach()
    await slow.call("session/subscribe", sessionId=session_id, after=await slow.position(session_id, 1))
    slow.connection.pause()
    for _ in range(60):
        await peer.append(session_id, user("x" * 10_000))
    slow.connection.resume()
    await slow.until(lambda client: bool(client.told("session/lagged")))
    [lagged] = slow.told("session/lagged")
    last = lagged["lastSeq"]
    assert slow.seqs() == list(range(2, last + 1))
    assert 10 < last < 40
    await peer.append(session_id, user("not heard"))
    await slow.call("session/subscribe", sessionId=session_id, after=await slow.position(session_id, last))
    await slow.until(lambda client: client.seqs()[-1] == 62)
    assert slow.seqs() == list(range(2, 63))


@OVER_SOCKETS
async def test_five_that_do_not_read_hold_up_nobody_and_cost_bounded_memory(
    daemon: Running, cwd: str
) -> None:
    peer, session_id = await filled(daemon, cwd, 1)

    def deaf() -> Wire:
        wire = Wire(daemon.home)
        wire.ask("session/subscribe", {"sessionId": session_id})
        return wire

    deaf_ones = [await in_thread(deaf) for _ in range(5)]
    try:
        for _ in range(120):
            await peer.append(session_id, user("x" * 100_000), durability="written")
        await peer.until(lambda client: client.seqs()[-1] == 121)
        clients = (await peer.call("server/clients"))["clients"]
        queued = [client["queuedBytes"] for client in clients if client["queuedBytes"]]
        assert len(queued) == 5
        assert all(size < subscribers.SOFT_LIMIT + 1_000_000 for size in queued)
        assert not [
            client
            for client in clients
            if client["queuedBytes"] and session_id in client["subscribedSessionIds"]
        ]
        lagged = await in_thread(until_lagged, deaf_ones[0])
        assert lagged["sessionId"] == session_id
    finally:
        for wire in deaf_ones:
            wire.__exit__()


def until_lagged(wire: Wire) -> dict[str, Any]:
    while True:
        message = wire.read()
        assert message is not None
        if message["method"] == "session/lagged":
            return dict(message["params"])


@pytest.mark.slow
@OVER_SOCKETS
@pytest.mark.parametrize("method", ["session/entries", "session/path", "session/context", "session/tree"])
async def test_answers_that_nobody_reads_are_not_made(daemon: Running, cwd: str, method: str) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, *(user("x" * 50_000) for _ in range(40)), assistant("ok"))

    def flood() -> Wire:
        wire = Wire(daemon.home)
        params = f'{{"sessionId":"{session_id}","limit":10000}}'
        asks = [f'{{"jsonrpc":"2.0","id":{n},"method":"{method}","params":{params}}}' for n in range(400)]
        wire.send("".join(f"Content-Length: {len(ask)}\r\n\r\n{ask}" for ask in asks).encode())
        return wire

    wire = await in_thread(flood)
    try:
        await peer.append(session_id, user("others go on"))
        for _ in range(5):
            await asyncio.sleep(0.02)
            clients = (await peer.call("server/clients"))["clients"]
            assert max(client["queuedBytes"] for client in clients) < 16_000_000
        answered = await in_thread(lambda: [wire.read()["id"] for _ in range(400)])
        assert sorted(answered) == list(range(400))
    finally:
        wire.__exit__()


async def test_a_client_with_many_requests_in_work_is_answered_to_the_last(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    results = await asyncio.gather(*(peer.append(session_id, user(f"{n}")) for n in range(3000)))
    assert [result["lastSeq"] for result in results] == list(range(1, 3001))
