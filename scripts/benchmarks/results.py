"""The results of a run as a file, for a comparison with another run."""

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from scripts.benchmarks.machine import Machine
from scripts.benchmarks.report import Row, Samples

FORMAT = 1
ROOT = Path(__file__).resolve().parents[2]


ChartUnit = Literal["s", "B"]


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one measurement, its subject (`about`), and its duration in seconds."""

    name: str
    about: str
    seconds: float
    rows: tuple[Row, ...]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a chart: points (x, y), x ascending."""

    label: str
    points: tuple[tuple[float, float], ...]


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """The growth of figures. Both axes are logarithmic; `unit` is the unit of the vertical axis."""

    name: str
    title: str
    across: str
    unit: ChartUnit
    lines: tuple[Line, ...]


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """A run: the results, the commit, and the machine."""

    date: str
    commit: str
    quick: bool
    machine: Machine
    measurements: tuple[Measured, ...]
    charts: tuple[Chart, ...] = ()
    format: int = FORMAT

    @property
    def rows(self) -> list[Row]:
        return [row for measurement in self.measurements for row in measurement.rows]

    def samples(self) -> dict[tuple[str, ...], Samples]:
        """Return the samples of each row with samples, by the measurement and the texts of the row and its parents."""
        return {
            (measurement.name, *path): row.samples
            for measurement in self.measurements
            for path, row in paths(measurement.rows)
            if row.samples is not None
        }


class NotResults(Exception):
    """{file} does not contain the results of a run: {reason}"""

    def __init__(self, file: Path, reason: object) -> None:
        super().__init__(f"{file} does not contain the results of a run: {reason}")


def paths(rows: Sequence[Row]) -> Iterator[tuple[tuple[str, ...], Row]]:
    """Yield each row with its text, preceded by the texts of the rows above it in the indentation."""
    above: list[tuple[int, str]] = []
    for row in rows:
        text = row.what.strip()
        depth = len(row.what) - len(row.what.lstrip())
        above = [(number, name) for number, name in above if number < depth] + [(depth, text)]
        yield tuple(name for _, name in above), row


def write(results: Results, file: Path) -> None:
    """Write the results as indented JSON."""
    file.write_bytes(msgspec.json.format(msgspec.json.encode(results), indent=1) + b"\n")


def read(file: Path) -> Results:
    """Return the results in a file. Raises `NotResults`."""
    try:
        results = msgspec.json.decode(file.read_bytes(), type=Results)
    except (OSError, msgspec.MsgspecError) as error:
        raise NotResults(file, error) from error
    if results.format != FORMAT:
        raise NotResults(file, f"its format is {results.format}, not {FORMAT}")
    return results


def commit_of(root: Path) -> str:
    """Return the commit of a worktree, with `+` if tracked files differ from it; empty without git."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--abbrev=10", "--exclude=*", "--dirty=+"],
            cwd=root,
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
