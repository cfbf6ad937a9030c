"""Measures another commit and this tree in turns, with the programs of this tree.

The other commit is unpacked in `.cache`, with a virtual environment of its own. There, the measurements of this tree
run with the daemon, the client and the modules of that commit. A measurement that needs more than that commit has is
left out of the comparison.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from scripts.benchmarks.comparison import merged
from scripts.benchmarks.results import ROOT, Measured, Results, read


class UnknownCommit(Exception):
    """{commit} is neither a commit of this repository nor a file with results."""

    def __init__(self, commit: str) -> None:
        super().__init__(f"{commit} is neither a commit of this repository nor a file with results.")


class Failed(Exception):
    """A command failed. The message is the end of its standard error."""


def resolved(commit: str) -> str:
    """Return the full id of a commit. Raises `UnknownCommit`."""
    try:
        return _output(
            ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}"]
        ).strip()
    except (Failed, OSError) as error:
        raise UnknownCommit(commit) from error


def python_of(commit: str) -> str:
    """Return the Python of a virtual environment that has this commit in it; both are made if they are missing.

    Raises `Failed`.
    """
    folder = ROOT / ".cache" / f"bench-{commit[:10]}"
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".bench-", dir=folder.parent) as stage:
            archive = Path(stage, "tree.tar")
            _output(["git", "archive", f"--output={archive}", commit])
            tree = Path(stage, "tree")
            tree.mkdir()
            _output(["tar", "-xf", str(archive), "-C", str(tree)])
            tree.rename(folder)
    environ = {name: value for name, value in os.environ.items() if name != "SESSIOND_PYTHON"}
    return _output(["scripts/venv", "bench"], cwd=folder, environ=environ).strip()


def in_turns(
    commit: str, python: str, names: Sequence[str], *, turns: int, quick: bool
) -> tuple[Results, Results]:
    """Run each measurement `turns` times on this tree and on the commit, alternating which comes first.

    Args:
        commit: The full id of the other commit.
        python: The interpreter that has it.
        names: The measurements.
        turns: How many times.
        quick: Fewer rounds in each turn.

    Returns:
        The results of this tree and those of the commit, for the measurements that both could do. Raises `Failed` if
        there are none.
    """
    sides = {sys.executable: list[list[Results]](), python: list[list[Results]]()}
    for name in names:
        gathered: dict[str, list[Results]] = {side: [] for side in sides}
        print(f"{name} …", end="", flush=True, file=sys.stderr)
        try:
            for turn in range(turns):
                for one in list(sides)[:: 1 if turn % 2 == 0 else -1]:
                    gathered[one].append(measured_by(one, name, quick=quick))
        except Failed as failure:
            print(f" left out: {failure}", file=sys.stderr)
            continue
        print(" done", file=sys.stderr)
        for one, runs in gathered.items():
            sides[one].append(runs)
    if not sides[python]:
        raise Failed("no measurement could be done on both sides")
    ours, theirs = (_joined(runs) for runs in sides.values())
    return ours, msgspec.structs.replace(theirs, commit=commit[:10])


def _joined(measurements: Sequence[Sequence[Results]]) -> Results:
    joined: list[Measured] = [merged([run.measurements[0] for run in runs]) for runs in measurements]
    return msgspec.structs.replace(measurements[0][0], measurements=tuple(joined))


def measured_by(python: str, name: str, *, quick: bool) -> Results:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        options = ["--quick"] if quick else []
        _output([python, "-m", "scripts.benchmarks", name, *options, "--json", file.name])
        return read(Path(file.name))


def _output(command: list[str], *, cwd: Path = ROOT, environ: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=environ, capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise Failed(f"{' '.join(command[:4])}: {done.stderr.strip()[-300:]}")
    return done.stdout
