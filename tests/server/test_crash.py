"""Killed with SIGKILL at any moment: each acknowledged entry is there, once, in order, retried or not."""

import asyncio
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from sessiond.rpc.errors import ConnectionClosed
from support.columns import entries_of
from support.daemons import Peer, assistant, joined, spawn, user
from support.homes import a_home
from support.patience import BOUND
from support.shared import lines_of

WRITERS = 4
_LEFT_BY_A_CRASH = {"tornLine", "incompleteBatch"}


class Writer:
    """Appends batches with ids of its own, several at a time, and knows what was acknowledged."""

    def __init__(self, name: str, session_id: str) -> None:
        self.name = name
        self.session_id = session_id
        self.sent: list[list[dict[str, Any]]] = []
        self.acknowledged: dict[str, int] = {}
        self.began = asyncio.Event()

    async def work(self, peer: Peer, chance: random.Random) -> None:
        """Append until the daemon is gone."""
        running: set[asyncio.Task[None]] = set()
        while not peer.is_closed.is_set():
            while len(running) < 8:
                running.add(asyncio.create_task(self._send(peer, self._batch(chance))))
            _, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        if running:
            await asyncio.wait(running)

    async def retry(self, peer: Peer) -> None:
        """Send everything again that was ever sent, in order."""
        for batch in self.sent:
            await self._send(peer, batch)

    def _batch(self, chance: random.Random) -> list[dict[str, Any]]:
        start = sum(map(len, self.sent))
        batch = [
            user("x" * chance.choice([1, 100, 5000]), id=f"{self.name}-{start + number}")
            for number in range(chance.choice([1, 1, 1, 3, 10]))
        ]
        self.sent.append(batch)
        return batch

    async def _send(self, peer: Peer, batch: list[dict[str, Any]]) -> None:
        try:
            result = await peer.append(self.session_id, *batch)
        except ConnectionClosed:
            return
        for entry in result["entries"]:
            assert self.acknowledged.setdefault(entry["id"], entry["seq"]) == entry["seq"]
        self.began.set()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
async def test_nothing_acknowledged_is_lost_or_doubled_when_the_daemon_is_killed(seed: int) -> None:
    chance = random.Random(seed)
    with a_home() as locations:
        home = Path(str(locations.home))
        process = await spawn(home)
        peer = await joined(home).attach()
        made = (await peer.call("session/create", cwd="/work/crash"))["session"]
        session_id = made["sessionId"]
        await peer.append(session_id, user("hello"), assistant("hi"))
        path = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])
        writers = [Writer(f"w{number}", session_id) for number in range(WRITERS)]
        for _ in range(5):
            daemon = joined(home)
            peers = [await daemon.attach() for _ in writers]
            working = [
                asyncio.create_task(writer.work(client, chance))
                for writer, client in zip(writers, peers, strict=True)
            ]
            await asyncio.gather(*(writer.began.wait() for writer in writers))
            await asyncio.sleep(0.02 + chance.random() * 0.1)
            process.send_signal(signal.SIGKILL)
            await process.wait()
            async with asyncio.timeout(BOUND):
                await asyncio.gather(*working)
            process = await spawn(home)
            await check(await joined(home).attach(), path, session_id, writers)
        reader = await joined(home).attach()
        await asyncio.gather(*(writer.retry(reader) for writer in writers))
        names = await check(reader, path, session_id, writers)
        everything = [entry["id"] for writer in writers for batch in writer.sent for entry in batch]
        assert sorted(names[3:]) == sorted(everything)
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


async def check(peer: Peer, path: Path, session_id: str, writers: list[Writer]) -> list[str]:
    """The file and what the daemon shows of it agree with every acknowledgement."""
    opened = await peer.call("session/open", sessionId=session_id)
    await peer.append(session_id, {"type": "custom", "customType": "check"}, advance=False)
    stored = [entry for entry in lines_of(path) if entry.get("customType") != "check"]
    names = [str(entry["id"]) for entry in stored if entry["type"] != "leaf"]
    assert len(set(names)) == len(names)
    rows = path.read_bytes().split(b"\n")
    seqs = {entry["id"]: seq for seq, entry in enumerate(lines_of(path))}
    assert len(rows) == len(seqs) + 1
    for writer in writers:
        assert {name: seqs[name] for name in writer.acknowledged} == writer.acknowledged
        mine = [name for name in names if name.startswith(f"{writer.name}-")]
        for batch in writer.sent:
            there = [entry["id"] for entry in batch if entry["id"] in seqs]
            assert there in ([], [entry["id"] for entry in batch])
        assert mine
    shown = []
    cursor = None
    while True:
        page = await peer.call("session/entries", sessionId=session_id, limit=10_000, cursor=cursor)
        shown += [entry["id"] for entry in entries_of(page) if entry.get("customType") != "check"]
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert [name for name in shown if name in set(names)] == names[1:]
    assert {problem["kind"] for problem in opened.get("problems", [])} <= _LEFT_BY_A_CRASH
    return names
