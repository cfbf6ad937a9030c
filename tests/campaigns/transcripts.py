"""Session files of every agent, damaged, repeated, reordered and copied: all that is whole in them comes out, once."""

import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from campaigns.campaign import Broken, Campaign, Figures, Ground
from campaigns.daemons import PATIENCE, Home, end_all_in
from campaigns.native_damage import DAMAGES, Case, damaged_file, write_file
from campaigns.native_files import AGENTS
from campaigns.opencode_rows import DAMAGES as DAMAGES_OF_ROWS, DatabaseCase, database_case
from sessiond.client.blocking import BlockingDaemon

_WORD = re.compile(r"\bw[0-9a-f]{16}\b")


def run(ground: Ground) -> Figures:
    rounds = faults = tried = checked = 0
    for number in ground.each_round(short=5, long=400, seconds=25):
        dice = ground.chance(number)
        folder = ground.folder / str(number)
        cases: list[Case] = [damaged_file(agent, dice, folder) for agent in AGENTS]
        cases.append(database_case(dice, f"{folder}/opencode"))
        try:
            checked += _round(Home(folder / "d"), folder / "home", cases, dice)
        finally:
            end_all_in(folder)
        rounds += 1
        faults += sum(len(case.damages) for case in cases)
        tried += sum(len(case.data) for case in cases)
    return Figures(
        rounds,
        faults,
        tried,
        checked,
        more=f"{len(AGENTS) + 1} agents, {len(DAMAGES) + len(DAMAGES_OF_ROWS)} kinds of damage",
    )


def _round(home: Home, user: Path, cases: Sequence[Case], dice: random.Random) -> int:
    """Write files before and while they are followed, and check; restart, and check again."""
    variables = {"HOME": str(user), "TZ": "UTC"}
    growing = []
    for case in cases:
        Path(case.file.cwd).mkdir(parents=True)
        for name, text in case.file.beside.items():
            write_file(user / name, text.encode())
        case.write_copy(user)
        if case.can_grow and dice.random() < 0.5:
            growing.append(case)
        else:
            case.write(user)
        (user / case.file.path).parent.mkdir(parents=True, exist_ok=True)
    with home.serving(**variables), home.connect_blocking(autostart=False) as daemon:
        daemon.call("agent/follow", {"agents": [*AGENTS, "opencode"]})
        _grow(user, growing, dice)
        checked = _check(daemon, user, cases)
    with home.serving(**variables), home.connect_blocking(autostart=False) as daemon:
        return checked + _check(daemon, user, cases)


def _grow(user: Path, cases: Sequence[Case], dice: random.Random) -> None:
    """Write files step by step, in turns. In the end they are old, so that no reader waits for more."""
    left = [case.steps(user, dice) for case in cases]
    while left:
        growing = dice.choice(left)
        if next(growing, growing) is growing:  # it has ended
            left.remove(growing)
        time.sleep(dice.choice((0, 0, 0.01)))


def _check(daemon: BlockingDaemon, user: Path, cases: Sequence[Case]) -> int:
    """Check each file as soon as its session is as it must be. Returns the number of texts."""
    deadline = time.monotonic() + PATIENCE / 2
    others = [case.other for case in cases if isinstance(case, DatabaseCase) and case.other is not None]
    for case in (*cases, *others):
        while (wrong := _wrong(daemon, user, case)) is not None:
            if time.monotonic() > deadline:
                raise Broken(f"{case.file.agent}, with {', '.join(case.damages) or 'no damage'}: {wrong}")
            time.sleep(0.05)
    return sum(len(case.words) for case in cases)


def _wrong(daemon: BlockingDaemon, user: Path, case: Case) -> str | None:
    """Return what is not as it must be."""
    listed = daemon.call("session/list", {"cwd": case.file.cwd, "includeDrafts": True})["sessions"]
    if len(listed) != 1:
        return f"{len(listed)} sessions are in the list"
    name = listed[0]["sessionId"]
    said = Counter(
        word for message in _messages(daemon, name) for word in set(_WORD.findall(json.dumps(message)))
    )
    if missing := [word for word in case.words if not said[word]]:
        return f"{len(missing)} of {len(case.words)} texts are missing, the first is {case.words.index(missing[0])}"
    if doubled := [item for item in said if said[item] > 1]:
        return f"{len(doubled)} of {len(case.words)} texts are there more than once"
    context = daemon.call("session/context", {"sessionId": name})["messages"]
    order = list(dict.fromkeys(_WORD.findall(json.dumps(context))))
    if order != case.words:
        return f"the context has {len(order)} of {len(case.words)} texts, or another order"
    spent = daemon.call("usage/report", {"cwd": case.file.cwd, "waitMs": 5_000})["total"]["tokens"]["input"]
    if spent != case.tokens:
        return f"{spent} tokens instead of {case.tokens}"
    if case.is_cut and not _is_named(daemon, user, case):
        return "nothing says that a line is cut"
    return None


def _messages(daemon: BlockingDaemon, name: str) -> list[Any]:
    found: list[Any] = []
    after: dict[str, Any] = {}
    while True:
        page = daemon.call("session/entries", {"sessionId": name, "limit": 1_000, **after})
        found += [item["entry"] for item in page["items"] if item["entry"]["type"] == "message"]
        if not page.get("nextCursor"):
            return found
        after = {"cursor": page["nextCursor"]}


def _is_named(daemon: BlockingDaemon, user: Path, case: Case) -> bool:
    agents = daemon.call("agent/list", {})["agents"]
    [agent] = [agent for agent in agents if agent["name"] == case.file.agent]
    places = str(user / case.file.path), str(user / case.file.copy_path)
    names = *places, *(f"{place}#{case.file.session_id}" for place in places)  # in a database
    in_files = f"/{case.file.session_id}.json"
    return any(
        problem["path"] in names or problem["path"].endswith(in_files) for problem in agent["problems"]
    )


CAMPAIGN = Campaign(
    "transcripts",
    "However the session file of an agent is damaged, repeated, reordered or copied, each whole record in it comes out"
    " once and in order, with its tokens, and what is not whole is named.",
    "Writes random sessions in the format of each agent, damages them, lets a daemon follow"
    " them while they grow and after a restart, and compares entries, context, tokens and problems.",
    run,
)
