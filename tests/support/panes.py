"""Shells in real panes (tmux, and screen inside it): commands are typed, and their output is read from files."""

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest

from support.commands import Ran, Shell
from support.homes import sessiond, wait_until

_SHELL = ["sh"]


def needs(*programs: str) -> None:
    """Skip the test if one of these programs is missing."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}: apt-get install {program}")


class Pane:
    """A shell that the test types into."""

    def __init__(self, panes: "Panes", target: str) -> None:
        self._panes = panes
        self.target = target

    def type(self, line: str) -> None:
        """Type a line, and do not wait."""
        self._panes.tmux("send-keys", "-t", self.target, "-l", line)
        self._panes.tmux("send-keys", "-t", self.target, "Enter")

    def run(self, command: str) -> Ran:
        """Type a command, and wait until the command or its part in the background has ended."""
        base = self._panes.folder / f"typed-{next(self._panes.numbers)}"
        self.type(
            f"{{ {command}; }} >{base}.out 2>{base}.err </dev/tty; echo $? >{base}.part; mv {base}.part {base}.code"
        )
        code = base.with_suffix(".code")
        wait_until(code.exists)
        out, err = (base.with_suffix(name).read_text(encoding="utf-8") for name in (".out", ".err"))
        return Ran(int(code.read_text(encoding="ascii")), out, err)

    def __call__(self, *words: str, before: str = "") -> Ran:
        """Type a `sessiond` command that has to succeed; `before` is typed in front of it."""
        ran = self.run(f"{before} {shlex.join(sessiond(*words))}".strip())
        assert ran.code == 0, ran
        return ran

    @property
    def id(self) -> str:
        """The identity of the terminal, as the product computes it."""
        return self("terminal").out.strip()

    @property
    def session(self) -> str:
        """The session that `continue` gives."""
        return self("continue").out.strip()

    def close(self) -> None:
        self._panes.tmux("kill-pane", "-t", self.target)


class Panes:
    """A private tmux server."""

    def __init__(self, shell: Shell, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.numbers = count(1)
        self._shell = shell
        self._environment = dict(environment)

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self.folder / "tmux"), "-f", "/dev/null", *words],
            env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done
        return done.stdout.strip()

    def new(self) -> Pane:
        """A new pane, in the folder of the shell."""
        first = next(self.numbers) == 1
        how = ["new-session", "-d", "-x", "200", "-y", "50"] if first else ["new-window", "-d"]
        words = [*how, "-P", "-F", "#{pane_id}", "-c", str(self._shell.folder), shlex.join(_SHELL)]
        return Pane(self, self.tmux(*words))


@contextlib.contextmanager
def some_panes(shell: Shell) -> Iterator[Panes]:
    """Panes whose commands use the home of `shell`, until the block ends."""
    needs("tmux")
    folder = Path(str(shell.locations.home)) / "panes"
    folder.mkdir()
    kept = {
        name: value
        for name, value in shell.environment().items()
        if name not in ("SESSIOND_TERMINAL", "TMUX", "TMUX_PANE", "STY", "WINDOW")
        and not name.startswith(("TERM", "KITTY", "WEZTERM", "ZELLIJ", "VSCODE"))
    }
    environment = {
        **kept,
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
        "SCREENDIR": str(folder / "screens"),
    }
    panes = Panes(shell, folder, environment)
    try:
        yield panes
    finally:
        for line in (
            subprocess.run(
                ["screen", "-ls"], env=environment, capture_output=True, encoding="utf-8", check=False
            ).stdout.splitlines()
            if shutil.which("screen")
            else ()
        ):
            if (name := line.split("(")[0].strip()).partition(".")[0].isdigit():
                subprocess.run(
                    ["screen", "-S", name, "-X", "quit"], env=environment, capture_output=True, check=False
                )
        subprocess.run(
            ["tmux", "-S", str(folder / "tmux"), "kill-server"],
            env=environment,
            capture_output=True,
            check=False,
        )


def in_a_new_terminal(*command: str) -> list[str]:
    """A command that runs another one on a pseudo-terminal of its own, as any terminal program does."""
    program = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    return [sys.executable, "-c", program, *command]


def recipe() -> list[str]:
    """The recipe of protocol.md as a script without code of sessiond."""
    script = Path(__file__).parents[2] / "scripts/examples/terminal_id.py"
    assert os.access(script, os.X_OK)
    return [sys.executable, "-I", "-S", str(script)]
