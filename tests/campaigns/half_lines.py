"""Programs that append half lines to the files of sessions, while clients append to the same sessions."""

import asyncio
import random
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from campaigns import foreign_program
from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import PATIENCE, Home
from campaigns.log_on_disk import LogOnDisk, log_of, read_shared_log
from campaigns.victims import assistant
from campaigns.wires import Wire
from campaigns.writers import Follower, Ledger, Load, Writer
from sessiond.client.daemon import Daemon
from sessiond.protocol import types as t

_LOAD = Load(
    sizes=(1, 100, 700),
    batches=(1, 1, 1, 3),
    durabilities=("synced", "synced", "written"),
    writers=3,
    followers=1,
    sessions=1,
    longest_life=0.0,
)
_LINES = 150
"""Lines of each foreign program in a round."""


@dataclass
class _Tally:
    acknowledged: int = 0
    delivered: int = 0
    foreign: int = 0
    torn: int = 0
    written_again: int = 0
    tried: int = 0


def run(ground: Ground) -> Figures:
    home, tally, rounds = Home(ground.folder / "home"), _Tally(), 0
    with home.serving():
        for number in ground.each_round(short=8, long=400, seconds=30):
            asyncio.run(_round(home, ground.chance(number), number, tally))
            rounds += 1
    return Figures(
        rounds=rounds,
        faults=tally.torn,
        tried=tally.tried,
        checked=tally.acknowledged + tally.delivered,
        more=f"{tally.acknowledged:,} acknowledgements, {tally.delivered:,} deliveries, {tally.foreign:,} foreign "
        f"lines, {tally.torn:,} of them torn apart; lines of ours were written again {tally.written_again:,} times",
    )


async def _round(home: Home, chance: random.Random, number: int, tally: _Tally) -> None:
    async with AsyncExitStack() as stack:
        reader = await stack.enter_async_context(home.connect())
        session_id = (await reader.create("/work/project")).session.session_id
        ledger = Ledger(session_id)
        writers = [
            Writer(f"r{number}w{index}", await stack.enter_async_context(home.connect()), [ledger])
            for index in range(_LOAD.writers)
        ]
        wire = await stack.enter_async_context(await Wire.to(home))
        await wire.call("session/append", sessionId=session_id, entries=[assistant("first")])
        follower = Follower(reader.subscribe(session_id, after=0))
        path = log_of(home.folder, session_id)
        names = ["pi", "omp"][: chance.choice((1, 1, 2))]
        seed = chance.randrange(1 << 30)
        programs = [await _start(path, name, seed) for name in names]
        over = asyncio.gather(*(program.wait() for program in programs))
        await asyncio.gather(*(_append(writer, ledger, chance, over) for writer in writers))
        hold(await over == [0] * len(programs), "a foreign program failed")
        await writers[0].append(ledger, chance, _LOAD)  # takes in what was written last
        await reader.flush(session_id)
        log = read_shared_log(path)
        ledger.check(log)
        _check_foreign_bytes(log, names, seed)
        await _check_served(reader, wire, session_id, log)
        await follower.has_seen(max(log.seqs.values()), PATIENCE)
        follower.check(log)
        await follower.end()
    tally.acknowledged += ledger.acknowledged
    tally.delivered += len(follower.seen)
    tally.foreign += len(names) * _LINES
    tally.torn += len(names) * _LINES - sum(seq.startswith(("pi-", "omp-")) for seq in log.seqs)
    tally.written_again += sum(len(raw) > 1 and not raw.strip() for raw in log.raw)
    tally.tried += sum(writer.tried for writer in writers)


async def _start(path: Path, name: str, seed: int) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "campaigns.foreign_program",
        str(path),
        name,
        str(seed),
        str(_LINES),
        cwd=Path(__file__).parents[1],
    )


async def _append(
    writer: Writer, ledger: Ledger, chance: random.Random, over: "asyncio.Future[list[int]]"
) -> None:
    while not over.done():
        hold(await writer.append(ledger, chance, _LOAD), "the daemon went away by itself")
        await asyncio.sleep(chance.random() * 0.002)


def _check_foreign_bytes(log: LogOnDisk, names: list[str], seed: int) -> None:
    """The lines of the programs are in the file, but for the half lines that lie beside it."""
    theirs = [
        raw
        for seq, (raw, line) in enumerate(zip(log.raw, log.lines, strict=True))
        if seq and line.get("id") != "first" and not str(line.get("id")).startswith("r")
    ]
    beside = [path.read_bytes() for path in log.path.parent.glob(f"{log.path.name}.torn-*")]
    found = sorted(b"".join([*theirs, log.tail, *beside]).replace(b" ", b"").replace(b"\n", b""))
    written = b"".join(line for name in names for line in foreign_program.lines(name, seed, _LINES)).replace(
        b"\n", b""
    )
    hold(
        found == sorted(written),
        f"{log.path}: {len(found)} bytes of other programs are there of {len(written)}",
    )


async def _check_served(reader: Daemon, wire: Wire, session_id: str, log: LogOnDisk) -> None:
    """The daemon reads out every entry under its seq, and reports every broken line."""
    after, served = None, dict[int, str]()
    while (page := await reader.entries(session_id, after=after, limit=1_000)).items:
        served |= {entry.seq: entry.entry["id"] for entry in page.items}
        after = t.After(log_id=page.log_id, seq=page.items[-1].seq)
    there = {seq: name for name, seq in log.seqs.items()}
    other = sorted(served.items() ^ there.items())
    hold(
        not other,
        f"{log.path}: read out, or there, but not both: {[(row, log.raw[row[0]][:3_000]) for row in other[:2]]}",
    )
    problems = (await wire.call("session/info", sessionId=session_id))["problems"]
    reported = {problem["line"] - 1 for problem in problems}
    broken = {seq for seq, raw in enumerate(log.raw) if not log.lines[seq] and raw.strip()}
    hold(
        broken <= reported or len(problems) > 1_000, f"{log.path}: lines {broken - reported} are not reported"
    )


CAMPAIGN = Campaign(
    name="half-lines",
    promise="An acknowledged entry is on a line of its own and has its acknowledged seq, whatever others append.",
    how="clients append, `synced` and `written`, and follow, while one or two programs append lines to the same file "
    "in pieces cut at random, with pauses of up to half a second between them; the files are read with a reader of the "
    "campaign's own",
    run=run,
)
