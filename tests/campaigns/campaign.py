"""The type of a campaign, the ground that it is given, and the figures that it returns."""

import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NoReturn

Scale = Literal["short", "long"]


class Broken(Exception):
    """A promise did not hold: {what}."""


class CannotBeDone(Exception):
    """This machine does not allow it: {reason}. No failure."""


class LeftOut(Exception):
    """{package} is not installed, so this was not tried. A failure where everything must be tried."""


class TookTooLong(KeyboardInterrupt):
    """The campaign hung. A KeyboardInterrupt, since an event loop lets only such through."""


@dataclass(frozen=True)
class Figures:
    """The result of a campaign. A loss is not counted but raised: a campaign that returns has lost nothing.

    `rounds` lives, cuts or cases; `faults` kills, refusals, damages and the like that were injected; `tried`
    bytes that went through the daemon; `checked` acknowledgements, deliveries or answers that were verified.
    `more` is a phrase of further figures for the table.
    """

    rounds: int
    faults: int = 0
    tried: int = 0
    checked: int = 0
    more: str = ""


@dataclass
class Ground:
    """Where a campaign takes place, and how much of it.

    `dice` are the only source of chance, so that a seed repeats a run as far as the machine does. `folder` is
    empty, short, and gone afterwards together with every process whose SESSIOND_HOME lies in it. `rounds` and
    `minutes` are what a person asked for.
    """

    name: str
    seed: int
    scale: Scale
    folder: Path
    rounds: int | None = None
    minutes: float | None = None
    dice: random.Random = field(init=False)
    missing: list[str] = field(default_factory=list)
    """A part of the campaign that this machine does not allow."""

    def __post_init__(self) -> None:
        self.dice = random.Random(f"{self.name} {self.seed}")
        self._start = time.monotonic()

    @property
    def long(self) -> bool:
        return self.scale == "long"

    def each_round(self, *, short: int, long: int, seconds: float = 30.0) -> Iterator[int]:
        """Numbers from 0: as many as a person asked for, else as the scale wants.

        A short run also ends after `seconds`, and any run after the minutes that were asked for, but never
        before the first round is done.
        """
        wanted = self.rounds if self.rounds is not None else long if self.long else short
        limit = seconds if not self.long and self.rounds is None else float("inf")
        if self.minutes is not None:
            limit = self.minutes * 60
        start = told = time.monotonic()
        for number in range(wanted):
            if number and time.monotonic() - start > limit:
                self.progress(f"{number} of {wanted} rounds: the time is up")
                return
            yield number
            if time.monotonic() - told > (60 if self.long else 10):
                told = time.monotonic()
                self.progress(f"{number + 1} of {wanted} rounds")

    def chance(self, number: int) -> random.Random:
        """The chance of one round, which does not depend on how the rounds before it went."""
        return random.Random(f"{self.name} {self.seed} {number}")

    def progress(self, text: str) -> None:
        print(f"  {self.name}, {time.monotonic() - self._start:.0f} s: {text}", file=sys.stderr, flush=True)

    def cannot(self, reason: str) -> NoReturn:
        """End here: the machine does not allow it (no root, no loop devices, no ptrace). No failure."""
        raise CannotBeDone(reason)

    def cannot_partly(self, reason: str) -> None:
        """Go on without a part that the machine does not allow. It is told at the end."""
        self.missing.append(reason)

    def leave_out(self, package: str) -> NoReturn:
        """End here: a package could be installed but is not. A failure with --whole."""
        raise LeftOut(package)


@dataclass(frozen=True)
class Campaign:
    """`promise` is what it sets out to break, in a sentence; `how` says what it does for that, in another."""

    name: str
    promise: str
    how: str
    run: Callable[[Ground], Figures]


def hold(holds: object, what: str) -> None:
    """Raise `Broken` unless it holds. `what` says what is wrong."""
    if not holds:
        raise Broken(what)


def limit_time(seconds: float) -> None:
    """Raise `TookTooLong` in this thread after so many seconds; 0: no more."""

    def expired(_signal: int, _frame: object) -> None:
        raise TookTooLong

    signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
