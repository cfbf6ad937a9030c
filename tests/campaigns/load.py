"""Two hundred clients at once, and among them those who never read, never finish, never stop or send far too much."""

import asyncio
import contextlib
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import PATIENCE, Home
from campaigns.log_on_disk import log_of, read_log
from campaigns.wires import Gone, Refused, Wire, message, reply

_MIB = 1024 * 1024
_DEPTH = 4
_WATCHERS = 10
_PACE = 0.5
"""Seconds between two appends of one client at a steady pace."""


@dataclass
class Tally:
    """The acknowledged entries of each session, and the waiting times of the good clients."""

    acknowledged: dict[str, dict[str, int]] = field(default_factory=dict)
    quiet: list[float] = field(default_factory=list)
    crowded: list[float] = field(default_factory=list)
    all_read: list[float] = field(default_factory=list)
    """Seconds of appends at a pace that the daemon can keep, while every client reads."""
    five_do_not: list[float] = field(default_factory=list)
    """The same while five more clients are subscribed and do not read."""
    began: float = 0.0
    bytes: int = 0
    peak: int = 0
    turned_away: int = 0


def wage(ground: Ground) -> Figures:
    tally = Tally()
    home = Home(ground.folder / "home")
    report = ground.folder / "holds"
    rounds = 0
    probe = (sys.executable, "-P", "-m", "scripts.benchmarks.loop_probe")
    found_from = str(Path(__file__).parents[2])
    with home.serving(command=probe, words=(str(report), "serve"), PYTHONPATH=found_from) as daemon:
        tally.began = time.perf_counter()
        for number in ground.each_round(short=1, long=20):
            asyncio.run(_round(ground, home, tally, number))
            rounds += 1
        hold(daemon.poll() is None, "the daemon ended under load")
    for session_id, entries in tally.acknowledged.items():
        seqs = read_log(log_of(home.folder, session_id)).seqs
        for entry_id, seq in entries.items():
            hold(
                seqs.get(entry_id) == seq,
                f"{session_id}: {entry_id} was acknowledged as {seq}, is {seqs.get(entry_id)}",
            )
    checked = sum(map(len, tally.acknowledged.values()))
    return Figures(
        rounds=rounds, faults=rounds * 25, tried=tally.bytes, checked=checked,
        more=f"p99 {_p99(tally.quiet):.0f} ms alone, {_p99(tally.crowded):.0f} ms among them; "
        f"at a steady pace p99 {_p99(tally.all_read):.1f} ms, with five that do not read "
        f"{_p99(tally.five_do_not):.1f} ms; {_longest_hold(report, tally.began)}; "
        f"at most {tally.peak // _MIB} MB in memory",
    )  # fmt: skip


async def _round(ground: Ground, home: Home, tally: Tally, number: int) -> None:
    clients, each = (200, 25) if ground.long else (200, 4)
    async with await Wire.to(home) as keeper, _memory_of(keeper, tally):
        shared = await _session(keeper, f"load-shared-{number}", tally)
        await _append_all(home, [shared] * clients, each, tally, tally.quiet, f"q{number}")
        async with _harmful(ground, home, shared, tally, number):
            await _append_all(home, [shared] * clients, each, tally, tally.crowded, f"c{number}")
            own = [await _session(keeper, f"load-{number}-{index}", tally) for index in range(clients)]
            await _append_all(home, own, each, tally, tally.crowded, f"o{number}")
        await _at_rest(keeper)
    await _at_a_steady_pace(ground, home, tally, number)
    ground.progress(f"round {number}: {tally.peak // _MIB} MB at most")


async def _at_a_steady_pace(ground: Ground, home: Home, tally: Tally, number: int) -> None:
    """Appends of many clients, while all who are subscribed read and while five do not, in turn."""
    async with await Wire.to(home) as keeper:
        shared = await _session(keeper, f"load-paced-{number}", tally)
        for turn in range(3 if ground.long else 1):
            await _appended_at_a_pace(ground, home, shared, tally, tally.all_read, f"a{turn}")
            deaf = [await Wire.to(home) for _ in range(5)]
            for wire in deaf:
                await wire.call("session/subscribe", sessionId=shared)
                wire.reads.clear()
            await _appended_at_a_pace(ground, home, shared, tally, tally.five_do_not, f"d{turn}")
            for wire in deaf:
                await wire.leave()


async def _appended_at_a_pace(
    ground: Ground, home: Home, shared: str, tally: Tally, latencies: list[float], name: str
) -> None:
    clients, each = (200, 12) if ground.long else (100, 3)
    wires = await asyncio.gather(*(Wire.to(home) for _ in range(clients)))

    async def append(wire: Wire, number: int) -> None:
        await asyncio.sleep(_PACE * number / clients)
        for count in range(each):
            began = time.monotonic()
            entry_id = f"{name}-{number}-{count}"
            answer = await wire.call(
                "session/append", sessionId=shared, entries=[message("x" * 300, entry_id)]
            )
            tally.acknowledged[shared][entry_id] = answer["lastSeq"]
            await asyncio.sleep(max(0.0, began + _PACE - time.monotonic()))

    try:
        await asyncio.gather(*(append(wire, number) for number, wire in enumerate(wires)))
        for wire in wires:
            latencies += wire.latencies
    finally:
        for wire in wires:
            await wire.leave()


async def _session(keeper: Wire, session_id: str, tally: Tally) -> str:
    await keeper.call("session/create", cwd="/work/load", id=session_id)
    await keeper.call("session/append", sessionId=session_id, entries=[reply("begun", "begun")])
    await keeper.call("session/unsubscribe", sessionId=session_id)
    tally.acknowledged[session_id] = {"begun": 1}
    return session_id


async def _append_all(
    home: Home, sessions: list[str], each: int, tally: Tally, latencies: list[float], name: str
) -> None:
    """A client for each of the sessions, of which the first few watch theirs; all append, a few at a time."""
    wires = await asyncio.gather(*(Wire.to(home) for _ in sessions))
    watched: dict[int, int] = {}
    try:
        for number, (wire, session_id) in enumerate(zip(wires[:_WATCHERS], sessions, strict=False)):
            watched[number] = (await wire.call("session/subscribe", sessionId=session_id))["toSeq"]
        await asyncio.gather(
            *(
                _append(wire, session_id, each, tally.acknowledged[session_id], f"{name}-{number}")
                for number, (wire, session_id) in enumerate(zip(wires, sessions, strict=True))
            )
        )
        for number, first in watched.items():
            await _saw_everything(wires[number], sessions[number], first, tally)
        for wire in wires:
            hold(not wire.unanswered, f"{wire.unanswered} requests were never answered")
            latencies += wire.latencies
    finally:
        for wire in wires:
            await wire.leave()


async def _append(wire: Wire, session_id: str, count: int, acknowledged: dict[str, int], name: str) -> None:
    for start in range(0, count, _DEPTH):
        names = [f"{name}-{number}" for number in range(start, min(start + _DEPTH, count))]
        answers = [
            wire.call("session/append", sessionId=session_id, entries=[message("x" * 300, text)])
            for text in names
        ]
        for entry_id, answer in zip(names, await asyncio.gather(*answers), strict=True):
            [entry] = answer["entries"]
            hold(entry["id"] == entry_id, f"{entry_id} was answered as {entry['id']}")
            acknowledged[entry_id] = entry["seq"]


async def _saw_everything(wire: Wire, session_id: str, first: int, tally: Tally) -> None:
    """A subscriber is told of every line since it came, once and in order; who was told that it lags, up to there."""
    last = max(tally.acknowledged[session_id].values())
    async with asyncio.timeout(PATIENCE):
        while not wire.lagged and (not wire.seqs or wire.seqs[-1] < last):
            await wire.told()
    end = wire.lagged.get(session_id, wire.seqs[-1] if wire.seqs else first)
    seen = [seq for seq in wire.seqs if seq <= end]
    hold(
        seen == list(range(first + 1, end + 1)),
        f"a subscriber of {session_id} was not told of each line once",
    )


# --- the others ----------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _harmful(ground: Ground, home: Home, shared: str, tally: Tally, number: int) -> AsyncIterator[None]:
    """Those who do harm, from before to after the block."""
    deaf = [await Wire.to(home) for _ in range(5)]
    half_open = [
        _half_open(home, said) for said in (b"", b"", b"Content-Le", b"Content-Length: 900\r\n\r\n{")
    ]
    over = asyncio.Event()
    async with await Wire.to(home) as keeper:
        large = await _session(keeper, f"load-large-{number}", tally)
        flooded = await _session(keeper, f"load-flooded-{number}", tally)
    for wire in deaf:
        await wire.call("session/subscribe", sessionId=shared)
        await wire.call("session/subscribe", sessionId=large)
        wire.reads.clear()
    frame = (46 if ground.long else 6) * _MIB
    busy = [
        asyncio.create_task(coroutine)
        for coroutine in (
            _drip(home, over),
            _garbage(home, over),
            *(_flood_of_questions(home, over) for _ in range(2)),
            *(_flood_of_appends(home, flooded, tally, f"f{number}-{index}") for index in range(2)),
            *(_large(home, large, frame, tally, f"l{number}-{index}") for index in range(4)),
        )
    ]
    try:
        yield
        over.set()
        await asyncio.gather(*busy)
        for wire in deaf:
            await _comes_to_an_end(wire)
    finally:
        over.set()
        for task in busy:
            task.cancel()
        for wire in deaf:
            await wire.leave()
        for sock in half_open:
            sock.close()


def _half_open(home: Home, said: bytes) -> socket.socket:
    """A connection that says this much and no more."""
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(PATIENCE)
    sock.connect(home.locations.socket)
    sock.sendall(said)
    return sock


async def _comes_to_an_end(wire: Wire) -> None:
    """A client that reads again finds all its messages, or that it was disconnected: nothing half."""
    wire.reads.set()
    with contextlib.suppress(Gone, Refused):
        await wire.call("server/status")


async def _drip(home: Home, over: asyncio.Event) -> None:
    """A byte now and then, of a frame that will not end."""
    async with await Wire.to(home) as wire:
        wire.writer.write(b"Content-Length: 1000000\r\n\r\n")
        while not over.is_set():
            with contextlib.suppress(ConnectionError):
                wire.writer.write(b" ")
            await asyncio.sleep(0.2)


async def _garbage(home: Home, over: asyncio.Event) -> None:
    """Clients that speak something else."""
    while not over.is_set():
        async with await Wire.to(home) as wire:
            wire.writer.write(b"GET / HTTP/1.1\r\n\r\n")
            await wire.ended()
            hold(wire.complaints == ["parse"], f"garbage was answered with {wire.complaints}")
        await asyncio.sleep(0.05)


async def _flood_of_questions(home: Home, over: asyncio.Event) -> None:
    """Thousands of requests, sent without a look at the answers; then every answer is there."""
    async with await Wire.to(home) as wire:
        for _ in range(3):
            answers = [wire.send("server/status", {}) for _ in range(2_000)]
            await _all(answers)
            if over.is_set():
                return


async def _flood_of_appends(home: Home, session_id: str, tally: Tally, name: str) -> None:
    async with await Wire.to(home) as wire:
        await wire.call(
            "initialize", initializationOptions={"sessiond": {"optOutNotifications": ["session/appended"]}}
        )
        names = [f"{name}-{number}" for number in range(3_000)]
        entries = {text: message("x" * 500, text) for text in names}
        answers = [
            wire.send("session/append", {"sessionId": session_id, "entries": [entry]})
            for entry in entries.values()
        ]
        await _all(answers)
        for entry_id, answer in zip(names, answers, strict=True):
            tally.acknowledged[session_id][entry_id] = answer.result()["lastSeq"]


async def _large(home: Home, session_id: str, size: int, tally: Tally, name: str) -> None:
    """A frame as large as they come; all of them at once."""
    async with await Wire.to(home) as wire:
        await wire.call(
            "initialize", initializationOptions={"sessiond": {"optOutNotifications": ["session/appended"]}}
        )
        data = ["y" * 400_000] * (size // 400_000)
        entry = {"type": "custom", "customType": "load", "id": name, "data": data}
        while True:
            try:
                answer = await wire.call("session/append", sessionId=session_id, entries=[entry])
            except Refused as refused:
                hold(refused.kind == "overloaded", f"a large entry was refused as {refused.kind}")
                tally.turned_away += 1
                await asyncio.sleep(0.2)
            else:
                break
        tally.acknowledged[session_id][name] = answer["lastSeq"]
        tally.bytes += size


async def _all(answers: "list[asyncio.Future[Any]]") -> None:
    async with asyncio.timeout(PATIENCE * 2):
        await asyncio.gather(*answers)


# --- the daemon ----------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def _memory_of(keeper: Wire, tally: Tally) -> AsyncIterator[None]:
    """Look at the daemon's memory all the time, and see that it stays within what it promises, and much more."""

    async def look() -> None:
        while True:
            tally.peak = max(tally.peak, _peak_of(pid))
            await asyncio.sleep(0.1)

    pid = (await keeper.call("server/status"))["pid"]
    looking = asyncio.create_task(look())
    try:
        yield
        tally.peak = max(tally.peak, _peak_of(pid))
        hold(tally.peak < 3_000 * _MIB, f"the daemon took {tally.peak // _MIB} MB")
    finally:
        looking.cancel()


def _peak_of(pid: int) -> int:
    """The most memory that a process has had, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


async def _at_rest(keeper: Wire) -> None:
    """After all have left nothing of them is held."""

    def at_rest(status: dict[str, Any]) -> bool:
        return (status["clientCount"], status["inFlightCount"], status["heldBytes"]) == (1, 0, 0)

    await _until(keeper, at_rest, "something of clients that have left is held still")


async def _until(keeper: Wire, holds: Callable[[dict[str, Any]], bool], otherwise: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds(status := await keeper.call("server/status")):
        hold(time.monotonic() < deadline, f"{otherwise}: {status}")
        await asyncio.sleep(0.05)


def _longest_hold(report: Path, began: float) -> str:
    """Return the longest hold of the daemon's event loop since it listens, by the processor time of its thread."""
    lines = report.read_bytes().split(b"\n")[:-1]
    holds = (line for line in map(msgspec.json.decode, lines) if line["ended"] - line["wall"] > began)
    longest = max(holds, key=lambda item: item["cpu"], default=None)
    if longest is None:
        return "the event loop was never held"
    return f"the event loop held for at most {longest['cpu'] * 1000:.0f} ms ({longest['what'].rpartition(' > ')[2]})"


def _p99(latencies: list[float]) -> float:
    """In milliseconds."""
    return sorted(latencies)[int(len(latencies) * 0.99)] * 1000 if latencies else 0.0


CAMPAIGN = Campaign(
    name="load",
    promise="Nobody can make the daemon lose, forget, starve or swell.",
    how="200 clients append to one session, and to 200; with them five that never read, one that drips bytes, "
    "half-open ones, garbage, floods of questions and of appends, and frames as large as may be; every request is "
    "answered once, every line told once and in order, and the files hold what was acknowledged; then appends at a "
    "steady pace, in turn with and without five clients that do not read",
    run=wage,
)
