"""Odd environments: the daemon serves there, or says in a sentence why not, and touches nothing."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from campaigns.campaign import Broken, Campaign, Figures, Ground
from campaigns.daemons import processes_in
from campaigns.surroundings import ANYBODY, NOBODY, ONLY_ROOT, Spot, as_user


def wage(ground: Ground) -> Figures:
    cases = list(ANYBODY)
    if _can_be_others(ground.folder):
        cases += ONLY_ROOT
    else:
        ground.cannot_partly(
            f"{len(ONLY_ROOT)} cases need another user, whom only root can be, with this Python"
        )
    rounds = 0
    for number in ground.each_round(short=len(cases), long=20 * len(cases), seconds=600.0):
        case = cases[number % len(cases)]
        spot = Spot(ground.folder / f"{number}")
        try:
            case(spot)
        except Broken as broken:
            raise Broken(f"{case.__name__.replace('_', ' ')}: {broken}") from broken
        finally:
            _end(spot)
        rounds += 1
    return Figures(rounds=rounds, faults=rounds, checked=rounds, more=f"{len(cases)} environments")


def _can_be_others(folder: Path) -> bool:
    """Whether processes of another user can be had, who may read this Python and the project."""
    if os.geteuid() != 0:
        return False
    try:
        done = subprocess.run(
            [*as_user(NOBODY), sys.executable, "-P", "-c", "import sessiond.cli.main, msgspec"],
            cwd="/", env={"HOME": "/"}, capture_output=True, timeout=60.0, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return False
    folder.chmod(0o755)
    return done.returncode == 0 and all(path.stat().st_mode & 0o001 for path in (folder, *folder.parents))


def _end(spot: Spot) -> None:
    """End what serves there, by its own word and then by force; nothing of it has a SESSIOND_HOME to be found by."""
    for home in (spot.home, *spot.folder.glob("*")):
        for process in Path("/proc").glob("[0-9]*"):
            try:
                variables = (process / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"HOME={home}".encode() in variables and int(process.name) != os.getpid():
                _kill(int(process.name))
    for pid in processes_in(spot.folder):
        _kill(pid)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


CAMPAIGN = Campaign(
    name="environments",
    promise="In an odd environment the daemon serves, or says in a sentence why not, and touches nothing.",
    how="no runtime folder, a wrong one, two shells that differ in it, long and odd paths, no environment, no streams, "
    "files, links, folders and sockets of others in the way, a pid that is another's, another user's home",
    run=wage,
)
