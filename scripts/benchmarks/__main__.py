"""Run measurements and print one table.

Exit status: 0, or 1 if a measurement failed. A missed target is not a failure.
"""

import argparse
import os
import sys
from pathlib import Path

from scripts.benchmarks import against, results
from scripts.benchmarks.comparison import compared
from scripts.benchmarks.report import table
from scripts.benchmarks.running import MEASUREMENTS, run

NOTE = (
    "Medians of rounds that alternate with their reference, and the lowest and highest round. Rates and times depend\n"
    "on the machine: compare the ratios, and the server's processor time per request."
)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    it = argparse.ArgumentParser(prog="scripts/bench", description=__doc__.partition("\n")[0])
    it.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one of {', '.join(MEASUREMENTS)} (default: all)"
    )
    it.add_argument("--quick", action="store_true", help="fewer rounds, no million entries")
    it.add_argument("--json", metavar="FILE", type=_path, help="write the results to this file")
    it.add_argument(
        "--against",
        metavar="COMMIT|FILE",
        help="compare with results of --json, or with a commit, which is measured in turns with this tree",
    )
    it.add_argument(
        "--turns",
        metavar="N",
        type=int,
        default=3,
        help="with --against COMMIT: runs of each side (default: 3)",
    )
    return it


def _path(text: str) -> Path:
    """Return a path that is relative to the folder in which scripts/bench was called."""
    return Path(os.environ.get("BENCH_FOLDER", ""), text)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line `scripts/bench`. Returns the exit status."""
    line = parser()
    asked = line.parse_args(arguments)
    if unknown := set(asked.names) - MEASUREMENTS.keys():
        line.error(f"unknown measurement: {', '.join(sorted(unknown))}")
    if asked.turns < 1:
        line.error("--turns must be at least 1")
    names = asked.names or list(MEASUREMENTS)
    theirs: results.Results | None = None
    commit = ""
    try:
        if asked.against is not None and _path(asked.against).is_file():
            theirs = results.read(_path(asked.against))
        elif asked.against is not None:
            commit = against.resolved(asked.against)
    except (results.NotResults, against.UnknownCommit) as error:
        line.error(str(error))
    failed: list[str] = []
    if commit:
        try:
            python = against.python_of(commit)
            ours, theirs = against.in_turns(commit, python, names, turns=asked.turns, quick=asked.quick)
        except against.Failed as error:
            print(f"scripts/bench: {error}", file=sys.stderr)
            return 1
    else:
        ours, failed = run(names, quick=asked.quick)
        print(table(ours.rows))
    if theirs is not None:
        print(f"\n{compared(ours, theirs)}")
    print(f"\n{NOTE}\n{ours.commit}: {ours.machine}")
    if asked.json is not None:
        results.write(ours, asked.json)
    if failed:
        print(f"scripts/bench: failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
