"""Death at every single system call: strace kills the daemon at the N-th call of a kind, for every N there is."""

from itertools import count, product

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.nursery import nursery
from campaigns.rehearsal import Rehearsal, died
from campaigns.tracing import find_strace, traced
from campaigns.victims import VICTIMS, Victim

CALLS = (
    "write", "fdatasync", "fsync", "rename", "openat", "ftruncate", "unlink", "mkdir", "link", "dup2,dup3",
    "pwrite64", "fchmod", "utimensat", "sendto",
)  # fmt: skip
"""Calls that change a file or a name, or send a message; each kind is counted by itself. `sendto` is an answer."""


def run(ground: Ground) -> Figures:
    deaths = 0
    acted = set()
    with nursery() as nurse:
        strace = find_strace(ground, nurse)
        rehearsal = Rehearsal(ground.folder, nurse)
        pairs = list(product(VICTIMS, CALLS))
        for number in ground.each_round(short=len(pairs), long=len(pairs)):
            victim, call = pairs[number % len(pairs)]
            deaths += _walk(rehearsal, strace, victim, call)
            acted.add(victim.name)
    hold(deaths > 0, "nothing was killed at all")
    return Figures(
        deaths, faults=deaths, checked=deaths, more=f"{len(acted)} of {len(VICTIMS)} kinds of change"
    )


def _walk(rehearsal: Rehearsal, strace: str, victim: Victim, call: str) -> int:
    """Kill at the first call of this kind, at the second and so on, until the victim is done before."""
    for number in count(1):
        pid = rehearsal.begin(victim)
        how = ["--trace", call, "--inject", f"{call}:signal=KILL:when={number}"]
        with traced(strace, pid, how, rehearsal.home.folder.parent / "trace") as attached:
            hold(attached, "strace does not attach any more")
            acknowledged = rehearsal.act(victim, pid)
        dead = died(victim, pid, acknowledged)
        rehearsal.check(victim, acknowledged, f"at {call} number {number}")
        if not dead:
            return number - 1
    raise AssertionError("there are infinitely many numbers")


CAMPAIGN = Campaign(
    name="syscalls",
    promise="A change is done or it is not, at whichever system call the daemon dies.",
    how="strace kills the daemon at the first, second, … N-th call of each kind that touches a file, a name or a "
    "client, during appends, creation, promotion, forks, trash, migrations, repairs, blobs, compaction, moves; "
    "another daemon is asked afterwards",
    run=run,
)
