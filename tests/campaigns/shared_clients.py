"""Clients of the campaign `postgres`: they append and watch, and go on when their daemon is killed."""

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from campaigns.daemons import PATIENCE, Home
from sessiond.client.daemon_socket import DaemonConnectionError
from sessiond.client.wire import DisconnectedError
from sessiond.rpc.errors import ConnectionClosed
from support.daemons import Peer, Refused, joined
from support.linearizability import ANYWHERE, Append, Read

_LATER = ("storeUnreachable", "overloaded", "draining", "storageFailed")
"""Kinds of errors after which nothing was stored, and the same request is sent again."""
LOST = (ConnectionClosed, OSError, DisconnectedError, DaemonConnectionError)


async def attach(home: Home) -> Peer:
    """A client of the daemon of a home, which is started if it does not run."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await asyncio.to_thread(home.call, "server/status")
                return await joined(home.folder).attach()
            except LOST:
                await asyncio.sleep(0.02)


async def patiently(peer: Peer, method: str, **params: Any) -> Any:
    """The result of a request, which is sent again as long as the daemon does not reach the store."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await peer.call(method, **params)
            except Refused as refused:
                if refused.kind not in _LATER:
                    raise
            await asyncio.sleep(0.02)


class SharedClient:
    """Appends to a session, one request after the other. Without an answer, entries with ids are sent again."""

    def __init__(self, name: str, home: Home, session_id: str, dice: random.Random) -> None:
        self.done: list[Append] = []
        self._name = name
        self._home = home
        self._session_id = session_id
        self._dice = dice
        self._peer: Peer | None = None
        self._leaf: str | None = None
        self._ids: dict[int, tuple[str | None, str | None]] = {}
        """The expected leaf and the leaf of a conflict, as ids, by the place of the operation in `done`."""

    async def run(self, count: int) -> None:
        before: list[dict[str, Any]] = []
        for number in range(count):
            await asyncio.sleep(self._dice.uniform(0.0, 0.08))
            kind = self._dice.choice(("plain", "named", "named", "expects", "repeats"))
            entries = [
                self._draft(f"{self._name}-{number}-{place}") for place in range(self._dice.randint(1, 3))
            ]
            if kind != "plain":
                entries = [{**entry, "id": f"id-{entry['message']['content']}"} for entry in entries]
            if kind == "repeats" and before:
                entries = before
            if kind == "named":
                before = entries
            expects = kind == "expects" and self._leaf is not None
            await self._request(entries, self._leaf if expects else ANYWHERE)
        if self._peer is not None:
            self._peer.connection.close()

    @staticmethod
    def _draft(text: str) -> dict[str, Any]:
        return {"type": "message", "message": {"role": "user", "content": text}}

    async def _request(self, entries: list[dict[str, Any]], expected: str | None) -> None:
        names = tuple(entry["message"]["content"] for entry in entries)
        params = {} if expected == ANYWHERE else {"expectedLeafId": expected}
        called = time.monotonic()
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    if self._peer is None or self._peer.is_closed.is_set():
                        self._peer = await attach(self._home)
                    made = await self._peer.append(self._session_id, *entries, **params)
                except LOST:
                    if "id" not in entries[0]:
                        self._note(Append(names, called), expected)
                        return
                except Refused as refused:
                    if refused.kind == "outcomeUnknown" and refused.details["entryIds"]:
                        ids = refused.details["entryIds"]
                        entries = [{**entry, "id": id} for entry, id in zip(entries, ids, strict=True)]
                    elif refused.kind == "leafConflict":
                        self._leaf = refused.details["currentLeafId"]
                        self._note(Append(names, called, time.monotonic(), "conflict"), expected, self._leaf)
                        return
                    elif refused.kind not in _LATER:
                        raise
                    await asyncio.sleep(0.02)
                else:
                    seqs = tuple(entry["seq"] for entry in made["entries"])
                    self._note(Append(names, called, time.monotonic(), "stored", seqs), expected)
                    self._leaf = made["leafId"]
                    return

    def _note(self, operation: Append, expected: str | None, found: str | None = None) -> None:
        self._ids[len(self.done)] = (expected, found)
        self.done.append(operation)

    def history(self, names: Mapping[str, str], base: Mapping[str, str | None]) -> list[Append]:
        """The operations, with the leaves as names.

        Args:
            names: The name of each entry by its id.
            base: The entry before them all, of which the name is None.
        """
        named: dict[str | None, str | None] = {None: "no leaf", ANYWHERE: ANYWHERE}
        named.update(names)
        named.update(base)
        return [
            replace(append, expected=named.get(expected, f"no entry {expected}"), leaf=named.get(found))
            for append, (expected, found) in zip(self.done, self._ids.values(), strict=True)
        ]


class Watcher:
    """A subscriber of a session at one daemon, which subscribes again after the last line that it was told."""

    def __init__(self, home: Home, session_id: str) -> None:
        self.lines: list[tuple[int, str]] = []
        self.last = 0
        self._home = home
        self._session_id = session_id
        self._log_id = ""

    async def run(self) -> None:
        """Watch until the task is canceled."""
        while True:
            peer = await attach(self._home)
            try:
                await self._watch(peer)
            except (*LOST, Refused):
                await asyncio.sleep(0.02)
            finally:
                peer.connection.close()

    async def _watch(self, peer: Peer) -> None:
        if not self._log_id:
            info = await peer.call("session/info", sessionId=self._session_id)
            self._log_id = info["session"]["logId"]
        after = {"logId": self._log_id, "seq": self.last}
        answer = await peer.call("session/subscribe", sessionId=self._session_id, after=after)
        if answer["mode"] != "replay":
            raise AssertionError(f"the gap after {self.last} is not closed: {answer}")
        heard = 0
        while not peer.is_closed.is_set():
            await peer.until(partial(_has_news, heard))
            for method, note in peer.notes[heard:]:
                if method == "session/lagged":
                    return
                if method == "session/appended":
                    self._told(note["items"])
            heard = len(peer.notes)

    def _told(self, items: list[dict[str, Any]]) -> None:
        for item in items:
            self.lines.append((item["seq"], item["entry"]["message"]["content"]))
            self.last = item["seq"]

    def read(self, first: int) -> Read:
        """Return the lines that it was sent after line `first`."""
        return Read(str(self._home.folder), tuple((seq, name) for seq, name in self.lines if seq > first))


def _has_news(heard: int, peer: Peer) -> bool:
    return len(peer.notes) > heard or peer.is_closed.is_set()
