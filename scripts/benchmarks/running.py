"""The measurements by name, and running them one after the other."""

import compileall
import importlib
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from scripts.benchmarks.machine import this_machine
from scripts.benchmarks.report import Row
from scripts.benchmarks.results import ROOT, Chart, Measured, Results, commit_of

import sessiond

MEASUREMENTS = {
    "first-use": "first_use",
    "request": "request_cost",
    "append": "appending",
    "sessions": "separate_sessions",
    "fanout": "fanout",
    "watching": "watching",
    "open": "opening",
    "context": "contexts",
    "list": "listing",
    "search": "searching",
    "recall": "recalling",
    "opened": "opened",
    "start": "starting",
    "browse": "browsing",
    "responsiveness": "responsiveness",
    "redact": "redaction",
    "import": "importing",
    "following": "following",
    "sync": "synchronizing",
    "postgres": "database",
    "usage": "usage_reports",
    "storage": "storage_reports",
    "tree": "trees",
    "export": "exporting",
    "page": "page_opening",
    "archive": "archiving",
    "giants": "giants",
}
"""The module of each. A module is imported when it is run, because a commit may lack some imports."""


class Measurement(Protocol):
    """Takes an empty folder.

    `quick` means a smoke run: one round, with sizes that take a few seconds. Rows name their sizes, and only rows of
    the full sizes have the project's targets.
    """

    def __call__(self, folder: Path, *, quick: bool) -> list[Row]: ...


def run(names: Sequence[str], *, quick: bool) -> tuple[Results, list[str]]:
    """Run measurements.

    Args:
        names: Names in `MEASUREMENTS`.
        quick: Whether they are smoke runs; see `Measurement`.

    Returns:
        The results, and the names of the measurements that raised. Their tracebacks are on standard error.
    """
    # Bytecode is written, as in an installed package: without it, every start would compile every module.
    compileall.compile_dir(Path(sessiond.__file__).parent, quiet=2)
    machine = this_machine(Path(tempfile.gettempdir()))
    measured: list[Measured] = []
    failed: list[str] = []
    for name in names:
        print(f"{name} …", end="", flush=True, file=sys.stderr)
        try:
            measured.append(_run_one(name, quick=quick))
        except Exception:  # noqa: BLE001 - the results of the others are kept
            print(file=sys.stderr)
            traceback.print_exc()
            failed.append(name)
        else:
            print(f" {measured[-1].seconds:.0f} s", file=sys.stderr)
    results = Results(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        commit=commit_of(ROOT),
        quick=quick,
        machine=machine,
        measurements=tuple(measured),
    )
    return results, failed


def _run_one(name: str, *, quick: bool) -> Measured:
    start = time.perf_counter()
    module = importlib.import_module(f"scripts.benchmarks.{MEASUREMENTS[name]}")
    measure: Measurement = module.measure
    # Files are in the folder TMPDIR, which must be on a disk for fdatasync to have a meaning.
    with tempfile.TemporaryDirectory(prefix="sessiond-bench-") as folder:
        rows = measure(Path(folder), quick=quick)
    about = (module.__doc__ or "").partition("\n")[0]
    return Measured(name=name, about=about, seconds=round(time.perf_counter() - start, 1), rows=tuple(rows))


def grow(*, quick: bool) -> tuple[Chart, ...]:
    """Measure the charts."""
    from scripts.benchmarks.growth import charts

    start = time.perf_counter()
    print("charts …", end="", flush=True, file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="sessiond-bench-") as folder:
        measured = charts(Path(folder), quick=quick)
    print(f" {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return measured
