"""Killed while images go in: what was acknowledged has its blob, and a blob without a line harms nobody."""

import asyncio
import hashlib
import random
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from sessiond.rpc.errors import ConnectionClosed
from support import image_blob_daemon
from support.columns import entries_of
from support.daemons import Peer, assistant, joined, running, spawn, user
from support.disk import Disk
from support.homes import a_home
from support.images import image_block, png
from support.patience import BOUND
from support.shared import lines_of

WRITERS = 3


def shows(picture: bytes, name: str) -> dict[str, Any]:
    return {"type": "message", "id": name, "message": {"role": "user", "content": [image_block(picture)]}}


async def test_a_crash_between_blob_and_line_leaves_a_blob_that_nobody_names(tmp_path: Path) -> None:
    disk, home, crashed = Disk(), tmp_path / "home", tmp_path / "crashed"
    picture = png(50, 50)
    async with running(home, calls=disk.calls, image_blobs=True) as daemon:
        peer = await daemon.attach()
        session_id = (await peer.call("session/create", cwd="/work"))["session"]["sessionId"]
        await peer.append(session_id, user("hello"), assistant("hi"))
        # The blob is written first; right before the line is, everything is as after a kill -9.
        disk.before_next("write", lambda: None)
        disk.before_next("write", lambda: shutil.copytree(home, crashed))
        await peer.append(session_id, shows(picture, "q1"))
    async with running(crashed, image_blobs=True) as daemon:
        peer = await daemon.attach()
        path = await peer.call("session/path", sessionId=session_id)
        found = await peer.call("blob/collect", graceMs=0)
        assert [entry.get("id") for entry in entries_of(path)].count("q1") == 0
        assert [blob["hash"] for blob in found["removed"]] == [hashlib.sha256(picture).hexdigest()]
        again = await peer.append(session_id, shows(picture, "q1"))
        assert again["entries"][0]["status"] == "created"
        assert (await peer.call("blob/collect", graceMs=0))["removed"] == []


class Sender:
    """Appends pictures, several at a time, and knows which were acknowledged."""

    def __init__(self, name: str, session_id: str) -> None:
        self.name = name
        self.session_id = session_id
        self.sent = 0
        self.acknowledged: set[str] = set()
        self.began = asyncio.Event()

    async def work(self, peer: Peer) -> None:
        running: set[asyncio.Task[None]] = set()
        while not peer.is_closed.is_set():
            while len(running) < 4:
                self.sent += 1
                running.add(asyncio.create_task(self._send(peer, f"{self.name}-{self.sent}")))
            _, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        if running:
            await asyncio.wait(running)

    async def _send(self, peer: Peer, name: str) -> None:
        try:
            await peer.append(self.session_id, shows(picture_of(name), name))
        except ConnectionClosed:
            return
        self.acknowledged.add(name)
        self.began.set()


def picture_of(name: str) -> bytes:
    return name.encode() * 300


@pytest.mark.slow
async def test_every_acknowledged_picture_is_there_after_a_kill() -> None:
    chance = random.Random(7)
    with a_home() as locations:
        home = Path(str(locations.home))
        process = await spawn(home, command=image_blob_daemon.command("serve"))
        peer = await joined(home).attach()
        session_id = (await peer.call("session/create", cwd="/work"))["session"]["sessionId"]
        await peer.append(session_id, user("hello"), assistant("hi"))
        file = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])
        senders = [Sender(f"w{number}", session_id) for number in range(WRITERS)]
        for _ in range(6):
            daemon = joined(home)
            peers = [await daemon.attach() for _ in senders]
            working = [
                asyncio.create_task(sender.work(at)) for sender, at in zip(senders, peers, strict=True)
            ]
            async with asyncio.timeout(BOUND):
                await asyncio.gather(*(sender.began.wait() for sender in senders))
            await asyncio.sleep(0.02 + chance.random() * 0.1)
            process.send_signal(signal.SIGKILL)
            await process.wait()
            async with asyncio.timeout(BOUND):
                await asyncio.gather(*working)
            process = await spawn(home, command=image_blob_daemon.command("serve"))
            reader = await joined(home).attach()
            await reader.append(session_id, {"type": "custom", "customType": "check"})  # sees to a torn line
            assert (await reader.call("blob/collect", graceMs=0))["missing"] == []
            stored = {str(entry.get("id")) for entry in lines_of(file)}
            for sender in senders:
                assert sender.acknowledged <= stored
        for sender in senders:
            for name in sender.acknowledged:
                digest = hashlib.sha256(picture_of(name)).hexdigest()
                assert (home / "data" / "blobs" / digest).read_bytes() == picture_of(name)
        assert any(sender.acknowledged for sender in senders)
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0
