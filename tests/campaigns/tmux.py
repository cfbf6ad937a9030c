"""Real panes of tmux: what is typed into a shell, and what it leaves in files."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from campaigns.campaign import Broken
from campaigns.daemons import PATIENCE, Home, runs, until, wait_gone

_OF_OTHER_TERMINALS: Final = ("TERM", "TMUX", "STY", "WINDOW", "KITTY", "WEZTERM", "ZELLIJ", "VSCODE")


@dataclass(frozen=True)
class Ended:
    """How a command ended that was typed: its exit code and what it said."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Pane:
    """A shell in a pane, the process that it is, and that of tmux."""

    id: str
    pid: int
    server: int

    def __str__(self) -> str:
        return f"pane {self.id} of {self.server}"


class Tmux:
    """A tmux server of its own below `folder`; its shells run in `work` and use the daemon of `home`."""

    def __init__(self, folder: Path, home: Home, work: Path) -> None:
        self._folder = folder
        self._work = work
        self._numbers = count()
        kept = {
            name: value
            for name, value in home.environment.items()
            if not name.startswith(_OF_OTHER_TERMINALS)
        }
        self._environment = {**kept, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
        self._runs = False

    def open(self) -> Pane:
        """A new pane."""
        how = ["new-window", "-d"] if self._runs else ["new-session", "-d", "-x", "200", "-y", "50"]
        told = self._tmux(*how, "-P", "-F", "#{pane_id} #{pane_pid} #{pid}", "-c", str(self._work), "exec sh")
        self._runs = True
        name, pid, server = told.split()
        return Pane(name, int(pid), int(server))

    def close(self, pane: Pane) -> None:
        """Close a pane that is not the last, whatever runs in it, and wait until its shell has ended."""
        self._tmux("kill-pane", "-t", pane.id)
        _wait_for_the_end_of(pane)

    def end(self, panes: Sequence[Pane]) -> None:
        """End tmux, and with it all panes."""
        subprocess.run(
            [*self._command(), "kill-server"], env=self._environment, capture_output=True, check=False
        )
        self._runs = False
        for pane in panes:
            _wait_for_the_end_of(pane)
            wait_gone(pane.server)

    def type(self, pane: Pane, *words: str) -> Path:
        """Type a `sessiond` command, and do not wait for it; answers where it leaves what it says."""
        base = self._folder / f"typed-{next(self._numbers)}"
        command = shlex.join([sys.executable, "-P", "-m", "sessiond", *words])
        line = (
            f"{command} >{base}.out 2>{base}.err </dev/tty; echo $? >{base}.part; mv {base}.part {base}.code"
        )
        self._tmux("send-keys", "-t", pane.id, "-l", line)
        self._tmux("send-keys", "-t", pane.id, "Enter")
        return base

    def ended(self, base: Path) -> Ended:
        """Wait until a command that was typed has ended."""
        code = base.with_suffix(".code")
        until(code.exists, f"what was typed into a pane does not end: {base}")
        out, err = (base.with_suffix(name).read_text(encoding="utf-8") for name in (".out", ".err"))
        return Ended(int(code.read_text(encoding="ascii")), out, err)

    def _command(self) -> list[str]:
        return ["tmux", "-S", str(self._folder / "tmux"), "-f", os.devnull]

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            [*self._command(), *words], env=self._environment, stdin=subprocess.DEVNULL, capture_output=True,
            encoding="utf-8", timeout=PATIENCE, check=False,
        )  # fmt: skip
        if done.returncode:
            raise Broken(f"tmux {words[0]} failed: {done.stderr}")
        return done.stdout.strip()


def _wait_for_the_end_of(pane: Pane) -> None:
    until(lambda: not runs(pane.pid), f"the shell of {pane} does not end")
