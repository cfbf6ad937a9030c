"""Clients come, do a bit of everything and go, for a long time; what the daemon holds is as it was at the start."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Any

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import PATIENCE, Home
from campaigns.wires import Refused, Wire, message, reply

_MIB = 1024 * 1024
_SESSIONS = 8
_CLIENTS = 10
_PER_ENTRY = 600
"""Bytes that an entry of an open session may take: its row, its id, and its place in the index."""
_WARM = 5
"""Rounds until everything that stays is there."""


@dataclass
class _Seen:
    entries: int = 0
    requests: int = 0
    rss: list[int] = field(default_factory=list)


def wage(ground: Ground) -> Figures:
    home, seen = Home(ground.folder / "home"), _Seen()
    minutes = ground.minutes or (30.0 if ground.long else 0.25)
    with home.serving() as daemon:
        rounds = asyncio.run(_soak(ground, home, seen, minutes * 60))
        hold(daemon.poll() is None, "the daemon ended")
    growth = (seen.rss[-1] - seen.rss[0]) / _MIB
    return Figures(
        rounds=rounds, checked=seen.requests,
        more=f"{minutes:.1f} minutes, {rounds * _CLIENTS} clients, {seen.entries} entries; memory grew by "
        f"{growth:.0f} MB from {seen.rss[0] // _MIB} MB",
    )  # fmt: skip


async def _soak(ground: Ground, home: Home, seen: _Seen, seconds: float) -> int:
    async with await Wire.to(home) as keeper:
        for number in range(_SESSIONS):
            await keeper.call("session/create", cwd="/work/soak", id=f"soak-session-{number}")
            await keeper.call(
                "session/append", sessionId=f"soak-session-{number}", entries=[reply("hello", "hello")]
            )
            await keeper.call("session/unsubscribe", sessionId=f"soak-session-{number}")
        for number in range(_WARM):
            await _round(ground, home, seen, number)
        start = await _quiet(keeper)
        first_entries = seen.entries
        seen.rss.append(start["rssBytes"])
        until, rounds, told = time.monotonic() + seconds, 0, time.monotonic()
        while not rounds or time.monotonic() < until:
            await _round(ground, home, seen, _WARM + rounds)
            rounds += 1
            if time.monotonic() - told > 30:
                told = time.monotonic()
                status = await keeper.call("server/status")
                ground.progress(f"{rounds} rounds, {status['rssBytes'] // _MIB} MB")
        end = await _quiet(keeper)
        seen.rss.append(end["rssBytes"])
    grown = end["rssBytes"] - start["rssBytes"]
    allowed = 64 * _MIB + (seen.entries - first_entries) * _PER_ENTRY
    hold(grown < allowed, f"memory grew by {grown // _MIB} MB in {rounds} rounds")
    for what in ("descriptorCount", "taskCount"):
        hold(end[what] <= start[what] + 4, f"{what} was {start[what]} at first, and {end[what]} at last")
    return rounds


async def _round(ground: Ground, home: Home, seen: _Seen, number: int) -> None:
    chance = ground.chance(number)
    plans = [
        (f"r{number}c{index}", f"soak-session-{chance.randrange(_SESSIONS)}", chance.random())
        for index in range(_CLIENTS)
    ]
    await asyncio.gather(*(_visit(home, seen, *plan) for plan in plans))


async def _visit(home: Home, seen: _Seen, name: str, session_id: str, manner: float) -> None:
    """One client: it comes, asks this and that, and goes, some of them in the middle of something."""
    wire = await Wire.to(home)
    try:
        await wire.call("initialize", initializationOptions={"sessiond": {"clientId": name}})
        await wire.call("session/open", sessionId=session_id)
        for number in range(5):
            entries = [message("w" * 200, f"{name}-{number}")]
            await wire.call("session/append", sessionId=session_id, entries=entries)
            seen.entries += 1
        questions: list[tuple[str, dict[str, Any]]] = [
            ("session/entries", {"sessionId": session_id, "limit": 50}),
            ("session/context", {"sessionId": session_id}),
            ("session/tree", {"sessionId": session_id, "limit": 50}),
            ("session/stats", {"sessionId": session_id}),
            ("session/list", {}),
            ("session/search", {"query": "hello"}),
            ("session/info", {"sessionId": "no-such-session"}),
            ("session/export", {"sessionId": session_id, "format": "markdown"}),
            ("history/list", {"limit": 10}),
        ]
        for method, params in questions:
            try:
                await wire.call(method, **params)
            except Refused as refused:
                hold(refused.kind == "sessionNotFound", f"{method} was refused: {refused}")
        draft = await wire.call("session/create", cwd="/work/soak")
        await wire.call("session/close", sessionId=draft["session"]["sessionId"])
        if manner < 0.3:  # goes with answers owed to it
            for _ in range(20):
                wire.send("session/context", {"sessionId": session_id})
        elif manner < 0.5:
            await wire.call("shutdown")
        seen.requests += sum(wire.answers.values())
    finally:
        await wire.leave()


async def _quiet(keeper: Wire) -> dict[str, Any]:
    """How the daemon is once everybody has left and nothing is in work; the least tasks within a while."""
    least: dict[str, Any] | None = None
    deadline = time.monotonic() + PATIENCE
    calm = 0
    while calm < 20 and time.monotonic() < deadline:
        status: dict[str, Any] = await keeper.call("server/status")
        rest = status["clientCount"] == 1 and status["inFlightCount"] == 0
        calm = calm + 1 if rest else 0
        if rest and (least is None or status["taskCount"] <= least["taskCount"]):
            least = status
        await asyncio.sleep(0.1)
    hold(least is not None, "clients that have left are held still")
    assert least is not None
    return least


CAMPAIGN = Campaign(
    name="soak",
    promise="A daemon that has served thousands of clients holds no more than one that has served a few.",
    how="ten clients at a time come, append, read, list, search, export, open drafts and close them, and go, some in "
    "the middle of answers, for half an hour in the long run; memory, descriptors and tasks are compared",
    run=wage,
)
