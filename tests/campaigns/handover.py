"""One daemon makes room for another, older or newer, with clients attached who go on without a break."""

import asyncio
import contextlib
import random
import subprocess
from pathlib import Path
from typing import Final

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import PATIENCE, Home
from campaigns.other_version import build, command
from campaigns.signals import Under
from campaigns.writers import Load, Writer
from sessiond.client.daemon_socket import VersionMismatchError, read_endpoint
from sessiond.client.dial import connect

_LOAD: Final = Load(
    sizes=(1, 300, 5_000, 100_000),
    batches=(1, 1, 3, 10),
    durabilities=("synced", "synced", "written"),
    writers=3,
    followers=1,
    sessions=2,
    longest_life=0.3,
)

_RANGES: Final = ((1, 1), (1, 2), (1, 3), (1, 2))
"""The versions of the daemons that follow one another: newer, newer still, and back. The clients speak version 1."""


def _run(home: Home, *words: str, oldest: int, newest: int) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(oldest, newest, *words), env=home.environment, stdin=subprocess.DEVNULL, capture_output=True,
        encoding="utf-8", timeout=PATIENCE * 2, check=False,
    )  # fmt: skip


async def _write(writer: Writer, chance: random.Random) -> None:
    """Write for ever; what the connection takes along is sent again over the next one."""
    while True:
        await writer.work(chance, _LOAD)
        await asyncio.sleep(0.01)


async def _wage(ground: Ground) -> Figures:
    home = Home(ground.folder / "h")
    under, rounds = Under(home), 0
    async with contextlib.AsyncExitStack() as stack:
        await asyncio.to_thread(home.call, "server/status")
        await under.begin(stack)
        working = [
            asyncio.create_task(_write(writer, random.Random(ground.dice.random())))
            for writer in under.writers
        ]
        for number in ground.each_round(short=5, long=500):
            oldest, newest = _RANGES[(number + 1) % len(_RANGES)]
            before = read_endpoint(home.locations)
            await asyncio.sleep(ground.chance(number).random() * _LOAD.longest_life)
            told = await asyncio.to_thread(_run, home, "restart", oldest=oldest, newest=newest)
            hold(told.returncode == 0, f"`sessiond restart` of {build(newest)} failed: {told.stderr}")
            after = read_endpoint(home.locations)
            hold(after["epoch"] != before["epoch"], "the daemon is the one of before")
            hold((after["build"], after["protocol"]) == (build(newest), [oldest, newest]), f"{after} runs")
            for task in working:
                hold(not task.done(), f"a writer ended: {task.exception() if task.done() else ''}")
            rounds += 1
        await _stop(working)
        await _resume(under)
        delivered = await under.settle()
        await _without_a_common_version(home)
        under.check()
    acknowledged = sum(ledger.acknowledged for ledger in under.ledgers)
    return Figures(
        rounds=rounds,
        faults=rounds + 1,
        tried=sum(writer.tried for writer in under.writers),
        checked=acknowledged + delivered,
        more=f"{acknowledged:,} acknowledgements, {delivered:,} deliveries",
    )


async def _stop(working: "list[asyncio.Task[None]]") -> None:
    for task in working:
        task.cancel()
    await asyncio.gather(*working, return_exceptions=True)


async def _resume(under: Under) -> None:
    async with asyncio.timeout(PATIENCE):
        for writer in under.writers:
            while not await writer.resume():  # noqa: ASYNC110 - it says when there is a daemon by asking one
                await asyncio.sleep(0.05)


async def _without_a_common_version(home: Home) -> None:
    """A client that shares no version takes over; one of before is told what both speak; and there is a way back."""
    told = await asyncio.to_thread(_run, home, "list", oldest=9, newest=9)
    hold(told.returncode == 0, f"a newer client found no daemon: {told.stderr}")
    hold(read_endpoint(home.locations)["protocol"] == [9, 9], "the older daemon still runs")
    try:
        await asyncio.to_thread(lambda: connect(home.locations).close())
    except VersionMismatchError as error:
        hold("version 9" in str(error) and "version 1" in str(error), f"it does not name both: {error}")
    else:
        hold(False, "a client was let in that shares no version with the daemon")
    hold(read_endpoint(home.locations)["protocol"] == [9, 9], "an older client ended a newer daemon")
    told = await asyncio.to_thread(_run, home, "stop", oldest=1, newest=1)
    hold(told.returncode == 0, f"it could not be stopped: {told.stderr}")
    hold(not Path(home.locations.endpoint).exists(), "it did not end in order")


CAMPAIGN = Campaign(
    name="handover",
    promise="One daemon follows another, of another version, too, and whoever is attached misses nothing.",
    how="`sessiond restart` of an older, the same or a newer version at random moments under writers and followers; "
    "at the end one that shares no version takes over, and is stopped again",
    run=lambda ground: asyncio.run(_wage(ground)),
)
