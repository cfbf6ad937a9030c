"""Many more sessions than descriptors: clients hold, write and read them, and other programs write to the files.

The daemon is limited by `ulimit -n`, soft and hard. No request may be refused, every acknowledged entry must be in its
file, once and in order, and clients must still be able to attach.
"""

import contextlib
import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import Home, until
from campaigns.log_on_disk import read_log
from campaigns.victims import assistant, user
from sessiond.client.blocking import BlockingDaemon
from sessiond.client.wire import RpcError
from support.columns import entries_of

_SHORT = (96, 200)
"""Descriptors and sessions of a short run."""
_LONG = (512, 1_500)
_CLIENTS = 8


@dataclass
class _Scene:
    """A daemon with few descriptors, its clients, and what each session was told to hold, in order."""

    limit: int
    pid: int
    dice: random.Random
    clients: list[BlockingDaemon]
    paths: dict[str, Path] = field(default_factory=dict)
    acknowledged: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    told: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    """How many entries of each session the daemon has acknowledged or shown: another program's come a moment later."""
    requests: int = 0
    foreign: int = 0

    def ask(self, method: str, **params: Any) -> Any:
        """The result that one of the clients gets. Raises `Broken` when it is refused."""
        self.requests += 1
        try:
            return self.dice.choice(self.clients).call(method, params)
        except RpcError as error:
            hold(False, f"{method} is refused: {error.kind}: {error.message}")

    def create(self, name: str) -> None:
        made = self.ask("session/create", cwd="/work/many", id=name)
        self.append(name)
        self.paths[name] = Path(self.ask("session/info", sessionId=name)["session"]["path"])
        hold(made["session"]["sessionId"] == name, f"{name} was created as {made['session']['sessionId']}")

    def append(self, name: str) -> None:
        first = len(self.acknowledged[name])
        entries = [user(f"n{first}", f"{name} garnet"), assistant(f"n{first + 1}")]
        durability = self.dice.choice(["synced", "written"])
        self.ask("session/append", sessionId=name, entries=entries, durability=durability)
        self.acknowledged[name] += [entry["id"] for entry in entries]
        self.told[name] = len(self.acknowledged[name])

    def write_as_another_program(self, name: str) -> None:
        """Append an entry as pi does, which knows of no daemon."""
        entry_id = f"n{len(self.acknowledged[name])}"
        line = user(entry_id) | {
            "parentId": self.acknowledged[name][-1],
            "timestamp": "2026-01-01T00:00:00.000Z",
        }
        with self.paths[name].open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
        self.acknowledged[name].append(entry_id)
        self.foreign += 1

    def read(self, name: str) -> None:
        until(
            lambda: self._has_shown_all(name), f"{name} is never answered with {self.acknowledged[name][-3:]}"
        )

    def _has_shown_all(self, name: str) -> bool:
        """Whether an answer has every entry. Raises `Broken` when one is missing that was acknowledged or shown."""
        page = self.ask("session/entries", sessionId=name)
        seen = [entry["id"] for entry in entries_of(page) if entry["type"] == "message"]
        wanted = self.acknowledged[name]
        is_so_far = len(seen) >= self.told[name] and seen == wanted[: len(seen)]
        hold(is_so_far, f"{name} is answered with {seen[-3:]}, not {wanted[-3:]}")
        self.told[name] = len(seen)
        return len(seen) == len(wanted)

    def list_and_search(self) -> None:
        total = self.ask("session/list", limit=5, withTotal=True)["totalCount"]
        hold(total == len(self.paths), f"{total} of {len(self.paths)} sessions are listed")
        # Without `waitMs`, the answer may come before the texts of these sessions are indexed, and says so.
        found = self.ask("session/search", query="garnet", limit=5, waitMs=60_000)
        hold(found["hits"], f"a word in every session is not found; not yet indexed: {found['unsearched']}")

    def look_at_descriptors(self) -> None:
        """Background readers may have some files open at a given moment, and close them again."""
        most = self.limit * 0.75
        until(
            lambda: self.ask("server/status")["descriptorCount"] < most,
            f"more than {most:.0f} of {self.limit} descriptors are in use by {_CLIENTS} clients",
        )


def run(ground: Ground) -> Figures:
    limit, count = _LONG if ground.long else _SHORT
    done = requests = foreign = checked = 0
    for number in ground.each_round(short=1, long=10, seconds=25):
        with _scene(Home(ground.folder / f"{number}"), limit, ground.chance(number)) as scene:
            names = [f"session-{at:05}" for at in range(count)]
            for name in names:
                scene.create(name)
            scene.look_at_descriptors()
            for name in scene.dice.sample(names, count // 2):
                _do_something(scene, name)
            scene.list_and_search()
            scene.look_at_descriptors()
            for name in names:
                scene.read(name)
            requests, foreign = requests + scene.requests, foreign + scene.foreign
        checked += sum(_check(scene, name) for name in scene.paths)
        done += 1
    return Figures(
        rounds=done,
        faults=foreign,
        checked=checked + requests,
        more=f"{count:,} sessions open at once with {limit} descriptors; {requests:,} requests, none refused",
    )


def _do_something(scene: _Scene, name: str) -> None:
    scene.dice.choice([scene.append, scene.append, scene.write_as_another_program, scene.read])(name)
    if scene.dice.random() < 0.02:
        scene.list_and_search()


def _check(scene: _Scene, name: str) -> int:
    """Compare a file with what was acknowledged; how many entries it holds."""
    log = read_log(scene.paths[name])
    there = [line["id"] for line in log.lines[1:] if line["type"] == "message"]
    hold(there == scene.acknowledged[name], f"{name} holds {there[-3:]}, not {scene.acknowledged[name][-3:]}")
    hold(log.tail == b"", f"{name} ends in half a line")
    return len(there)


@contextlib.contextmanager
def _scene(home: Home, limit: int, dice: random.Random) -> Iterator[_Scene]:
    under = ["/bin/sh", "-c", f'ulimit -n {limit} && exec "$0" "$@"']
    with home.serving(under=under) as process, contextlib.ExitStack() as clients:
        attached = [clients.enter_context(home.connect_blocking(autostart=False)) for _ in range(_CLIENTS)]
        scene = _Scene(limit, process.pid, dice, attached)
        yield scene
        clients.close()
        process.terminate()
        process.wait()


CAMPAIGN = Campaign(
    name="descriptors",
    promise="The number of open sessions is not limited by the number of files that may be open.",
    how="several times more sessions than descriptors are created and held open, written, read, listed and searched, "
    "while another program appends to their files",
    run=run,
)
