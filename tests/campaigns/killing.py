"""Lives of a daemon, each ended by kill -9 at a random moment, and what must hold after each."""

import asyncio
import contextlib
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from campaigns.campaign import Figures, Ground, hold
from campaigns.daemons import PATIENCE, Home, end_all_in, processes_in, until
from campaigns.log_on_disk import LogOnDisk, log_of, read_log
from campaigns.nursery import Nursery, nursery
from campaigns.writers import Follower, Ledger, Load, Writer
from sessiond.client.daemon import Daemon
from sessiond.protocol import types as t

_BY_AUTOSTART = 0.25
"""The part of the lives that begin as a client begins one. The others come out of the nursery, which is quicker."""


@dataclass
class Tally:
    tried: int = 0
    acknowledged: int = 0
    delivered: int = 0
    autostarts: int = 0
    deaths_at_start: int = 0
    torn: int = 0


def wage(ground: Ground, load: Load, *, short: int, long: int) -> Figures:
    """Rounds until the scale is reached; raises `Broken`."""
    with nursery() as nurse:
        return asyncio.run(_wage(ground, load, nurse, short, long))


async def _wage(ground: Ground, load: Load, nurse: Nursery, short: int, long: int) -> Figures:
    rounds = ground.each_round(short=short, long=long, seconds=load.seconds)
    tally = Tally()
    done = 0
    for first in rounds:
        home = Home(ground.folder / f"{first}")
        async with contextlib.AsyncExitStack() as stack:
            season = await Season.begin(home, load, nurse, stack)
            await season.live(ground.chance(first), tally)
            done += 1
            for number in islice(rounds, load.season - 1):
                await season.live(ground.chance(number), tally)
                done += 1
            await season.settle(tally)
        home.kill()
        tally.torn += len(list((home.folder / "data").rglob("*.torn-*")))
        shutil.rmtree(home.folder)
    return Figures(
        rounds=done,
        faults=done,
        tried=tally.tried,
        checked=tally.acknowledged + tally.delivered,
        more=f"{tally.acknowledged:,} acknowledgements, {tally.delivered:,} deliveries, "
        f"{tally.autostarts + tally.deaths_at_start:,} autostarts, {tally.deaths_at_start:,} deaths during one, "
        f"{tally.torn:,} torn or cut-off tails",
    )


class Season:
    """Some sessions, those who write to them and those who follow them, over several lives of the daemon."""

    def __init__(
        self,
        home: Home,
        load: Load,
        nurse: Nursery,
        reader: Daemon,
        ledgers: list[Ledger],
        writers: list[Writer],
    ) -> None:
        self._home = home
        self._nurse = nurse
        self._load = load
        self._reader = reader
        self._ledgers = ledgers
        self._writers = writers
        self._followers: list[tuple[Follower, Ledger]] = []

    @classmethod
    async def begin(
        cls, home: Home, load: Load, nurse: Nursery, stack: contextlib.AsyncExitStack
    ) -> "Season":
        await asyncio.to_thread(nurse.start, home)
        reader = await stack.enter_async_context(home.connect())
        ledgers = []
        for number in range(load.sessions):
            made = await reader.create(f"/work/{number}")
            ledgers.append(Ledger(made.session.session_id))
        writers = [
            Writer(f"w{number}", await stack.enter_async_context(home.connect()), ledgers)
            for number in range(load.writers)
        ]
        season = cls(home, load, nurse, reader, ledgers, writers)
        for _ in range(load.followers):
            daemon = await stack.enter_async_context(home.connect())
            for ledger in ledgers:
                await daemon.open(ledger.session_id)
                subscription = daemon.subscribe(ledger.session_id)
                await subscription.start()
                season._followers.append((Follower(subscription), ledger))
        return season

    async def live(self, chance: random.Random, tally: Tally) -> None:
        """One life: the writers bring the daemon up if it is not there, and it is killed."""
        by_autostart = chance.random() < _BY_AUTOSTART
        dies_at_start = by_autostart and chance.random() < 0.4
        if not by_autostart:
            await self._bring_up()
        working = [
            asyncio.create_task(writer.work(random.Random(chance.random()), self._load))
            for writer in self._writers
        ]
        if dies_at_start and self._home.pid() is None:
            await self._until(working, lambda: processes_in(self._home.folder))
            await asyncio.sleep(chance.random() * 0.3)
            tally.deaths_at_start += self._home.pid() is None
        else:
            tally.autostarts += by_autostart
            await self._until(working, lambda: self._home.pid() is not None)
            await asyncio.sleep(chance.random() ** 2 * self._load.longest_life)
        await self._end(working)
        self._check_files()

    async def _end(self, working: "list[asyncio.Task[None]]") -> None:
        """Kill the daemon, and again whichever one a writer was about to start, until none is to come."""
        async with asyncio.timeout(PATIENCE):
            while True:
                await asyncio.to_thread(self._home.kill)
                await asyncio.to_thread(end_all_in, self._home.folder)
                if all(task.done() for task in working):
                    break
                await asyncio.wait(working, timeout=0.01)
        await asyncio.to_thread(end_all_in, self._home.folder)
        await asyncio.gather(*working)

    async def _bring_up(self) -> None:
        """Have a daemon, without waiting for a client to start one."""
        if self._home.pid() is None:
            await asyncio.to_thread(self._nurse.start, self._home)

    async def _until(self, working: "list[asyncio.Task[None]]", happens: Callable[[], object]) -> None:
        """Wait for what the writers bring about; in vain when all gave up, as they may where a start takes long."""
        await asyncio.to_thread(
            until, lambda: happens() or all(task.done() for task in working), "no daemon was started"
        )

    def _check_files(self) -> list[LogOnDisk]:
        logs = [read_log(log_of(self._home.folder, ledger.session_id)) for ledger in self._ledgers]
        for ledger, log in zip(self._ledgers, logs, strict=True):
            ledger.check(log)
        return logs

    async def settle(self, tally: Tally) -> None:
        """The end: everything is sent again, and what file, daemon and followers say is one and the same."""
        await self._bring_up()
        for writer in self._writers:
            await writer.finish()
        for ledger in self._ledgers:
            await self._writers[0].again(ledger, ledger.batches)
        await self._reader.flush()
        for ledger, log in zip(self._ledgers, self._check_files(), strict=True):
            hold(not log.tail, f"{log.path}: it ends in {log.tail[:60]!r} while the daemon works")
            await self._check_served(ledger, log)
            tally.acknowledged += ledger.acknowledged
            for follower, followed in self._followers:
                if followed is ledger:
                    await follower.has_seen(len(log.lines) - 1, PATIENCE)
                    follower.check(log)
                    tally.delivered += len(follower.seen)
        for follower, _ in self._followers:
            await follower.end()
        tally.tried += sum(writer.tried for writer in self._writers)

    async def _check_served(self, ledger: Ledger, log: LogOnDisk) -> None:
        """The daemon returns the file, line by line."""
        at, log_id = 0, ""
        while at < len(log.lines) - 1:
            page = await self._reader.entries(
                ledger.session_id, after=t.After(log_id=log_id, seq=at) if at else None, limit=1_000
            )
            log_id = page.log_id
            hold(page.items, f"{log.path}: nothing behind line {at} of {len(log.lines)}")
            for entry in page.items:
                hold(entry.seq == at + 1, f"{log.path}: line {entry.seq} was read out behind line {at}")
                hold(
                    entry.entry == log.lines[entry.seq],
                    f"{log.path}: line {entry.seq} was read out as another",
                )
                at = entry.seq
