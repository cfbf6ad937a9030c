"""Two machines that are synchronized while daemons and connections are killed end with the same sessions."""

import asyncio
import contextlib
import random
import signal
import sys
from pathlib import Path
from typing import Any

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import Home, end_all_in
from sessiond.client.daemon_socket import DaemonConnectionError
from sessiond.client.wire import DisconnectedError, RpcError
from sessiond.sync.options import SyncOptions
from sessiond.sync.peer import PeerLostError, connect_through
from sessiond.sync.peer_process import PeerUnavailableError
from sessiond.sync.run import synchronize

_SESSIONS = 6
_ACTIONS = 12
_FAILURES = (PeerLostError, PeerUnavailableError, DisconnectedError, DaemonConnectionError, RpcError)


def run(ground: Ground) -> Figures:
    """Work at random on both sides, and synchronize under kills; then compare the logs line by line."""
    homes = Home(ground.folder / "a"), Home(ground.folder / "b")
    rounds = faults = checked = 0
    acknowledged: list[tuple[str, str]] = []
    try:
        for number in ground.each_round(short=4, long=50):
            dice = ground.chance(number)
            for home in homes:
                acknowledged += _work(home, dice, number)
            faults += asyncio.run(_sync_under_kills(homes, dice))
            rounds += 1
        for _ in range(2):
            asyncio.run(_sync(homes))
        checked = _compare(homes, acknowledged)
    finally:
        end_all_in(ground.folder)
    return Figures(rounds, faults=faults, checked=checked, more=f"{len(acknowledged):,} acknowledged entries")


def _work(home: Home, dice: random.Random, number: int) -> list[tuple[str, str]]:
    """Append, branch, label, rename and tag in the sessions of one side. Returns the acknowledged entries."""
    made: list[tuple[str, str]] = []
    with home.connect_blocking() as daemon:
        for _ in range(_ACTIONS):
            name = f"session-{dice.randrange(_SESSIONS)}"
            with contextlib.suppress(RpcError):
                made += _act(daemon, name, dice, number)
    return made


def _act(daemon: Any, name: str, dice: random.Random, number: int) -> list[tuple[str, str]]:
    known = {
        session["sessionId"] for session in daemon.call("session/list", {"includeDrafts": True})["sessions"]
    }
    trashed = {session["sessionId"] for session in daemon.call("trash/list", {})["sessions"]}
    if name not in known:
        if name in trashed:
            return []
        daemon.call("session/create", {"id": name, "cwd": "/work/p"})
    leaf = daemon.call("session/info", {"sessionId": name})["session"]["leafId"]
    chosen = dice.random()
    if chosen < 0.6 or leaf is None:
        # Ids of both sides must differ, as random ids do.
        texts = [f"round {number} {dice.getrandbits(64):x}" for _ in range(dice.randrange(1, 5))]
        roles = [dice.choice(("user", "assistant")) for _ in texts[1:]] + ["assistant"]
        entries = [
            {"type": "message", "message": {"role": role, "content": text}}
            for role, text in zip(roles, texts, strict=True)
        ]
        result = daemon.call("session/append", {"sessionId": name, "entries": entries})
        return [(name, entry["id"]) for entry in result["entries"]]
    items = daemon.call("session/entries", {"sessionId": name})["items"]
    target = dice.choice(items)["entry"]["id"]
    if chosen < 0.75:
        daemon.call("session/branch", {"sessionId": name, "entryId": target})
    elif chosen < 0.85:
        daemon.call("session/label", {"sessionId": name, "entryId": target, "label": f"l{dice.randrange(9)}"})
    elif chosen < 0.93:
        daemon.call("session/rename", {"sessionId": name, "title": f"title {dice.randrange(99)}"})
    else:
        daemon.call("session/tag", {"sessionId": name, "add": [f"t{dice.randrange(9)}"]})
    return []


def _attach(home: Home) -> list[str]:
    return [
        "env",
        f"SESSIOND_HOME={home.folder}",
        sys.executable,
        "-P",
        "-m",
        "sessiond",
        "attach",
        "--stdio",
    ]


async def _sync(homes: tuple[Home, Home]) -> None:
    async with homes[0].connect(name="sync") as here, connect_through(_attach(homes[1]), "b") as there:
        report = await synchronize(here, there, SyncOptions())
    hold(not report.problems, f"sessions stay different: {report.problems[:3]}")


async def _sync_under_kills(homes: tuple[Home, Home], dice: random.Random) -> int:
    """Start a sync, and kill a daemon or end the connection after a moment. Returns the number of faults."""
    task = asyncio.ensure_future(_sync(homes))
    await asyncio.sleep(dice.uniform(0.0, 0.5))
    if task.done():
        task.result()
        return 0
    victim = dice.choice((0, 1, 2))
    if victim == 2:
        task.cancel()
    else:
        await asyncio.to_thread(homes[victim].kill, signal.SIGKILL)
    with contextlib.suppress(*_FAILURES, asyncio.CancelledError):
        await task
    return 1


def _compare(homes: tuple[Home, Home], acknowledged: list[tuple[str, str]]) -> int:
    """Compare what both sides have on disk, and what they say of each session."""
    logs = [_logs(home) for home in homes]
    hold(logs[0].keys() == logs[1].keys(), f"other sessions: {logs[0].keys() ^ logs[1].keys()}")
    for name, lines in logs[0].items():
        other = logs[1][name]
        hold(sorted(lines) == sorted(other), f"{name} has {len(set(lines) ^ set(other))} other lines")
        hold(len(lines) == len(set(lines)), f"{name} has a line twice")
        said = [home.call("session/info", sessionId=name)["session"] for home in homes]
        for field in ("leafId", "title", "tags"):
            hold(said[0][field] == said[1][field], f"{name}: {field} differs")
    for name, entry in acknowledged:
        hold(any(f'"id":"{entry}"'.encode() in line for line in logs[0][name]), f"{entry} of {name} is lost")
    return sum(map(len, logs[0].values()))


def _logs(home: Home) -> dict[str, list[bytes]]:
    """The lines after the header of each session on disk, without the marks of batches."""
    found = {}
    for path in Path(home.locations.data).glob("sessions/*/*.jsonl"):
        lines = [_unmarked(line) for line in path.read_bytes().splitlines()]
        found[path.stem.partition("_")[2]] = lines[1:]
    return found


def _unmarked(line: bytes) -> bytes:
    return line.removesuffix(b"\t}") + b"}" if line.endswith(b"\t}") else line


CAMPAIGN = Campaign(
    "sync",
    "Two machines hold the same lines after a sync, whatever was killed before; no acknowledged entry is lost.",
    "Works at random on two daemons, synchronizes them while either daemon or the connection is killed, and compares"
    " both logs of each session line by line.",
    run,
)
