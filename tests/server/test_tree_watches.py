"""Watches of the tree of a session: the rows that a client which shows it is sent without a subscription."""

import asyncio
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sessiond.hub.index import watches
from sessiond.protocol import types as t
from support.daemons import Peer, Running, assistant, refusal, running, user
from support.waiting import until
from support.watched_trees import WatchedTree, watching

pytestmark = pytest.mark.filterwarnings("error")


async def begun(peer: Peer, cwd: str, *entries: dict[str, Any]) -> str:
    """The id of a new session."""
    session_id: str = (await peer.call("session/create", cwd=cwd))["session"]["sessionId"]
    await peer.append(session_id, *(entries or (user("hello", id="e1"), assistant("hi", id="e2"))))
    return session_id


async def two(daemon: Running) -> tuple[Peer, Peer]:
    """A client that writes, and one that shows a tree and is subscribed to nothing."""
    return await daemon.attach(), await daemon.attach()


async def check(peer: Peer, shown: WatchedTree) -> None:
    """Wait until the rows of a client are those of the tree."""
    params = {
        name: shown.params[name]
        for name in ("sessionId", "filter", "query", "openAll", "openIds")
        if name in shown.params
    }
    info = (await peer.call("session/info", sessionId=params["sessionId"]))["session"]
    await shown.until(info["lastSeq"])
    page = await peer.call("session/tree", **params, layout="path", limit=10_000)
    assert shown.rows == page["nodes"]
    note = shown.notes[-1]
    assert (note["entryCount"], note["visibleCount"]) == (page["entryCount"], page["visibleCount"])
    assert (note["leafId"], note["logId"]) == (page["leafId"], page["logId"])


async def test_a_watch_receives_the_rows_and_then_what_changes(daemon: Running, cwd: str) -> None:
    writer, viewer = await two(daemon)
    session_id = await begun(writer, cwd)
    shown = await watching(viewer, session_id)
    assert shown.ids == ["e1", "e2"]
    await writer.append(session_id, user("on", id="e3"))
    await check(viewer, shown)
    assert (shown.sent, shown.ids) == (4, ["e1", "e2", "e3"])
    await writer.call("session/label", sessionId=session_id, entryId="e1", label="start")
    await check(viewer, shown)
    await writer.call("session/branch", sessionId=session_id, entryId="e1")
    await check(viewer, shown)
    assert [row["onPath"] for row in shown.rows] == [True, False, False]
    assert (shown.sent, shown.rows[0]["label"]) == (4, "start")
    await writer.append(session_id, user("other", id="e4"))
    await check(viewer, shown)
    assert [f"{row['gutter']}{row['id']}" for row in shown.rows] == ["e1", "'e2", "e4"]
    assert not viewer.told("session/appended")


@pytest.mark.parametrize("seed", range(6))
async def test_any_changes_leave_the_rows_of_the_tree(daemon: Running, cwd: str, seed: int) -> None:
    writer, viewer = await two(daemon)
    chance = random.Random(seed)
    session_id = await begun(
        writer, cwd, user("q", id="e1"), *(user("q", id=f"e{number}", parentId="e1") for number in (2, 3))
    )
    await writer.append(session_id, user("a word", id="e4", parentId="e2"), user("q", id="e5", parentId="e1"))
    ids = [f"e{number}" for number in range(1, 6)]
    shown = [
        await watching(viewer, session_id, **params)
        for params in (
            {"openAll": True}, {"openIds": ["e2", "e3", "e5"]}, {"filter": "all", "openAll": True},
            {"filter": "userOnly"}, {"filter": "labeledOnly", "openAll": True}, {"query": "word", "openAll": True},
            {"filter": "noTools"},
        )
    ]  # fmt: skip
    for number in range(40):
        target = chance.choice(ids)
        match chance.randrange(6):
            case 0:
                await writer.call("session/branch", sessionId=session_id, entryId=target)
            case 1:
                mark = chance.choice(["", "one", "word"])
                await writer.call("session/label", sessionId=session_id, entryId=target, label=mark)
            case kind:
                made = chance.choice([user, assistant])(
                    chance.choice(["a word", "text", ""]), id=f"n{number}"
                )
                where = {} if kind == 2 else {"parentId": target, "advance": kind == 3}
                await writer.append(session_id, made, **where)
                ids.append(f"n{number}")
        if chance.random() < 0.3:
            for each in shown:
                await check(viewer, each)
    for each in shown:
        await check(viewer, each)


async def test_a_large_tree_comes_from_the_leaf_outward(daemon: Running, cwd: str) -> None:
    writer, viewer = await two(daemon)
    session_id = await begun(writer, cwd, *(user(f"q{number}", id=f"e{number}") for number in range(1_700)))
    shown = await watching(viewer, session_id)
    first = shown.notes[0]["changes"][0]["nodes"]
    assert (len(first), first[-1]["id"], shown.notes[0]["precedingCount"]) == (500, "e1699", 1_200)
    assert [note["precedingCount"] for note in shown.notes] == [1_200, 700, 200, 0]
    assert not any(note["more"] for note in shown.notes)
    await check(viewer, shown)
    around = await watching(viewer, session_id, aroundId="e10", limit=20)
    assert around.ids == [f"e{number}" for number in range(20)]


async def test_a_watch_of_some_rows_follows_those(daemon: Running, cwd: str) -> None:
    writer, viewer = await two(daemon)
    session_id = await begun(writer, cwd, *(user(f"q{number}", id=f"e{number}") for number in range(50)))
    last = await watching(viewer, session_id, limit=5)
    middle = await watching(viewer, session_id, limit=5, aroundId="e20")
    sent = await writer.append(session_id, user("on", id="next"))
    for each in (last, middle):
        await each.until(sent["committed"]["seq"] if "committed" in sent else 51)
    assert last.ids == ["e45", "e46", "e47", "e48", "e49", "next"]
    assert (middle.ids, middle.sent) == (["e18", "e19", "e20", "e21", "e22"], 5)
    await writer.append(session_id, *(user(f"r{number}") for number in range(30)))
    await viewer.until(lambda client: bool(client.told("session/treeLapsed")))
    (note,) = viewer.told("session/treeLapsed")
    assert (note["watchId"], note["reason"]) == (last.watch_id, "outOfSight")


async def test_changes_of_one_interval_come_together(daemon: Running, cwd: str) -> None:
    writer, viewer = await two(daemon)
    session_id = await begun(writer, cwd)
    shown = await watching(viewer, session_id, intervalMs=300)
    for number in range(30):
        await writer.append(session_id, user(f"q{number}"))
    await check(viewer, shown)
    assert len(shown.notes) <= 4


class Slow:
    """A client that reads only when it is told to."""

    def __init__(self) -> None:
        self.reads = asyncio.Event()
        self.notes: list[dict[str, Any]] = []

    def receives(self, _notification: str) -> bool:
        return True

    def send(self, body: bytes) -> None:
        self.notes.append(msgspec.json.decode(body)["params"])

    async def drained(self) -> None:
        await self.reads.wait()


async def test_a_client_that_does_not_read_gets_the_newest_rows_when_it_reads(
    tmp_path: Path, cwd: str
) -> None:
    async with running(tmp_path / "slow", "memory") as daemon:
        writer = await daemon.attach()
        session_id = await begun(writer, cwd)
        live, slow = daemon.inside.hub.sessions.cached(session_id), Slow()
        assert live is not None
        live.tree_watches.add(slow, t.WatchTreeParams(session_id=session_id, interval_ms=20))
        slow.reads.set()
        await until(lambda: slow.notes)
        slow.reads.clear()
        for number in range(50):
            await writer.append(session_id, user(f"q{number}"))
        assert len(slow.notes) <= 2
        slow.reads.set()
        await until(lambda: slow.notes[-1]["visibleCount"] == 52)
        assert sum(len(change["nodes"]) for note in slow.notes for change in note["changes"]) <= 56
        assert len(slow.notes) <= 4


async def test_unwatch_and_the_end_of_the_session_end_a_watch(daemon: Running, cwd: str) -> None:
    writer, viewer = await two(daemon)
    session_id = await begun(writer, cwd)
    shown, other = await watching(viewer, session_id), await watching(viewer, session_id)
    assert not (await writer.call("server/unwatch", watchId=shown.watch_id))["wasWatching"]
    assert (await viewer.call("server/unwatch", watchId=shown.watch_id))["wasWatching"]
    assert not (await viewer.call("server/unwatch", watchId=shown.watch_id))["wasWatching"]
    await writer.append(session_id, user("on", id="e3"))
    await check(viewer, other)
    shown.take()
    assert len(shown.notes) == 1
    await writer.call("session/delete", sessionId=session_id)
    await viewer.until(lambda client: bool(client.told("session/treeLapsed")))
    (note,) = viewer.told("session/treeLapsed")
    assert (note["watchId"], note["reason"]) == (other.watch_id, "deleted")


async def test_an_unknown_entry_and_too_many_watches_are_refused(daemon: Running, cwd: str) -> None:
    writer, viewer = await two(daemon)
    session_id = await begun(writer, cwd)
    refused = await refusal(viewer.call("session/watchTree", sessionId=session_id, aroundId="none"))
    assert refused.kind == "entryNotFound"
    begun_ = [
        await viewer.call("session/watchTree", sessionId=session_id) for _ in range(watches.MAX_WATCHES)
    ]
    for method in ("session/watchTree", "server/watch"):
        params = {"sessionId": session_id} if method == "session/watchTree" else {}
        assert (await refusal(viewer.call(method, **params))).kind == "overloaded"
    await viewer.call("server/unwatch", watchId=begun_[0]["watchId"])
    await viewer.call("server/watch")
    assert (await refusal(viewer.call("session/watchTree", sessionId=session_id))).kind == "overloaded"


async def test_a_session_with_a_watch_stays_open_until_its_client_is_gone(daemon: Running, cwd: str) -> None:
    writer, viewer = await two(daemon)
    session_id = await begun(writer, cwd)
    await watching(viewer, session_id)
    if daemon.hub is None:
        return
    live = daemon.hub.sessions.cached(session_id)
    assert live is not None
    assert len(live.tree_watches) == 1
    viewer.connection.close()
    await until(lambda: not len(live.tree_watches))
