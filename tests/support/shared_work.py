"""Clients of several daemons that work on one session, and the history of the answers that they received."""

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from support.columns import entries_of
from support.daemons import Peer, Refused, user
from support.linearizability import ANYWHERE, Append

Kind = Literal["append", "named", "expects", "repeats"]


@dataclass(frozen=True)
class Step:
    """One request of a client: the number of its entries, and the turns of the event loop before it is sent."""

    kind: Kind
    count: int
    pause: int


@dataclass
class Work:
    """The operations of clients on one session. The first two lines of the log do not count as operations."""

    session_id: str
    clock: "itertools.count[int]" = field(default_factory=itertools.count)
    done: list[Append] = field(default_factory=list)
    expected: dict[int, str | None] = field(default_factory=dict)
    """The expected leaf of an operation as an entry id, by its place in `done`."""
    found: dict[int, str | None] = field(default_factory=dict)
    """The leaf of a conflict as an entry id, by its place in `done`."""
    leaves: dict[str, str] = field(default_factory=dict)
    """The last entry in an answer to each client, by the name of the client."""

    async def client(self, name: str, peer: Peer, steps: Sequence[Step]) -> None:
        """Send requests one after the other. A request whose outcome is unknown is sent again, with the given ids."""
        sent: list[dict[str, Any]] = []
        for number, step in enumerate(steps):
            for _ in range(step.pause):
                await asyncio.sleep(0)
            entries = [user(f"{name}-{number}-{place}") for place in range(step.count)]
            if step.kind in ("named", "repeats"):
                entries = [
                    {**entry, "id": f"id-{name}-{number}-{place}"} for place, entry in enumerate(entries)
                ]
            if step.kind == "repeats" and sent:
                entries = sent
            if step.kind == "named":
                sent = entries
            params = {"expectedLeafId": self.leaves.get(name)} if step.kind == "expects" else {}
            await self._request(name, peer, entries, params)

    async def _request(
        self, name: str, peer: Peer, entries: list[dict[str, Any]], params: dict[str, Any]
    ) -> None:
        names = tuple(entry["message"]["content"] for entry in entries)
        called = next(self.clock)
        for _ in range(20):
            try:
                made = await peer.append(self.session_id, *entries, **params)
            except Refused as refused:
                if refused.kind == "outcomeUnknown":
                    ids = refused.details["entryIds"]
                    entries = [{**entry, "id": id} for entry, id in zip(entries, ids, strict=True)]
                    continue
                if refused.kind in ("storeUnreachable", "overloaded"):
                    await asyncio.sleep(0.01)
                    continue
                if refused.kind != "leafConflict":
                    raise
                self._note(
                    Append(names, called, next(self.clock), "conflict"),
                    params,
                    refused.details["currentLeafId"],
                )
                self.leaves[name] = refused.details["currentLeafId"]
                return
            seqs = tuple(entry["seq"] for entry in made["entries"])
            self._note(Append(names, called, next(self.clock), "stored", seqs), params)
            self.leaves[name] = made["leafId"]
            return
        self._note(Append(names, called), params)

    def _note(self, operation: Append, params: dict[str, Any], found: str | None = None) -> None:
        if "expectedLeafId" in params:
            self.expected[len(self.done)] = params["expectedLeafId"]
        if operation.outcome == "conflict":
            self.found[len(self.done)] = found
        self.done.append(operation)

    def history(self, names: dict[str, str]) -> list[Append]:
        """The operations, with the leaves as names. `names` has the name of each entry id of the final log."""

        def name_of(entry_id: str | None) -> str | None:
            return None if entry_id is None else names.get(entry_id, f"no entry {entry_id}")

        return [
            replace(
                append,
                expected=name_of(self.expected[place]) if place in self.expected else ANYWHERE,
                leaf=name_of(self.found.get(place)),
            )
            for place, append in enumerate(self.done)
        ]


async def lines_of(peer: Peer, session_id: str) -> list[dict[str, Any]]:
    """Every entry of a session, in the order of the log."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    while True:
        page = await peer.call("session/entries", sessionId=session_id, **cursor)
        found += entries_of(page)
        if page["nextCursor"] is None:
            return found
        cursor = {"cursor": page["nextCursor"]}


def names_of(entries: Sequence[dict[str, Any]]) -> list[str]:
    """The text of each entry, which is its name."""
    return [entry["message"]["content"] for entry in entries]
