"""What a measurement says, and the table that all of them make."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

Verdict = Literal["met", "missed", ""]


@dataclass(frozen=True)
class Row:
    """One line of the table.

    `ratio` compares with the yardstick of the same run, which its text names; it says more than `measured`,
    which depends on the machine. `bar` is what the project promises; rows without one are there for the eye.
    """

    what: str
    measured: str
    ratio: str = ""
    bar: str = ""
    verdict: Verdict = ""


def at_most(value: float, limit: float) -> Verdict:
    return "met" if value <= limit else "missed"


def at_least(value: float, limit: float) -> Verdict:
    return "met" if value >= limit else "missed"


def middle(values: Iterable[float]) -> float:
    """The median: one disturbed run among several does not count."""
    return median(values)


def milliseconds(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms"


def megabytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB"


def table(rows: Sequence[Row]) -> str:
    """The rows under a heading, in columns as wide as they need to be."""
    heading = ("what", "measured", "ratio", "bar", "")
    cells = [heading, *((row.what, row.measured, row.ratio, row.bar, row.verdict) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heading))]
    drawn = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    ]
    drawn.insert(1, "  ".join("-" * width for width in widths if width))
    return "\n".join(drawn)
