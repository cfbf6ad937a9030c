"""Rows of measurements, and their table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

Verdict = Literal["met", "missed", ""]
Unit = Literal["s", "B", "/s", "x"]
"""Seconds, bytes, a rate, or a ratio. Rates are better when they are higher, everything else when it is lower."""


@dataclass(frozen=True)
class Samples:
    """The values of all rounds of one measurement."""

    unit: Unit
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)


@dataclass(frozen=True)
class Row:
    """One line of the table.

    `ratio` compares with the reference measurement of the same run, which its text names. It says more than
    `measured`, which depends on the machine. `bar` is the project's target; a row without a target is information.
    A row with `samples` has a spread and can be compared with the same row of another run. A row whose `what` is
    indented belongs to the last row above without indentation. `reason` says what prevents reaching a missed target, if
    possible in figures of the same run.
    """

    what: str
    measured: str
    ratio: str = ""
    bar: str = ""
    verdict: Verdict = ""
    samples: Samples | None = None
    reason: str = ""

    @property
    def spread(self) -> str:
        """The lowest and the highest value; empty for a single value."""
        if self.samples is None or len(self.samples.values) < 2:
            return ""
        return f"{formatted(self.samples.low, self.samples.unit)} - {formatted(self.samples.high, self.samples.unit)}"


def sampled(
    what: str,
    values: Iterable[float],
    unit: Unit,
    *,
    ratio: str = "",
    bar: str = "",
    verdict: Verdict = "",
    limit: float | None = None,
    reason: str = "",
) -> Row:
    """Return the row of these values.

    Args:
        what: The name of the measured value.
        values: One value for each round, at least one.
        unit: The unit of the values.
        ratio: The comparison with a reference.
        bar: The text of a target for something other than the median, with its `verdict`.
        verdict: Whether `bar` is met.
        limit: The target for the median: at least this for rates, at most this for everything else.
        reason: The limit, as the reason if the target is missed.
    """
    samples = Samples(unit, tuple(values))
    if limit is not None:
        bar, verdict = (
            (f">= {formatted(limit, unit)}", at_least(samples.median, limit))
            if unit == "/s"
            else (f"<= {formatted(limit, unit)}", at_most(samples.median, limit))
        )
    return Row(what, formatted(samples.median, unit), ratio, bar, verdict, samples, reason)


def at_most(value: float, limit: float) -> Verdict:
    return "met" if value <= limit else "missed"


def at_least(value: float, limit: float) -> Verdict:
    return "met" if value >= limit else "missed"


def middle(values: Iterable[float]) -> float:
    """The median: one disturbed run among several does not count."""
    return median(values)


def formatted(value: float, unit: Unit) -> str:
    """Return the value with its unit, in three or more digits."""
    if unit == "s":
        return duration(value)
    if unit == "B":
        return megabytes(value)
    return f"{value:,.0f}/s" if unit == "/s" else f"{value:.2f} x"


def duration(seconds: float) -> str:
    """Return a duration in µs, ms or s."""
    return f"{seconds * 1e6:.1f} µs" if abs(seconds) < 0.001 else milliseconds(seconds)


def milliseconds(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.1 else f"{seconds * 1e3:.0f} ms"


def megabytes(count: float) -> str:
    return f"{count / 1e6:.1f} MB"


HEADING = ("what", "measured", "spread", "ratio", "bar", "")


def table(rows: Sequence[Row]) -> str:
    """The rows under a heading, in columns of the necessary width."""
    return columns([HEADING, *(_cells(row) for row in rows)])


def columns(lines: Sequence[Sequence[str]]) -> str:
    """Return lines of cells, of which the first is the heading, as text with aligned columns."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    drawn = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    drawn.insert(1, "  ".join("-" * width for width in widths if width))
    return "\n".join(drawn)


def _cells(row: Row) -> tuple[str, ...]:
    return (row.what, row.measured, row.spread, row.ratio, row.bar, row.verdict)
