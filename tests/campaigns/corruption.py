"""Every byte of a file damaged in every way, while the session is closed and while it is open."""

import contextlib
import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import Home
from campaigns.errno import KINDS
from campaigns.nursery import Nursery, nursery
from campaigns.victims import assistant, user
from sessiond.client.blocking import BlockingDaemon
from sessiond.client.wire import RpcError
from support.columns import entries_of

_A_LIFE = 150
"""Cases between two restarts of the daemon, which keeps what was opened open for a while."""
_PLACE = b"damage-000000"

Damage = Callable[[bytes, int], bytes]

DAMAGES: dict[str, Damage] = {
    "a bit flipped": lambda data, at: data[:at] + bytes([data[at] ^ 0x01]) + data[at + 1 :],
    "a byte zeroed": lambda data, at: data[:at] + b"\0" + data[at + 1 :],
    "cut off": lambda data, at: data[:at],
    "a byte taken out": lambda data, at: data[:at] + data[at + 1 :],
    "a line end put in": lambda data, at: data[:at] + b"\n" + data[at:],
    "NULs to the end": lambda data, at: data[:at] + bytes(len(data) - at),
    "NULs from there on": lambda data, at: data[:at] + bytes(4096),
    "a bit flipped high": lambda data, at: data[:at] + bytes([data[at] ^ 0x80]) + data[at + 1 :],
    "a brace put in": lambda data, at: data[:at] + b"}" + data[at:],
    "a sector zeroed": lambda data, at: data[:at] + bytes(min(512, len(data) - at)) + data[at + 512 :],
}


@dataclass(frozen=True)
class Case:
    name: str
    damage: str
    at: int
    is_open: bool

    @property
    def told(self) -> str:
        return f"{self.damage} at byte {self.at} while the session is {'open' if self.is_open else 'closed'}"


def run(ground: Ground) -> Figures:
    home = Home(ground.folder / "h")
    answered = refused = tried = 0
    with nursery() as nurse:
        sound = _sound_log(home, nurse)
        todo = _cases(len(sound), ground.dice, everything=ground.long or ground.rounds is not None)
        rounds = ground.each_round(short=len(todo), long=len(todo), seconds=25)
        done = 0
        for first in rounds:
            with _life(home, nurse) as daemon:
                for number in (first, *islice(rounds, _A_LIFE - 1)):
                    case = todo[number % len(todo)]
                    data = sound.replace(_PLACE, case.name.encode())
                    try:
                        acknowledged = _try(home, daemon, case, data)
                    except Exception as error:
                        error.add_note(f"after {case.told}")
                        raise
                    answered += acknowledged
                    refused += not acknowledged
                    tried += len(data)
                    done += 1
    return Figures(
        rounds=done,
        faults=done,
        tried=tried,
        checked=answered + refused,
        more=f"a file of {len(sound):,} bytes and {len(DAMAGES)} kinds of damage; {answered:,} sessions could be "
        f"gone on with, {refused:,} said why not",
    )


def _cases(size: int, dice: random.Random, *, everything: bool) -> list[Case]:
    """Every byte with every damage, closed and open; for a short run each byte once, with each in its turn."""
    names = (f"damage-{number:06}" for number in range(10**6))
    found = [
        Case(next(names), damage, at, is_open)
        for place, damage in enumerate(DAMAGES)
        for at in range(size)
        for is_open in (False, True)
        if everything or ((at + place) % len(DAMAGES) == 0 and is_open == bool(at // len(DAMAGES) % 2))
    ]
    (dice if everything else random.Random(1)).shuffle(found)  # a short run is the same each time
    return found


def _sound_log(home: Home, nurse: Nursery) -> bytes:
    """A log with a bit of everything, made by the daemon itself."""
    nurse.start(home)
    with home.connect_blocking(autostart=False) as daemon:
        name = _PLACE.decode()
        daemon.call("session/create", {"cwd": "/work/a", "id": name, "title": "é"})
        for entries in ([user("u1")], [assistant("a1")], [user("u2"), assistant("a2", "ü"), user("u3")]):
            daemon.call("session/append", {"sessionId": name, "entries": entries})
        daemon.call("session/label", {"sessionId": name, "entryId": "u2", "label": "here"})
        daemon.call("session/branch", {"sessionId": name, "entryId": "a1"})
        daemon.call("session/append", {"sessionId": name, "entries": [assistant("a4")]})
    home.kill()
    (path,) = (home.folder / "data").rglob("*.jsonl")
    return path.read_bytes()


@contextlib.contextmanager
def _life(home: Home, nurse: Nursery) -> Iterator[BlockingDaemon]:
    shutil.rmtree(home.folder, ignore_errors=True)
    nurse.start(home)
    try:
        with home.connect_blocking(autostart=False) as daemon:
            daemon.call("session/create", {"cwd": "/work/b", "id": "somebody-else"})
            yield daemon
    finally:
        home.kill()


def _try(home: Home, daemon: BlockingDaemon, case: Case, data: bytes) -> bool:
    """Whether the damaged session took an append."""
    path = home.folder / f"{case.name}.jsonl"
    damaged = DAMAGES[case.damage](data, case.at)
    if case.is_open:
        path.write_bytes(data)
        session_id = daemon.call("session/open", {"path": str(path)})["session"]["sessionId"]
        _overwrite(path, damaged)
    else:
        path.write_bytes(damaged)
        opened = _ask(daemon, "session/open", path=str(path))
        if opened is None:
            hold(not _entries_in(damaged), "a file with entries is not opened")
            hold(path.read_bytes() == damaged, "a file that cannot be opened was changed")
            return False
        session_id = opened["session"]["sessionId"]
        _check_opened(daemon, session_id, opened, data, damaged)
    for method in ("session/entries", "session/tree", "session/context", "session/info"):
        _ask(daemon, method, sessionId=session_id)
    hold(path.read_bytes() == damaged, "reading changed the file")
    done = _ask(daemon, "session/append", sessionId=session_id, entries=[user("new")])
    _check_appended(path, damaged, acknowledged=done is not None)
    _ask(daemon, "session/close", sessionId=session_id)
    daemon.call("session/append", {"sessionId": "somebody-else", "entries": [user(case.name)]})
    return done is not None


def _ask(daemon: BlockingDaemon, method: str, **params: Any) -> Any:
    """The answer; None when it was refused, with a kind that says so."""
    try:
        return daemon.call(method, params)
    except RpcError as error:
        hold(error.kind in KINDS | {"unsupportedVersion"}, f"{method}: {error.kind}: {error.message}")
        return None


def _overwrite(path: Path, data: bytes) -> None:
    """As an editor saves in place. The clock of the file system may be too coarse to tell it from our own write."""
    with open(path, "r+b") as file:
        file.write(data)
        file.truncate()
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1_000_000))


def _entries_in(data: bytes) -> list[dict[str, Any]]:
    """Return the readable lines of a file without any code of the product: whole lines with a type and an id."""
    lines = (_object(line) or {} for line in data.split(b"\n")[1:])
    return [
        line
        for line in lines
        if isinstance(line.get("type"), str) and isinstance(line.get("id"), str) and line["id"]
    ]


def _check_opened(daemon: BlockingDaemon, session_id: str, opened: Any, data: bytes, damaged: bytes) -> None:
    """Every entry that the damage has not touched is served as it was, and what is no line any more is told."""
    header = damaged.split(b"\n")[0]
    if header == data.split(b"\n")[0]:
        touched = {line for line in damaged.split(b"\n") if line not in data.split(b"\n")}
        batches = any(line.endswith(b"\t}") for line in damaged.split(b"\n")[-3:])
        shown = entries_of(daemon.call("session/entries", {"sessionId": session_id, "limit": 1000}))
        for line in damaged.split(b"\n")[1:]:
            if line and line not in touched and not batches:
                hold(json.loads(line) in shown, f"an entry that is whole is not shown: {line[:80]!r}")
        told = {problem["line"] for problem in opened["problems"]}
        for number, line in enumerate(damaged.split(b"\n"), 1):
            if line.strip() and _object(line) is None:
                hold(number in told or batches, f"line {number} is no JSON, and nobody is told: {told}")
    else:
        hold(opened["session"]["readOnly"] or _object(header) is not None, "a damaged header may be written")


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _check_appended(path: Path, damaged: bytes, *, acknowledged: bool) -> None:
    """All earlier bytes are there: in the file, or torn off beside it. Acknowledged entries are lines."""
    now = path.read_bytes()
    beside = [path.read_bytes() for path in path.parent.glob(f"{path.name}.*")]
    if not now.startswith(damaged):
        kept = damaged in beside or any(
            torn and damaged == now[: len(damaged) - len(torn)] + torn for torn in beside
        )
        hold(kept, "what was there before an append is gone")
    whole = [line for line in now.split(b"\n")[:-1] if (_object(line) or {}).get("id") == "new"]
    hold(
        bool(whole) == acknowledged,
        f"acknowledged: {acknowledged}, but of the new entry {len(whole)} are there",
    )


CAMPAIGN = Campaign(
    name="corruption",
    promise="However a file is damaged, all else in it is served, nothing of it is overwritten, nothing is hidden.",
    how="each byte of a session file is flipped, zeroed, taken out, put in, cut off and so on, while the session is "
    "closed and while it is open; then it is opened, read and appended to",
    run=run,
)
