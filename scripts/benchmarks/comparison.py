"""Compares the results of two runs, row by row."""

from collections.abc import Sequence
from dataclasses import replace

import msgspec
from scripts.benchmarks.report import Row, Samples, columns, formatted
from scripts.benchmarks.results import Measured, Results, paths


def compared(ours: Results, theirs: Results) -> str:
    """Return the comparison as a table, then the rows of only one run, then other differences."""
    mine, other = ours.samples(), theirs.samples()
    heading = (
        "what",
        f"before: {theirs.commit}",
        "spread",
        f"now: {ours.commit}",
        "spread",
        "now/before",
        "",
    )
    lines = [heading, *(_line(path, other[path], mine[path]) for path in mine if path in other)]
    parts = [columns(lines), ""]
    parts += [f"only now: {_name(path)}" for path in mine if path not in other]
    parts += [f"only before: {_name(path)}" for path in other if path not in mine]
    parts += [f"The runs differ: {difference}." for difference in _differences(ours, theirs)]
    return "\n".join(parts).rstrip()


def merged(runs: Sequence[Measured]) -> Measured:
    """Return several runs of one measurement as one, with the samples of all. Other columns are those of the last."""
    gathered: dict[tuple[str, ...], list[float]] = {}
    for one in runs:
        for path, row in paths(one.rows):
            gathered.setdefault(path, []).extend(row.samples.values if row.samples is not None else ())
    rows = tuple(_with_samples(row, gathered[path]) for path, row in paths(runs[-1].rows))
    return msgspec.structs.replace(runs[-1], seconds=sum(run.seconds for run in runs), rows=rows)


def _with_samples(row: Row, values: Sequence[float]) -> Row:
    if row.samples is None:
        return row
    samples = Samples(row.samples.unit, tuple(values))
    return replace(row, measured=formatted(samples.median, samples.unit), samples=samples)


def _line(path: tuple[str, ...], before: Samples, now: Samples) -> tuple[str, ...]:
    ratio = f"{now.median / before.median:.2f} x" if before.median else ""
    return (_name(path), *_cells(before), *_cells(now), ratio, _change(before, now))


def _cells(samples: Samples) -> tuple[str, str]:
    low, high = (formatted(value, samples.unit) for value in (samples.low, samples.high))
    return formatted(samples.median, samples.unit), f"{low} - {high}" if len(samples.values) > 1 else ""


def _change(before: Samples, now: Samples) -> str:
    """`better` or `worse` if all values of one run are beyond all of the other; else the difference may be chance."""
    if min(len(before.values), len(now.values)) < 2 or (now.low <= before.high and before.low <= now.high):
        return ""
    return "better" if (now.low > before.high) == (now.unit == "/s") else "worse"


def _name(path: tuple[str, ...]) -> str:
    """The name of the measurement is left out, because the first text describes it better."""
    return ": ".join(path[1:])


def _differences(ours: Results, theirs: Results) -> list[str]:
    pairs = {
        "the interpreter": (theirs.machine.python, ours.machine.python),
        "the processor": (theirs.machine.processor, ours.machine.processor),
        "the number of cores": (theirs.machine.cores, ours.machine.cores),
        "the kernel": (theirs.machine.kernel, ours.machine.kernel),
        "the file system": (theirs.machine.file_system, ours.machine.file_system),
        "--quick": (theirs.quick, ours.quick),
    }
    return [f"{name} ({before}, now {now})" for name, (before, now) in pairs.items() if before != now]
