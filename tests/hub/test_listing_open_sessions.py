"""Open sessions in lists and searches: told of once for each change, and listed as their files will be."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.index.tracker import OpenTracker
from sessiond.hub.session.description import info_of
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from support.columns import entries_of
from support.daemons import Peer, Running, assistant, running, user

CWD = "/work/clock"


async def some_sessions(peer: Peer, count: int) -> list[str]:
    """Sessions with an answer in each."""
    names = [f"session-{number:03}" for number in range(count)]
    for name in names:
        await peer.call("session/create", cwd=CWD, id=name)
        await peer.append(name, user(f"{name} about garnet"), assistant("an answer"))
    return names


class Counted:
    """A tracker of the sessions of a daemon, and how many of them it has described."""

    def __init__(self, daemon: Running) -> None:
        assert daemon.hub is not None
        self.hub = daemon.hub
        self.described: list[str] = []
        self.tracker = OpenTracker(self.hub.sessions.all, self.describe, lambda _ref: True)

    def describe(self, live: LiveSession) -> t.SessionInfo:
        self.described.append(live.session_id)
        return info_of(live)

    async def changed(self) -> int:
        """How many sessions the index would be told of now."""
        self.described.clear()
        changes = await self.tracker.changes()
        assert len(changes.changed) == len(self.described)
        return len(self.described)


async def test_sessions_that_were_only_opened_are_indexed_from_their_files(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        names = await some_sessions(await daemon.attach(), 20)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        for name in names:
            await peer.call("session/open", sessionId=name)
            await peer.call("session/tree", sessionId=name)
        assert len(daemon.inside.hub.sessions.all()) == 20
        counted = Counted(daemon)
        assert await counted.changed() == 0
        assert counted.tracker.overrides() == {}
        assert len((await peer.call("session/list"))["sessions"]) == 20


async def test_each_change_is_reported_once(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        names = await some_sessions(peer, 5)
        counted = Counted(daemon)
        assert [await counted.changed(), await counted.changed()] == [5, 0]
        await peer.append(names[2], user("more"))
        assert [await counted.changed(), await counted.changed()] == [1, 0]
        assert counted.described == []
        assert counted.tracker.is_current()


async def test_a_closed_session_is_indexed_from_its_file_again(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        (name,) = await some_sessions(peer, 1)
        counted = Counted(daemon)
        await counted.changed()
        (ref,) = counted.tracker.overrides()
        await peer.call("session/close", sessionId=name)
        live = daemon.inside.hub.sessions.cached(name)
        assert live is not None
        await daemon.inside.hub.sessions.close_unless_in_use(live)
        assert (await counted.tracker.changes()).released == {ref}
        assert counted.tracker.overrides() == {}


async def append(peer: Peer, name: str) -> None:
    await peer.append(name, user("zircon"), assistant("beryl"))


async def rename(peer: Peer, name: str) -> None:
    await peer.call("session/rename", sessionId=name, title="Opal")


async def label(peer: Peer, name: str) -> None:
    path = entries_of(await peer.call("session/path", sessionId=name))
    await peer.call("session/label", sessionId=name, entryId=path[0]["id"], label="jade")


async def tag(peer: Peer, name: str) -> None:
    await peer.call("session/tag", sessionId=name, add=["amber"])


async def branch_and_append(peer: Peer, name: str) -> None:
    path = entries_of(await peer.call("session/path", sessionId=name))
    await peer.call("session/branch", sessionId=name, entryId=path[0]["id"])
    await peer.append(name, user("another way"), assistant("with topaz"))


async def move(peer: Peer, name: str) -> None:
    await peer.call("session/move", sessionId=name, cwd="/work/watch")


async def answers(peer: Peer, what: dict[str, Any]) -> dict[str, Any]:
    """Return the results of lists and searches, but for the times and ranks of searches."""
    found: dict[str, Any] = {
        "all": (await peer.call("session/list", sort="created"))["sessions"],
        "folder": (await peer.call("session/list", cwd="/work/watch", withTotal=True))["totalCount"],
        "tagged": (await peer.call("session/list", tags=["amber"], withTotal=True))["totalCount"],
        "query": (await peer.call("session/list", query="opal", withTotal=True))["totalCount"],
    }
    for query, more in what.items():
        hits = (await peer.call("session/search", query=query, limit=100, **more))["hits"]
        found[query] = sorted(
            (hit["sessionId"], hit["seq"], hit["onPath"], hit["title"] or "") for hit in hits
        )
    return found


@pytest.mark.parametrize("write", [append, rename, label, tag, branch_and_append, move])
async def test_an_open_session_is_listed_and_found_as_the_next_daemon_does_from_its_file(
    tmp_path: Path, write: Callable[[Peer, str], Awaitable[None]]
) -> None:
    asked: dict[str, Any] = {
        "garnet": {"labels": ["jade"]}, "zircon": {}, "answer": {"tags": ["amber"]}, "topaz": {}, "beryl": {},
        "opal": {},
        "about": {"cwd": "/work/watch"},
    }  # fmt: skip
    async with running(tmp_path) as daemon:
        names = await some_sessions(await daemon.attach(), 3)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()
        for name in names:
            await peer.call("session/open", sessionId=name)
        await answers(peer, asked)
        await write(peer, names[1])
        while_open = await answers(peer, asked)
        assert while_open == await answers(peer, asked)
    async with running(tmp_path) as daemon:
        assert await answers(await daemon.attach(), asked) == while_open


async def test_lists_show_only_committed_lines_during_concurrent_writes(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        peers = [await daemon.attach() for _ in range(3)]
        names = await some_sessions(peers[0], 6)

        async def write(peer: Peer, name: str) -> None:
            for number in range(10):
                await peer.append(name, user(f"line {number}"))

        writing = asyncio.gather(*(write(peers[at % 3], name) for at, name in enumerate(names)))
        while not writing.done():
            before = {
                name: (await peers[0].call("session/info", sessionId=name))["session"] for name in names
            }
            for session in (await peers[1].call("session/list"))["sessions"]:
                assert before[session["sessionId"]]["entryCount"] <= session["entryCount"] <= 12
        await writing
        counts = [session["entryCount"] for session in (await peers[1].call("session/list"))["sessions"]]
        assert counts == [12] * 6
