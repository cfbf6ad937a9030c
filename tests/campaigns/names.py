"""Files and folders with names of random bytes, in the folders of all agents, while a daemon follows them."""

import os
import random
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import Home, until
from sessiond.agents.table import AGENTS
from sessiond.client.blocking import BlockingDaemon
from support import small_sessions
from support.small_sessions import PLACES

_STRANGE = (
    b"\xff", b"\xed\xb3\xbf", b"\xf0\x9f\x98", b"two\nlines", b"\x1b[31m", "\u202ecod.exe".encode(), b"%2e%2e%2f%00",
    b"--help", b"-rf", b" ", b"~", b"$(id)", b"a'b\"c", b"\\", b"*", b"#x.db#y", b"con.jsonl", "\U0001f426".encode(),
)  # fmt: skip
_LONGEST = 180
"""Bytes of a name. With what the agents put around it, it fits into the 255 of a file system."""
_TOGETHER = 6
"""Sessions of one round."""


@dataclass
class _Session:
    """A session that an agent writes. `marker` is its prompt, which no other session has."""

    agent: str
    path: Path
    session_id: str
    marker: str
    answers: int = 1

    def write(self) -> None:
        small_sessions.write(self.agent, self.path, self.session_id, self.marker, self.answers)


def run(ground: Ground) -> Figures:
    home, user = Home(ground.folder / "home"), ground.folder / "ada"
    user.mkdir()
    variables = dict.fromkeys((variable for agent in AGENTS.values() for variable in agent.variables), "")
    made = moved = removed = checked = 0
    longest = 0.0
    with home.serving(HOME=str(user), **variables), home.connect_blocking() as daemon:
        daemon.call("agent/follow", {"agents": list(PLACES)})
        for number in ground.each_round(short=20, long=600, seconds=25):
            chance = ground.chance(number)
            sessions = [_new(chance, user, f"heron {number}.{index}") for index in range(_TOGETHER)]
            for session in sessions:
                session.write()
            began = time.monotonic()
            _wait(daemon, sessions)
            longest = max(longest, time.monotonic() - began)
            for session in sessions:
                if chance.random() < 0.5:
                    _move(chance, user, session)
                    moved += 1
                session.answers += 1
                session.write()
            _wait(daemon, sessions)
            for session in sessions[::2]:
                session.path.unlink()
                removed += 1
            _wait_gone(daemon, sessions[::2])
            made += len(sessions)
            checked += 3 * len(sessions)
            _hold_sound(home, daemon)
        rows = _rows(daemon)
        hold(len({row["firstPrompt"] for row in rows}) == made, "a session is missing at the end")
    return Figures(
        rounds=made, faults=moved + removed, checked=checked,
        more=f"{moved:,} renamed, {removed:,} deleted; the longest wait for six new sessions took {longest:.1f} s",
    )  # fmt: skip


def _new(chance: random.Random, user: Path, marker: str) -> _Session:
    agent = chance.choice(list(PLACES))
    session_id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
    return _Session(agent, _place(chance, user, agent), session_id, marker)


def _place(chance: random.Random, user: Path, agent: str) -> Path:
    """A path with random names where this agent would have a session, and nothing is."""
    while True:
        place, (folder, name) = PLACES[agent], (_name(chance), _name(chance))
        path = user / place.folder / place.path(folder, name)
        if not path.exists() and not path.is_symlink():
            return path


def _name(chance: random.Random) -> str:
    """A name of random bytes."""
    if chance.random() < 0.5:
        name = chance.choice(_STRANGE) + chance.randbytes(chance.choice((0, 1, 3)))
    else:
        name = chance.randbytes(chance.choice((1, 2, 8, 30, _LONGEST // 2)))
    name = name.replace(b"/", b"|").replace(b"\0", b"0")
    # Most agents leave hidden files alone, and ours may not find one that is named like the folder itself.
    return os.fsdecode(b"n" + name[: _LONGEST // 2 - 1])


def _move(chance: random.Random, user: Path, session: _Session) -> None:
    """Rename the file of a session, with its folder."""
    after = _place(chance, user, session.agent)
    after.parent.mkdir(parents=True, exist_ok=True)
    session.path.rename(after)
    session.path = after


def _rows(daemon: BlockingDaemon) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = daemon.call("session/list", {"limit": 10_000})["sessions"]
    return rows


def _wait(daemon: BlockingDaemon, sessions: list[_Session]) -> None:
    """Wait until each session is listed with all its messages."""

    def missing() -> list[str]:
        found: dict[str, int] = {}
        for row in _rows(daemon):
            found[row["firstPrompt"]] = max(found.get(row["firstPrompt"], 0), row["messageCount"])
        return [
            f"{session.agent} {session.path!r}"
            for session in sessions
            if found.get(session.marker, 0) < 1 + session.answers
        ]

    try:
        until(lambda: not missing(), "not listed with all messages")
    finally:
        if left := missing():
            hold(False, f"not listed with all messages: {left}")


def _wait_gone(daemon: BlockingDaemon, sessions: list[_Session]) -> None:
    markers = {session.marker for session in sessions}

    def are_gone() -> bool:
        gone = {row["firstPrompt"] for row in _rows(daemon) if row["origin"] and row["origin"]["gone"]}
        return markers <= gone

    until(are_gone, f"not known to be deleted: {[session.path for session in sessions]}")


def _hold_sound(home: Home, daemon: BlockingDaemon) -> None:
    """Nothing has ended, nothing is polled, and no file has a problem."""
    hold(daemon.call("server/status", {})["failedTasks"] == [], "a background task ended")
    for agent in daemon.call("agent/list", {})["agents"]:
        hold(agent["failure"] is None, f"{agent['name']} is not followed: {agent['failure']}")
        hold(agent["problemCount"] == 0, f"{agent['name']} has problems: {agent['problems']}")
    written = Path(home.locations.log).read_text(encoding="utf-8")
    for phrase in (
        "cannot watch",
        "ended with an error",
        "cannot be read",
        "cannot be followed",
        "Traceback",
    ):
        hold(phrase not in written, f"the log says {phrase!r}")


CAMPAIGN = Campaign(
    name="names",
    promise="A session is followed whatever the bytes of its name, and no name stops the watch or another session.",
    how="files and folders of all agents with names of random bytes are made, renamed and deleted while a daemon "
    "follows them; each session must be listed with all its messages, and the daemon must poll nothing",
    run=run,
)
