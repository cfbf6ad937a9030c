"""The command line as a user runs it: real processes with a separate daemon."""

import contextlib
import json  # noqa: TID251 - what a reader of --json would use
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sessiond.paths import Locations
from support.homes import a_home, environment, sessiond

_OF_THE_TESTER = (
    "COLUMNS", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR", "PAGER", "SESSIOND_PAGER", "LESS",
)  # fmt: skip
"""Variables that change what commands print."""


@dataclass(frozen=True)
class Ran:
    """The result of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@dataclass(frozen=True)
class Shell:
    """A terminal: its name, its folder and its daemon's home."""

    locations: Locations
    folder: Path
    terminal: str = "one"

    def run(self, *words: str, stdin: str = "", **more: str) -> Ran:
        """Run a command, and accept any exit code."""
        done = subprocess.run(
            sessiond(*words),
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=self.folder,
            env=self.environment(**more),
            timeout=120,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def __call__(self, *words: str, stdin: str = "", **more: str) -> Ran:
        """Run a command that has to succeed."""
        ran = self.run(*words, stdin=stdin, **more)
        assert ran.code == 0, ran
        return ran

    def environment(self, **more: str) -> dict[str, str]:
        """The environment variables of this terminal's commands."""
        kept = {
            name: value for name, value in environment(self.locations).items() if name not in _OF_THE_TESTER
        }
        return {**kept, "SESSIOND_TERMINAL": self.terminal, "PYTHONUTF8": "1", **more}

    def start(self, *words: str, **more: str) -> subprocess.Popen[str]:
        """A command that runs in the background; its output can be read line by line."""
        return subprocess.Popen(
            sessiond(*words),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            cwd=self.folder,
            env=self.environment(**more),
        )


@contextlib.contextmanager
def a_shell(folder: Path) -> Iterator[Shell]:
    """A terminal in `folder`, with a separate home. No daemon runs."""
    with a_home() as locations:
        yield Shell(locations, folder)
