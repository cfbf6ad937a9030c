"""The first minutes of a new user: from an empty home with transcripts of Claude Code to the first hit of a search."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.benchmarks.importing import write_transcripts
from scripts.benchmarks.report import Row, middle, milliseconds, sampled
from scripts.benchmarks.results import ROOT

FILES, SMOKE_FILES = 100, 10
ROUNDS, SMOKE_ROUNDS = 3, 1
WHOLE = 60.0
"""Seconds from the empty home to the first hit."""
_TIMEOUT = 600


def measure(folder: Path, *, quick: bool) -> list[Row]:
    """Measure the commands that README.md tells a new user to type, each as a process with a home of its own."""
    files = SMOKE_FILES if quick else FILES
    bare, installed, followed, found, whole = [], [], [], [], []
    size = 0
    for number in range(SMOKE_ROUNDS if quick else ROUNDS):
        home = folder / f"home-{number}"
        size = write_transcripts(home / ".claude/projects", files)
        variables = _variables(home)
        venv = home / "sessiond"
        program = str(venv / "bin/sessiond")
        bare.append(_timed([sys.executable, "-m", "venv", str(folder / f"bare-{number}")], variables))
        installed.append(
            _timed([sys.executable, "-m", "venv", str(venv)], variables)
            + _timed([str(venv / "bin/pip"), "install", "--quiet", str(ROOT)], variables)
        )
        try:
            followed.append(_timed([program, "agents", "follow", "--all"], variables))
            found.append(_timed([program, "search", "--all", "line of text"], variables, "line of text"))
        finally:
            subprocess.run([program, "stop"], env=variables, capture_output=True, timeout=_TIMEOUT)
        whole.append(installed[-1] + followed[-1] + found[-1])
    return [
        sampled(
            "install into a new virtual environment", installed, "s",
            ratio=f"{middle(installed) / middle(bare):.1f} x an empty one ({milliseconds(middle(bare))})",
        ),
        sampled(f"follow all agents: {files} sessions of Claude Code ({size / 1e6:.0f} MB)", followed, "s"),
        sampled("the first search", found, "s"),
        sampled("from an empty home to the first hit", whole, "s", limit=WHOLE if files == FILES else None),
    ]  # fmt: skip


def _variables(home: Path) -> dict[str, str]:
    """Return the environment of a user with this home. The settings of pip stay."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("XDG_", "SESSIOND_", "PYTHON"))
    }
    return {**kept, "HOME": str(home)}


def _timed(command: Sequence[str], variables: Mapping[str, str], expected: str = "") -> float:
    """Return the seconds that a command takes. Raises `RuntimeError` if it fails or prints something else."""
    start = time.monotonic()
    done = subprocess.run(
        command, env=variables, cwd=variables["HOME"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        encoding="utf-8", timeout=_TIMEOUT,
    )  # fmt: skip
    took = time.monotonic() - start
    if done.returncode or expected not in done.stdout:
        raise RuntimeError(f"{' '.join(command)}: {done.stdout[-300:]}{done.stderr[-2000:]}")
    return took
