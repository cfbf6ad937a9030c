"""A daemon that may have 512 descriptors, soft and hard: sessions are not limited by them, and clients get theirs."""

import asyncio
import resource
import signal
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.daemons import Peer, Running, assistant, joined, spawn, user

LIMIT = 512
SESSIONS = 1_500

pytestmark = pytest.mark.slow


@asynccontextmanager
async def limited(home: Path) -> AsyncIterator[Running]:
    process = await spawn(home, descriptors=LIMIT)
    try:
        assert resource.prlimit(process.pid, resource.RLIMIT_NOFILE) == (LIMIT, LIMIT)
        daemon = joined(home)
        yield daemon
        await daemon.detach_all()
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def in_turns(calls: Iterable[Awaitable[Any]], together: int = 100) -> list[Any]:
    """Await all of them, some at a time."""
    waiting, results = list(calls), []
    for at in range(0, len(waiting), together):
        results += await asyncio.gather(*waiting[at : at + together])
    return results


def names() -> list[str]:
    return [f"session-{number:04}" for number in range(SESSIONS)]


async def make(peer: Peer, name: str) -> None:
    await peer.call("session/create", cwd="/work/many", id=name)
    await peer.append(name, user(f"{name} about garnet"), assistant("an answer"))


async def entry_count(peer: Peer, name: str) -> int:
    return int((await peer.call("session/info", sessionId=name))["session"]["entryCount"])


async def test_many_more_sessions_than_descriptors_are_created_held_written_read_and_listed(
    tmp_path: Path,
) -> None:
    async with limited(tmp_path) as daemon:
        peer = await daemon.attach()
        await in_turns(make(peer, name) for name in names())
        status = await peer.call("server/status")
        assert status["openSessionCount"] == SESSIONS
        assert status["descriptorCount"] < LIMIT
        assert set(await in_turns(entry_count(peer, name) for name in names())) == {2}
        assert (await peer.call("session/list", withTotal=True))["totalCount"] == SESSIONS
        assert (await peer.call("session/search", query="garnet", limit=10))["hits"]

        others = [await daemon.attach() for _ in range(LIMIT // 4)]
        await asyncio.gather(*(client.call("session/open", sessionId="session-0000") for client in others))
        await in_turns(others[at % len(others)].append(name, user("more")) for at, name in enumerate(names()))
        assert set(await in_turns(entry_count(peer, name) for name in names())) == {3}
    for path in joined(tmp_path).files():
        assert path.read_bytes().count(b"\n") == 4


async def test_an_index_is_made_and_the_doctor_looks_under_the_limit(tmp_path: Path) -> None:
    async with limited(tmp_path) as daemon:
        peer = await daemon.attach()
        await in_turns(make(peer, name) for name in names()[:300])
    for path in (tmp_path / "state").glob("index*"):
        path.unlink()
    async with limited(tmp_path) as daemon:
        peer = await daemon.attach()
        opened = await in_turns(peer.call("session/open", sessionId=name) for name in names()[:300])
        assert len(opened) == 300
        found = await peer.call("session/search", query="garnet", limit=1_000, waitMs=60_000)
        assert (len(found["hits"]), found["unsearched"]["sessionCount"]) == (300, 0)
        found = await peer.call("server/doctor")
        assert not [finding for finding in found["findings"] if finding["severity"] == "error"]
