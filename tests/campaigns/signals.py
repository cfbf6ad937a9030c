"""Signals under load: the daemon ends in order, or follows its files anew, and nothing acknowledged is lost."""

import asyncio
import contextlib
import random
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import PATIENCE, Home, until
from campaigns.log_on_disk import log_of, read_log
from campaigns.writers import Follower, Ledger, Load, Writer
from sessiond.client.daemon import Daemon

_LOAD: Final = Load(
    sizes=(1, 300, 5_000, 200_000),
    batches=(1, 1, 3, 10),
    durabilities=("synced", "synced", "written"),
    writers=4,
    followers=1,
    sessions=2,
    longest_life=0.25,
)

TERM, INT, HUP = signal.SIGTERM, signal.SIGINT, signal.SIGHUP
WAYS: Final[Sequence[Sequence[signal.Signals]]] = (
    (TERM,),
    (INT,),
    (HUP, TERM),
    (HUP, HUP, HUP, TERM),
    (TERM, HUP),
)
"""The last one ends it; a SIGHUP while it ends is nothing to be afraid of."""


class Under:
    """A home with sessions, writers and followers that outlast its daemons."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.ledgers: list[Ledger] = []
        self.writers: list[Writer] = []
        self.followers: list[tuple[Follower, Ledger]] = []
        self.reader: Daemon

    async def begin(self, stack: contextlib.AsyncExitStack) -> None:
        """Needs a daemon. Clients start none: the campaign does, to see how each of them ends."""
        self.reader = await stack.enter_async_context(self.home.connect(autostart=False))
        for number in range(_LOAD.sessions):
            made = await self.reader.create(f"/work/{number}")
            self.ledgers.append(Ledger(made.session.session_id))
        for number in range(_LOAD.writers):
            daemon = await stack.enter_async_context(self.home.connect(autostart=False))
            self.writers.append(Writer(f"w{number}", daemon, self.ledgers))
        for ledger in self.ledgers:
            subscription = self.reader.subscribe(ledger.session_id)
            await subscription.start()
            self.followers.append((Follower(subscription), ledger))

    def check(self) -> None:
        for ledger in self.ledgers:
            log = read_log(log_of(self.home.folder, ledger.session_id))
            hold(not log.tail, f"{log.path}: it ends in {log.tail[:60]!r} though the daemon ended in order")
            ledger.check(log)

    async def settle(self) -> int:
        """Needs a daemon: what has no answer is sent again, and followers have seen everything once."""
        for writer in self.writers:
            await writer.finish()
        await self.reader.flush()
        delivered = 0
        for follower, ledger in self.followers:
            log = read_log(log_of(self.home.folder, ledger.session_id))
            ledger.check(log)
            await follower.has_seen(len(log.lines) - 1, PATIENCE)
            follower.check(log)
            delivered += len(follower.seen)
            await follower.end()
        return delivered


async def _life(
    under: Under, process: "subprocess.Popen[bytes]", way: Sequence[signal.Signals], chance: random.Random
) -> None:
    log = Path(under.home.locations.log)
    ends = _count(log, "all acknowledged writes are on disk")
    again = _count(log, "Configuration reloaded")
    working = [
        asyncio.create_task(writer.work(random.Random(chance.random()), _LOAD)) for writer in under.writers
    ]
    for number in way:
        await asyncio.sleep(chance.random() * _LOAD.longest_life)
        hold(process.poll() is None or number is not way[0], "the daemon ended by itself")
        process.send_signal(number)
    status = await asyncio.to_thread(process.wait, PATIENCE)
    named = ", ".join(signals.name for signals in way)
    hold(status == 0, f"after {named} the daemon ended with {status}")
    hold(_count(log, "all acknowledged writes are on disk") > ends, f"after {named} it did not end in order")
    if way[0] is HUP:
        hold(
            _count(log, "Configuration reloaded") > again,
            f"after {named} it did not read its configuration again",
        )
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*working)
    under.check()


def _count(log: Path, words: str) -> int:
    return log.read_text(encoding="utf-8").count(words) if log.exists() else 0


async def _wage(ground: Ground) -> Figures:
    home = Home(ground.folder / "h")
    under, rounds, sent = Under(home), 0, 0
    async with contextlib.AsyncExitStack() as stack:
        for number in ground.each_round(short=15, long=1_000):
            way = WAYS[number % len(WAYS)]
            with home.serving() as process:
                await asyncio.to_thread(until, lambda: home.pid() is not None, "no daemon is ready")
                if not number:
                    await under.begin(stack)
                await _life(under, process, way, ground.chance(number))
            rounds, sent = rounds + 1, sent + len(way)
        with home.serving():
            await asyncio.to_thread(until, lambda: home.pid() is not None, "no daemon is ready")
            delivered = await under.settle()
    acknowledged = sum(ledger.acknowledged for ledger in under.ledgers)
    return Figures(
        rounds=rounds,
        faults=sent,
        tried=sum(writer.tried for writer in under.writers),
        checked=acknowledged + delivered,
        more=f"{acknowledged:,} acknowledgements, {delivered:,} deliveries",
    )


CAMPAIGN = Campaign(
    name="signals",
    promise="A signal ends the daemon in order, with everything acknowledged on disk and every log whole.",
    how="SIGTERM, SIGINT and SIGHUP at random moments under writers and followers, alone and after one another; "
    "the exit status, the log and every session file are looked at after each life",
    run=lambda ground: asyncio.run(_wage(ground)),
)
