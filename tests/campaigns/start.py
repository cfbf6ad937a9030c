"""Fifty clients at the same moment make one daemon, whatever is there when they come."""

import contextlib
import json  # noqa: TID251  (what is checked here must not be read with the product's own means)
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import Home, end_all_in, processes_in, runs, until, wait_gone

_SHORT, _LONG = 16, 50
"""Clients of a crowd."""

Prepare = Callable[[Home, random.Random], Callable[[], None]]
"""Makes a state to start from, and answers what happens at the moment at which the crowd comes."""


def _nothing() -> None:
    pass


def _empty(home: Home, chance: random.Random) -> Callable[[], None]:
    return _nothing


def _runs_already(home: Home, chance: random.Random) -> Callable[[], None]:
    home.call("server/status")
    return _nothing


def _left_by_a_killed_one(home: Home, chance: random.Random) -> Callable[[], None]:
    home.call("server/status")
    home.kill()
    return _nothing


def _killed_as_they_come(home: Home, chance: random.Random) -> Callable[[], None]:
    home.call("server/status")
    return lambda: _signal(home, signal.SIGKILL)


def _stopped_as_they_come(home: Home, chance: random.Random) -> Callable[[], None]:
    home.call("server/status")
    return lambda: _signal(home, signal.SIGTERM)


def _path_was_removed(home: Home, chance: random.Random) -> Callable[[], None]:
    home.call("server/status")
    return Path(home.locations.socket).unlink


def _starter_is_killed(home: Home, chance: random.Random) -> Callable[[], None]:
    starter = subprocess.Popen(
        [sys.executable, "-P", "-m", "sessiond", "status"], env=home.environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    starter.kill()
    starter.wait()
    # A process that dies with the lock leaves it free: others may see no more of it.
    spawning = subprocess.Popen(
        [sys.executable, "-P", "-m", "sessiond", "list"], env=home.environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: Path(home.locations.start_lock).exists(), "nobody starts a daemon")

    def kill() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(spawning.pid, signal.SIGKILL)
        spawning.wait()

    return kill


def _endpoint_of_another(home: Home, chance: random.Random) -> Callable[[], None]:
    """The process id that a dead daemon had belongs to somebody else by now."""
    home.call("server/status")
    home.kill()
    endpoint = Path(home.locations.endpoint)
    told = json.loads(endpoint.read_bytes())
    endpoint.write_text(json.dumps({**told, "pid": os.getpid()}), encoding="utf-8")
    return _nothing


def _endpoint_is_garbage(home: Home, chance: random.Random) -> Callable[[], None]:
    Path(home.locations.state).mkdir(mode=0o700, parents=True)
    Path(home.locations.endpoint).write_bytes(chance.randbytes(200))
    return _nothing


def _dead_socket(home: Home, chance: random.Random) -> Callable[[], None]:
    Path(home.locations.runtime).mkdir(mode=0o700, parents=True)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(home.locations.socket)
    return _nothing


STATES: Final[dict[str, Prepare]] = {
    "nothing is there": _empty,
    "a daemon runs": _runs_already,
    "a daemon was killed": _left_by_a_killed_one,
    "a daemon is being killed": _killed_as_they_come,
    "a daemon is being stopped": _stopped_as_they_come,
    "the socket's path was removed": _path_was_removed,
    "whoever starts one is killed": _starter_is_killed,
    "the pid of the last one is another's": _endpoint_of_another,
    "the endpoint is garbage": _endpoint_is_garbage,
    "a dead socket is there": _dead_socket,
}


_HARMLESS: Final = ("nothing is there", "a daemon runs")

_TESTS: Final = Path(__file__).parents[1]
"""Where Python finds this package."""


def _signal(home: Home, number: signal.Signals) -> None:
    pid = home.pid()
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _crowd(home: Home, count: int, moment: Callable[[], None]) -> list[dict[str, Any]]:
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "campaigns.crowd", str(count)],
        cwd=_TESTS, env={**home.environment, "PYTHONPATH": str(_TESTS)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as crowd:  # fmt: skip
        assert crowd.stdin is not None
        assert crowd.stdout is not None
        hold(crowd.stdout.readline() == b"READY\n", "there is no crowd")
        crowd.stdin.write(b"go\n")
        crowd.stdin.flush()
        moment()
        return [json.loads(line) for line in crowd.stdout.read().splitlines()]


def _daemons(home: Home) -> list[int]:
    """Every process here that is, or becomes, a daemon."""
    found = []
    for pid in processes_in(home.folder):
        with contextlib.suppress(OSError):
            if b"serve" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") and runs(pid):
                found.append(pid)
    return found


def _round(home: Home, state: str, chance: random.Random, count: int) -> list[float]:
    moment = STATES[state](home, chance)
    told = _crowd(home, count, moment)
    failed = [item["error"] for item in told if "error" in item]
    hold(not failed, f"when {state}: {len(failed)} of {count} clients failed: {failed[:1]}")
    hold(len(told) == count, f"when {state}: {count - len(told)} of {count} clients ended without a word")
    until(lambda: len(_daemons(home)) <= 1, f"when {state}: there are {len(_daemons(home))} daemons")
    now = home.call("server/status")
    dying = "being" in state  # some of the crowd were answered by the one that ended
    epochs = {item["epoch"] for item in told} - {now["epoch"]}
    hold(not epochs or dying, f"when {state}: {len(epochs)} other daemons had answered")
    hold(len(epochs) <= 1, f"when {state}: {len(epochs) + 1} daemons had answered")
    hold(
        _daemons(home) == [now["pid"]],
        f"when {state}: {_daemons(home)} are daemons, and {now['pid']} answers",
    )
    return [item["seconds"] for item in told]


def wage(ground: Ground) -> Figures:
    count = _LONG if ground.long else _SHORT
    states = list(STATES)
    rounds, waited = 0, list[float]()
    for number in ground.each_round(short=len(states), long=30 * len(states), seconds=600.0):
        home = Home(ground.folder / f"{number}")
        home.folder.mkdir(mode=0o700)
        waited += _round(home, states[number % len(states)], ground.chance(number), count)
        pid = home.pid()
        end_all_in(home.folder)
        if pid is not None:
            wait_gone(pid)
        rounds += 1
    cuts = statistics.quantiles(waited, n=100)
    return Figures(
        rounds=rounds,
        faults=rounds - sum(1 for number in range(rounds) if states[number % len(states)] in _HARMLESS),
        checked=len(waited),
        more=f"{len(states)} states, {count} clients each; half were answered within {cuts[49]:.2f} s, "
        f"99 % within {cuts[98]:.2f} s",
    )


CAMPAIGN = Campaign(
    name="start",
    promise="However many clients come at once, and whatever is there, they get one daemon, and none fails.",
    how="processes connect at the same moment: on nothing, on what a killed daemon left, on one that is being killed "
    "or stopped, on a removed path, behind a starter that is killed, on an endpoint that lies",
    run=wage,
)
