"""Requests that meet a deletion and a restore of their session: each is served, or told that it is in the trash."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from support.any_store import STORES, store_of
from support.daemons import Peer, Refused, assistant, running_on, user

REQUESTS: dict[str, dict[str, Any]] = {
    "session/fork": {},
    "session/append": {"entries": [user("more")]},
    "session/move": {"cwd": "/v"},
    "session/rename": {"title": "t"},
    "session/tag": {"add": ["a"]},
    "session/compact": {"summary": "short"},
    "session/context": {},
    "session/tree": {},
    "session/entries": {},
    "session/path": {},
    "session/stats": {},
    "session/info": {},
    "session/open": {},
    "sync/ids": {},
    "sync/lines": {},
}


class Race:
    """Requests of two clients about one session, sent at random moments."""

    def __init__(self, peers: list[Peer], session_id: str, dice: random.Random) -> None:
        self._peers = peers
        self._session_id = session_id
        self._dice = dice
        self._sent: list[tuple[str, asyncio.Future[Any]]] = []

    async def send_some(self, count: int) -> None:
        for name in self._dice.sample(sorted(REQUESTS), count):
            peer = self._dice.choice(self._peers)
            self._sent.append((name, peer.send(name, sessionId=self._session_id, **REQUESTS[name])))
        for _ in range(self._dice.choice([0, 1, 3, 10])):
            await asyncio.sleep(0)

    async def refusals(self) -> list[str]:
        """The errors of all requests, but for those that say that the session is in the trash."""
        found = []
        for name, answer in self._sent:
            try:
                await answer
            except Refused as refused:
                if refused.kind not in ("sessionTrashed", "nothingToCompact"):
                    found.append(f"{name}: {refused}")
        return found


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("seed", range(4))
async def test_a_session_that_is_deleted_and_restored_is_never_missing_and_never_a_bad_descriptor(
    tmp_path: Path, request: pytest.FixtureRequest, seed: int, kind: str
) -> None:
    dice = random.Random(seed)
    async with store_of(kind, request, tmp_path) as store, running_on(store, tmp_path) as daemon:
        peers = [await daemon.attach(), await daemon.attach()]
        for _ in range(4):
            session_id = (await peers[0].call("session/create", cwd="/w"))["session"]["sessionId"]
            large = "x" * dice.choice([10, 30_000])
            await peers[0].append(
                session_id,
                *(item for _ in range(dice.choice([2, 20])) for item in (user(large), assistant(large))),
            )
            if dice.random() < 0.4:
                await peers[0].call("session/close", sessionId=session_id)
            race = Race(peers, session_id, dice)
            await race.send_some(8)
            deletion = peers[1].send("session/delete", sessionId=session_id)
            await race.send_some(6)
            restore = peers[1].send("trash/restore", trashId=(await deletion)["trashId"])
            await race.send_some(6)
            await restore
            assert await race.refusals() == []
            assert (await peers[0].call("session/info", sessionId=session_id))["session"]
