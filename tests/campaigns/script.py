"""The requests to a recorded daemon, and the state that must be durable after each answer.

First every kind of change, one after the other; then clients who write to several sessions at once.
"""

import asyncio
import base64
import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaigns.daemons import Home
from campaigns.log_on_disk import read_log
from campaigns.victims import assistant, user
from sessiond.client.blocking import BlockingDaemon

OLD, TORN, MAIN, OTHER, GONE = (f"replayed-session-{number}" for number in range(1, 6))
ALONE = 25
"""The answers that the first client gets before the others come."""
_IMAGE = base64.b64encode(bytes(range(256)) * 8).decode()


@dataclass(frozen=True)
class Kept:
    """A session as it stands on the disk: its whole lines, and whether in the trash."""

    lines: tuple[bytes, ...]
    in_trash: bool


Snapshot = dict[str, Kept]


@dataclass
class Course:
    """The events: `steps[k]` must hold after k answers to the first client.

    `sent` has the entries that were sent by the others, by id: with which session and durability.
    """

    steps: list[Snapshot] = field(default_factory=list)
    sent: dict[str, tuple[str, str]] = field(default_factory=dict)


def lay_out(home: Home) -> None:
    """The files that are there before: a session of version 2, and one with half a line at its end."""
    folder = home.folder / "data" / "sessions" / "--work-a--"
    folder.mkdir(mode=0o700, parents=True)
    for session_id, version, end in ((OLD, 2, b""), (TORN, 3, b'{"type":"message","id":"half')):
        lines = [_header(session_id, version), *(_line(number) for number in (1, 2, 3))]
        data = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
        (folder / f"2026-01-01T00-00-00-000Z_{session_id}.jsonl").write_bytes(data + end)


def _header(session_id: str, version: int) -> dict[str, Any]:
    time = "2026-01-01T00:00:00.000Z"
    return {"type": "session", "version": version, "id": session_id, "timestamp": time, "cwd": "/work/a"}


def _line(number: int) -> dict[str, Any]:
    message = {"role": "user" if number % 2 else "assistant", "content": [{"type": "text", "text": "old"}]}
    parent = f"0000000{number - 1}" if number > 1 else None
    time = f"2026-01-01T00:00:0{number}.000Z"
    return {
        "type": "message",
        "id": f"0000000{number}",
        "parentId": parent,
        "timestamp": time,
        "message": message,
    }


def perform(home: Home, chance: random.Random) -> Course:
    """Ask a daemon that runs here for all of it."""
    course = Course([snapshot(home)])
    with home.connect_blocking(autostart=False) as daemon:
        acts = _acts(daemon)
        assert len(acts) == ALONE
        for act in acts:
            synced = act()
            course.steps.append(snapshot(home) if synced else course.steps[-1])
        asyncio.run(_write_at_once(home, course, chance))
    return course


def _acts(daemon: BlockingDaemon) -> list[Callable[[], bool]]:
    """Each says whether its answer means that what it did survives a power cut."""

    def call(method: str, **params: Any) -> Callable[[], bool]:
        def act() -> bool:
            daemon.call(method, params)
            return params.get("durability") != "written"

        return act

    def append(session_id: str, *entries: dict[str, Any], **params: Any) -> Callable[[], bool]:
        return call("session/append", sessionId=session_id, entries=list(entries), **params)

    def image(name: str) -> dict[str, Any]:
        block = {"type": "image", "data": _IMAGE, "mimeType": "image/png"}
        return {"id": name, "type": "message", "message": {"role": "user", "content": [block]}}

    return [
        call("session/create", cwd="/work/a", id=MAIN),
        append(MAIN, user("m1")),
        append(MAIN, user("m2"), assistant("m3")),  # the draft becomes a session
        append(MAIN, user("m4"), assistant("m5"), user("m6")),
        append(MAIN, image("m7")),
        append(MAIN, user("m8", "y" * 40_000)),
        call("session/rename", sessionId=MAIN, title="a title"),
        call("session/label", sessionId=MAIN, entryId="m3", label="here"),
        append(OLD, user("o1")),  # migrates it
        append(TORN, user("t1")),  # repairs it
        call("session/fork", sessionId=MAIN, leafId="m5"),
        call("session/create", cwd="/work/b", id=OTHER),
        append(OTHER, user("b1"), assistant("b2"), user("b3"), assistant("b4")),
        call("session/compact", sessionId=OTHER, summary="so far", firstKeptEntryId="b3"),
        call("session/move", sessionId=OTHER, cwd="/work/c"),
        call("session/delete", sessionId=OTHER, note="why not"),
        call("trash/restore", sessionId=OTHER),
        append(OTHER, user("b5")),
        call("session/create", cwd="/work/d", id=GONE),
        append(GONE, user("g1"), assistant("g2")),
        call("session/delete", sessionId=GONE, note="enough"),
        call("trash/purge", sessionId=GONE, dryRun=False),
        call("session/branch", sessionId=MAIN, entryId="m3"),
        append(MAIN, user("m9"), durability="written"),
        call("session/flush", sessionId=MAIN),
    ]


async def _write_at_once(home: Home, course: Course, chance: random.Random) -> None:
    async def write(number: int) -> None:
        async with home.connect(autostart=False) as daemon:
            await daemon.open(MAIN)
            for turn in range(4):
                session_id = (MAIN, OTHER, OLD)[(number + turn) % 3]
                durability = "written" if (number + turn) % 4 == 0 else "synced"
                names = [f"client{number}-{turn}-{part}" for part in range(1 + (number + turn) % 3)]
                entries = [user(name, "z" * sizes[(number + turn) % len(sizes)]) for name in names]
                for name in names:
                    course.sent[name] = (session_id, durability)
                await daemon.append(session_id, entries, durability=durability)  # type: ignore[arg-type]

    sizes = [10, 900, 5_000, chance.randrange(6_000, 30_000)]
    await asyncio.gather(*(write(number) for number in range(6)))


def snapshot(home: Home) -> Snapshot:
    """Every session that is on the disk now, as far as its lines are whole."""
    found: Snapshot = {}
    data = home.folder / "data"
    for folder in ("drafts", "sessions", "trash"):
        for path in data.glob(f"{folder}/**/*_*.jsonl"):
            if not path.name.startswith("."):
                found[session_of(path)] = Kept(tuple(read_log(path).raw), folder == "trash")
    return found


def session_of(path: Path) -> str:
    return path.name.removesuffix(".jsonl").partition("_")[2]
