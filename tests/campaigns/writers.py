"""Clients that write and remember what they were told, and followers that remember what they were shown."""

import asyncio
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import Raw, json

from campaigns.campaign import Broken, hold
from campaigns.log_on_disk import LogOnDisk
from sessiond.client.daemon import Daemon
from sessiond.client.daemon_socket import DaemonConnectionError
from sessiond.client.subscription import Subscription
from sessiond.client.wire import DisconnectedError
from sessiond.protocol import methods as m, types as t

_PIECE = 100_000  # characters; strings of more than 500,000 would be taken out of the line


@dataclass(frozen=True)
class Load:
    """The entries to write. `sizes` are characters of an entry; lives last up to `longest_life` seconds of work.

    After `season` rounds the sessions are left for new ones: logs stay short, and creation is under fire, too.
    A short run takes about `seconds`.
    """

    sizes: Sequence[int]
    batches: Sequence[int]
    durabilities: Sequence[t.Durability]
    writers: int
    followers: int
    sessions: int
    longest_life: float
    season: int = 25
    seconds: float = 30.0


@dataclass
class Batch:
    """The entries of one append; `seqs` is empty until it was acknowledged."""

    entries: list[dict[str, Any]]
    durability: t.Durability
    seqs: list[int] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        return [entry["id"] for entry in self.entries]


@dataclass
class Ledger:
    """All that was ever sent to one session, in the order in which each writer sent it."""

    session_id: str
    batches: list[Batch] = field(default_factory=list)

    @property
    def acknowledged(self) -> int:
        return sum(len(batch.seqs) for batch in self.batches)

    def check(self, log: LogOnDisk) -> None:
        """Every acknowledged entry is where it was said to be, and of other batches all is there or nothing."""
        seqs = log.seqs
        for batch in self.batches:
            there = [seqs.get(text) for text in batch.ids]
            if batch.seqs:
                hold(
                    there == batch.seqs,
                    f"{log.path}: {batch.ids} were acknowledged as {batch.seqs} and are {there}; near them are "
                    f"{log.lines_around(batch.seqs[0])}",
                )
            elif any(seq is not None for seq in there):
                self._check_cut_off(log, batch, [seq for seq in there if seq is not None])

    def _check_cut_off(self, log: LogOnDisk, batch: Batch, there: list[int]) -> None:
        """Part of a batch may lie at the very end, where the next reader sees that it is cut off."""
        start = there[0]
        hold(there == list(range(start, start + len(there))), f"{log.path}: {batch.ids} lie at {there}")
        if len(there) < len(batch.entries):
            hold(start + len(there) == len(log.lines), f"{log.path}: half of {batch.ids} lies at {there}")
            hold(log.raw[-1].endswith(b"\t}"), f"{log.path}: half of {batch.ids} is not known as such")


class Writer:
    """Appends batches with ids of its own. A batch without an answer is sent again until there is one."""

    def __init__(self, name: str, daemon: Daemon, ledgers: Sequence[Ledger]) -> None:
        self._name = name
        self._daemon = daemon
        self._ledgers = ledgers
        self._pending: list[tuple[Ledger, Batch]] = []
        self._count = 0
        self._failure: Exception | None = None
        self.tried = 0

    async def work(self, chance: random.Random, load: Load) -> None:
        """Resume, then append until the daemon is gone."""
        if not await self.resume():
            return
        while True:
            if not await self.append(chance.choice(self._ledgers), chance, load):
                return

    async def append(self, ledger: Ledger, chance: random.Random, load: Load) -> bool:
        """Append one batch of new entries; False when the daemon went away meanwhile."""
        entries = [self._entry(chance.choice(load.sizes)) for _ in range(chance.choice(load.batches))]
        batch = Batch(entries, chance.choice(load.durabilities))
        ledger.batches.append(batch)
        self._pending.append((ledger, batch))
        return await self.resume()

    async def resume(self) -> bool:
        """Send what has no answer yet; False when the daemon went away meanwhile."""
        while self._pending:
            ledger, batch = self._pending[0]
            if not await self._send(ledger, batch):
                return False
            self._pending.pop(0)
        return True

    async def finish(self) -> None:
        """Send what has no answer yet, while nobody ends the daemon."""
        hold(await self.resume(), f"the daemon went away by itself: {self._failure!r}")

    async def again(self, ledger: Ledger, batches: Iterable[Batch]) -> None:
        """Send what was sent before: where it was acknowledged, the answer must be the same."""
        for batch in batches:
            hold(await self._send(ledger, batch), f"the daemon went away by itself: {self._failure!r}")

    async def _send(self, ledger: Ledger, batch: Batch) -> bool:
        params = t.AppendParams(
            session_id=ledger.session_id,
            entries=[Raw(json.encode(entry)) for entry in batch.entries],
            durability=batch.durability,
        )
        self.tried += sum(len(value) for value in params.entries)
        try:
            done = await self._daemon.call(m.APPEND, params, attempts=1)
        except (DisconnectedError, DaemonConnectionError) as error:
            self._failure = error
            return False
        hold(
            [entry.id for entry in done.entries] == batch.ids,
            f"the answer to {batch.ids} was about {done.entries}",
        )
        seqs = [entry.seq for entry in done.entries]
        known = batch.seqs
        hold(known in ([], seqs), f"{batch.ids} were acknowledged as {known}, and later as {seqs}")
        if known:
            hold(
                all(entry.status == "duplicate" for entry in done.entries),
                f"{batch.ids} were stored once more",
            )
        batch.seqs = seqs
        return True

    def _entry(self, size: int) -> dict[str, Any]:
        self._count += 1
        pieces = [size] if size < _PIECE else [_PIECE] * (size // _PIECE)
        blocks = [{"type": "text", "text": "x" * piece} for piece in pieces]
        return {
            "id": f"{self._name}-{self._count}",
            "type": "message",
            "message": {"role": "user", "content": blocks},
        }


class Follower:
    """Follows a session and remembers every entry it was shown, with its seq."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._start = subscription.seq or 0
        self._shown = asyncio.Event()
        self.seen: list[tuple[int, str]] = []
        self._task = asyncio.create_task(self._follow())

    async def has_seen(self, seq: int, within: float) -> None:
        """Wait until it was shown line `seq`."""
        async with asyncio.timeout(within):
            while (self.seen[-1][0] if self.seen else self._start) < seq and not self._task.done():
                self._shown.clear()
                await asyncio.wait(
                    (self._task, shown := asyncio.create_task(self._shown.wait())),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                shown.cancel()
        if self._task.done():
            self._task.result()

    def check(self, log: LogOnDisk) -> None:
        """It was shown every entry exactly once, in order, each as the file has it."""
        seqs = [seq for seq, _ in self.seen]
        entries = [seq for seq in range(self._start + 1, len(log.lines)) if "id" in log.lines[seq]]
        if seqs != entries[: len(seqs)]:
            raise Broken(f"{log.path}: a follower was shown {_first_difference(seqs, entries)}")
        for seq, name in self.seen:
            there = log.lines[seq].get("id") if seq < len(log.lines) else None
            hold(there == name, f"{log.path}: a follower was shown {name} as line {seq}, which is {there}")

    async def end(self) -> None:
        await self._subscription.aclose()
        await self._task

    async def _follow(self) -> None:
        async for entry in self._subscription:
            self.seen.append((self._subscription.seq or 0, entry["id"]))
            self._shown.set()


def _first_difference(seqs: list[int], wanted: list[int]) -> str:
    at = next((at for at, seq in enumerate(seqs) if wanted[at : at + 1] != [seq]), 0)
    return f"{seqs[max(0, at - 2) : at + 3]} where {wanted[max(0, at - 2) : at + 3]} were due"
