"""Power cuts on real file systems: ext4 and XFS in a file, shut down under a daemon that is being written to."""

import asyncio
import contextlib
import random
import shutil
from dataclasses import dataclass

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import Home, kill_the_same, start_time
from campaigns.log_on_disk import log_of, read_log
from campaigns.loop_disk import LoopDisk, loop_disk, try_cut
from campaigns.nursery import Nursery, nursery
from campaigns.victims import assistant, user
from campaigns.writers import Batch, Ledger, Load, Writer
from sessiond.client.wire import RpcError

_KINDS = ("ext4", "xfs")
_LOAD = Load(
    sizes=(1, 700, 5_000, 60_000),
    batches=(1, 1, 3, 10),
    durabilities=("synced", "synced", "synced", "written"),
    writers=4,
    followers=0,
    sessions=3,
    longest_life=0.15,
)


@dataclass
class _Tally:
    cuts: int = 0
    tried: int = 0
    synced: int = 0
    written: int = 0
    written_lost: int = 0


def run(ground: Ground) -> Figures:
    tally = _Tally()
    with nursery() as nurse, contextlib.ExitStack() as stack:
        disks = []
        for kind in _KINDS:
            disks.append(stack.enter_context(loop_disk(ground, kind)))
            try_cut(ground, disks[-1])
        for number in ground.each_round(short=30, long=1_000, seconds=15):
            asyncio.run(_cut(disks[number % len(disks)], nurse, ground.chance(number), tally))
    return Figures(
        tally.cuts,
        faults=tally.cuts,
        tried=tally.tried,
        checked=tally.synced,
        more=f"half of them each on {' and '.join(_KINDS)}; of {tally.written:,} entries acknowledged as written "
        f"{tally.written_lost:,} were lost, as they may be",
    )


async def _cut(disk: LoopDisk, nurse: Nursery, chance: random.Random, tally: _Tally) -> None:
    """One life on the disk, its sudden end, and what the next daemon finds."""
    home = Home(disk.folder / "h")
    pid = await asyncio.to_thread(nurse.start, home)
    began = start_time(pid)  # its endpoint may lie on a disk without power
    try:
        async with contextlib.AsyncExitStack() as stack:
            maker = await stack.enter_async_context(home.connect(autostart=False))
            ledgers = [
                Ledger((await maker.create(f"/work/{number}")).session.session_id) for number in range(3)
            ]
            writers = [
                Writer(f"w{number}", await stack.enter_async_context(home.connect(autostart=False)), ledgers)
                for number in range(_LOAD.writers)
            ]
            working = [
                asyncio.create_task(writer.work(random.Random(chance.random()), _LOAD)) for writer in writers
            ]
            for ledger in ledgers[:2]:  # they leave the drafts while they are written to
                batch = Batch([user("q"), assistant("a")], "synced")
                done = await maker.append(ledger.session_id, batch.entries)
                batch.seqs = [entry.seq for entry in done.entries]
                ledger.batches.append(batch)
            await asyncio.sleep(chance.random() * _LOAD.longest_life)
            # An answer that comes after the cut is none: with the power its sender would have gone.
            known = [(ledger, batch, list(batch.seqs)) for ledger in ledgers for batch in ledger.batches]
            disk.cut()
            await asyncio.to_thread(kill_the_same, pid, began)
            for outcome in await asyncio.gather(*working, return_exceptions=True):
                if isinstance(outcome, BaseException) and not isinstance(outcome, RpcError):
                    raise outcome  # a refusal is what is due on a disk without power
    finally:
        kill_the_same(pid, began)
    disk.unmount()
    disk.mount()
    pid = await asyncio.to_thread(nurse.start, home)
    began = start_time(pid)
    try:
        await asyncio.to_thread(_check, home, known, tally)
    finally:
        kill_the_same(pid, began)
    tally.cuts += 1
    tally.tried += sum(writer.tried for writer in writers)
    shutil.rmtree(home.folder)


def _check(home: Home, known: list[tuple[Ledger, Batch, list[int]]], tally: _Tally) -> None:
    for session_id in {ledger.session_id for ledger, _, _ in known}:
        # Somebody goes on, so that what the cut has torn is seen to.
        home.call("session/append", sessionId=session_id, entries=[user("z")])
        log = read_log(log_of(home.folder, session_id))
        seqs = log.seqs
        for ledger, batch, acknowledged in known:
            if ledger.session_id != session_id or not acknowledged:
                continue
            there = [seqs.get(name) for name in batch.ids]
            if batch.durability == "synced":
                hold(
                    there == acknowledged,
                    f"{log.path}: {batch.ids} were synced as {acknowledged}, are {there}",
                )
                tally.synced += len(there)
            else:
                tally.written += len(there)
                tally.written_lost += there.count(None)


CAMPAIGN = Campaign(
    name="power",
    promise="Entries acknowledged as synced survive a power cut.",
    how="the file system below a daemon is shut down by an ioctl while clients append (ext4 and XFS in a file); it is "
    "mounted again, and the next daemon is asked for everything that was acknowledged before",
    run=run,
)
