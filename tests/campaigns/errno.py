"""A refusal at every single system call: strace lets the N-th call of a kind fail, once or from then on."""

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import runs
from campaigns.nursery import nursery
from campaigns.rehearsal import Rehearsal
from campaigns.tracing import find_strace, traced
from campaigns.victims import VICTIMS, Victim
from sessiond.client.wire import RpcError

REFUSALS: dict[str, tuple[str, ...]] = {
    "write": ("ENOSPC", "EIO", "EDQUOT", "EFBIG", "EINTR"),
    "fdatasync": ("EIO", "ENOSPC", "EDQUOT", "EINTR"),
    "fsync": ("EIO", "ENOSPC", "EINTR"),
    "rename": ("EIO", "ENOSPC", "EROFS", "EACCES"),
    "openat": ("EMFILE", "EIO", "ENOSPC", "EACCES", "EROFS", "EINTR"),
    "mkdir": ("ENOSPC", "EROFS", "EACCES"),
    "link": ("EPERM", "EMLINK", "ENOSPC"),
    "ftruncate": ("EIO", "EINTR"),
    "unlink": ("EIO", "EROFS"),
    "fchmod": ("EPERM",),
    "utimensat": ("EPERM",),
    "pread64": ("EIO", "EINTR"),
    "getdents64": ("EIO",),
}
"""The errors of each kind of call; a short run tries the first."""

KINDS = {"storageFull", "storageFailed", "readOnly", "foreignWriter", "sessionDamaged"}
"""The kinds of errors that a client may get."""

_ENDLESS = {"EINTR"}
"""Python tries again when a signal came, as it should: for ever, were there one every time."""
_SHORT = 150
"""Cases of a short run: the first call of each kind in most changes."""


@dataclass(frozen=True)
class Case:
    """The N-th call of a kind in one kind of change is refused, and with `lasting` each one after it."""

    victim: Victim
    call: str
    error: str
    number: int
    lasting: bool

    @property
    def told(self) -> str:
        more = " and all after it" if self.lasting else ""
        return f"{self.victim.name}: {self.call} number {self.number}{more} refused with {self.error}"


@dataclass
class Tally:
    refused: int = 0
    told: int = 0
    acknowledged: int = 0
    victims: set[str] = field(default_factory=set)


def run(ground: Ground) -> Figures:
    tally = Tally()
    with nursery() as nurse:
        strace = find_strace(ground, nurse)
        rehearsal = Rehearsal(ground.folder, nurse)
        todo = _cases({victim.name: _calls_of(rehearsal, strace, victim) for victim in VICTIMS})
        for number in ground.each_round(short=_SHORT, long=len(todo), seconds=25):
            _refuse(rehearsal, strace, todo[number % len(todo)], tally)
    hold(tally.refused > 0, "nothing was refused at all")
    return Figures(
        rounds=tally.refused,
        faults=tally.refused,
        checked=tally.told + tally.acknowledged,
        more=f"{tally.told:,} times the client was told, {tally.acknowledged:,} times it was done all the same, "
        f"in {len(tally.victims)} kinds of change",
    )


def _calls_of(rehearsal: Rehearsal, strace: str, victim: Victim) -> Counter[str]:
    """How many calls of each kind a change makes."""
    pid = rehearsal.begin(victim)
    trace = rehearsal.home.folder.parent / "trace"
    with traced(strace, pid, ["--trace", ",".join(REFUSALS)], trace) as attached:
        hold(attached, "strace does not attach any more")
        rehearsal.act_once(victim)
    rehearsal.home.kill()
    return Counter(
        re.findall(r"^\d+ +([a-z0-9]+)\(", trace.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    )


def _cases(calls: dict[str, Counter[str]]) -> list[Case]:
    """All there are: first of each change the first call of each kind, once and for good; then all others.

    strace counts the calls of each thread by itself, so the last numbers may not come.
    """
    found: list[tuple[tuple[int, int, bool], Case]] = []
    for call, errors in REFUSALS.items():
        for place, error in enumerate(errors):
            for victim in VICTIMS:
                for number in range(1, calls[victim.name][call] + 1):
                    for lasting in (False, True):
                        if not (lasting and error in _ENDLESS):
                            case = Case(victim, call, error, number, lasting)
                            found.append(((number, place, lasting), case))
    found.sort(key=lambda row: row[0])
    return [case for _, case in found]


def _refuse(rehearsal: Rehearsal, strace: str, case: Case, tally: Tally) -> None:
    pid = rehearsal.begin(case.victim)
    trace = rehearsal.home.folder.parent / "trace"
    where = f"{case.call}:error={case.error}:when={case.number}{'+' if case.lasting else ''}"
    with traced(strace, pid, ["--trace", case.call, "--inject", where], trace) as attached:
        hold(attached, "strace does not attach any more")
        with _named(case):
            acknowledged = _act(rehearsal, case)
    hit = b"(INJECTED)" in trace.read_bytes()
    hold(runs(pid), f"{case.told}: the daemon has ended")
    hold(hit or acknowledged, f"{case.told}: the system did not refuse, and yet the daemon did")
    with _named(case):
        rehearsal.check_same(case.victim, acknowledged)
    if hit:
        tally.refused += 1
        tally.told += not acknowledged
        tally.acknowledged += acknowledged
        tally.victims.add(case.victim.name)


@contextlib.contextmanager
def _named(case: Case) -> Iterator[None]:
    """Let an exception say in which case it was raised."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in the case {case.told}")
        raise


def _act(rehearsal: Rehearsal, case: Case) -> bool:
    """Whether the change was acknowledged; if not, the reason must be of the right kind."""
    try:
        rehearsal.act_once(case.victim)
    except RpcError as error:
        known = KINDS | {"overloaded"} if case.error == "EMFILE" else KINDS  # too many open files passes
        hold(error.kind in known, f"{case.told}: the client is told {error.kind}: {error.message}")
        return False
    return True


CAMPAIGN = Campaign(
    name="errno",
    promise="A refusal of the system at any call is told as what it is, loses nothing, and is over when its cause is.",
    how="strace lets the first, second, … N-th call of each kind fail, once and from then on, with every error that "
    "it may fail with, during the same changes as in `syscalls`; the same daemon must do the change afterwards",
    run=run,
)
