"""Run the measurements that were asked for and print one table."""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Protocol

from scripts.benchmarks import (
    appending,
    browsing,
    contexts,
    fanout,
    listing,
    opened,
    opening,
    redaction,
    request_cost,
    responsiveness,
    searching,
    starting,
)
from scripts.benchmarks.report import Row, table


class Measurement(Protocol):
    """Takes an empty folder of its own; `quick` means fewer rounds and no million entries."""

    def __call__(self, folder: Path, *, quick: bool) -> list[Row]: ...


MEASUREMENTS: dict[str, Measurement] = {
    "request": request_cost.measure,
    "append": appending.measure,
    "fanout": fanout.measure,
    "open": opening.measure,
    "context": contexts.measure,
    "list": listing.measure,
    "search": searching.measure,
    "opened": opened.measure,
    "start": starting.measure,
    "browse": browsing.measure,
    "responsiveness": responsiveness.measure,
    "redact": redaction.measure,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one of {', '.join(MEASUREMENTS)} (default: all)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer rounds, no million entries: under two minutes"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - MEASUREMENTS.keys():
        parser.error(f"there is no measurement {', '.join(sorted(unknown))}")
    rows: list[Row] = []
    for name in arguments.names or MEASUREMENTS:
        start = time.perf_counter()
        print(f"{name} …", end="", flush=True, file=sys.stderr)
        # Files go where TMPDIR says: a disk, if fdatasync is to mean something.
        with tempfile.TemporaryDirectory(prefix="sessiond-bench-") as folder:
            rows += MEASUREMENTS[name](Path(folder), quick=arguments.quick)
        print(f" {time.perf_counter() - start:.0f} s", file=sys.stderr)
    print(table(rows))
    print()
    print("Medians of runs that take turns with their yardstick. Rates and times depend on the machine;")
    print("compare the ratios, and the server's CPU per request. Bars are those of the project's design.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
