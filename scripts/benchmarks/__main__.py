"""Run measurements and print one table.

Exit status: 0, or 1 if a measurement failed. A missed target is not a failure.
"""

import argparse
import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import msgspec
from scripts.benchmarks import against, record, results
from scripts.benchmarks.comparison import compared
from scripts.benchmarks.report import table
from scripts.benchmarks.running import MEASUREMENTS, grow, run

CURVES = Path(".cache/bench-curves")

NOTE = (
    "Medians of rounds that alternate with their reference, and the lowest and highest round. Rates and times depend\n"
    "on the machine: compare the ratios, and the server's processor time per request."
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    command_line = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.partition("\n")[0])
    command_line.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one of {', '.join(MEASUREMENTS)} (default: all)"
    )
    command_line.add_argument(
        "--quick", action="store_true", help="a smoke run: one round and small sizes, in three minutes"
    )
    command_line.add_argument("--json", metavar="FILE", type=_path, help="write the results to this file")
    command_line.add_argument(
        "--against",
        metavar="COMMIT|FILE",
        help="compare with results of --json, or with a commit, which is measured in turns with this tree",
    )
    command_line.add_argument(
        "--turns",
        metavar="N",
        type=int,
        default=3,
        help="with --against COMMIT: runs of each side (default: 3)",
    )
    command_line.add_argument(
        "--curves",
        action="store_true",
        help=f"measure how time and memory grow, and draw it into {CURVES}; without names, nothing else",
    )
    command_line.add_argument(
        "--record",
        action="store_true",
        help="measure everything, and write daemon/PERFORMANCE.md, its pictures and recorded.json",
    )
    return command_line


def _path(text: str) -> Path:
    """Return a path that is relative to the folder in which scripts/bench was called."""
    return Path(os.environ.get("BENCH_FOLDER", ""), text)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line `scripts/bench`. Returns the exit status."""
    line = parser()
    asked = line.parse_args(arguments)
    failed: list[str] = []
    try:
        plan = _plan(asked)
        theirs = plan.theirs
        if plan.commit:
            python = against.python_of(plan.commit)
            ours, theirs = against.in_turns(
                plan.commit, python, plan.names, turns=asked.turns, quick=asked.quick
            )
        else:
            ours, failed = run(plan.names, quick=asked.quick)
            if asked.curves or asked.record:
                ours = msgspec.structs.replace(ours, charts=grow(quick=asked.quick))
    except (_Misused, results.NotResults, against.UnknownCommit) as error:
        line.error(str(error))
    except against.Failed as error:
        print(f"scripts/bench: {error}", file=sys.stderr)
        return 1
    if ours.rows and not plan.commit:
        print(table(ours.rows))
    if theirs is not None:
        print(f"\n{compared(ours, theirs)}")
    print(f"\n{NOTE}\n{ours.commit}: {ours.machine}")
    if asked.json is not None:
        results.write(ours, asked.json)
    if failed:
        print(f"scripts/bench: failed, and nothing recorded: {', '.join(failed)}", file=sys.stderr)
        return 1
    if asked.record:
        record.record(ours)
    elif asked.curves:
        print("\n".join(map(str, record.draw(ours, CURVES))))
    return 0


class _Misused(Exception):
    """Arguments that do not go together."""


@dataclass(frozen=True)
class _Plan:
    """The measurements to run, and the other side of a comparison: results of another run, or a commit."""

    names: list[str]
    theirs: results.Results | None = None
    commit: str = ""


def _plan(asked: argparse.Namespace) -> _Plan:
    """Return the plan. Raises `_Misused`, `NotResults`, `UnknownCommit`."""
    if unknown := set(asked.names) - MEASUREMENTS.keys():
        raise _Misused(f"unknown measurement: {', '.join(sorted(unknown))}")
    if asked.turns < 1:
        raise _Misused("--turns must be at least 1")
    if asked.record and (asked.names or asked.against):
        raise _Misused("--record measures everything, and compares with nothing")
    if (asked.curves or asked.record) and find_spec("matplotlib") is None:
        raise _Misused("pictures need Matplotlib, which the extra `bench` installs")
    names = asked.names or ([] if asked.curves and not asked.record else list(MEASUREMENTS))
    if asked.against is None:
        return _Plan(names)
    if asked.curves:
        raise _Misused("curves are not compared")
    if _path(asked.against).is_file():
        return _Plan(names, theirs=results.read(_path(asked.against)))
    return _Plan(names, commit=against.resolved(asked.against))


if __name__ == "__main__":
    sys.exit(main())
