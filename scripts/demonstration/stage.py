"""The parts of a demonstration: terminals that are processes, checked claims, a readable transcript."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from sessiond.paths import find_locations

PATIENCE = 15.0
WIDTH = 96
COLORS = sys.stdout.isatty() and not os.environ.get("NO_COLOR")


class ClaimFailed(Exception):
    """Raised when a claim is false."""


class CommandFailed(Exception):
    """Raised when a command fails that should succeed."""


def heading(text: str) -> None:
    print(f"\n{paint(text, '1')}\n")


def say(text: str) -> None:
    print(f"  {text}")


def claim(text: str, holds: object) -> None:
    """Print a claim and check it. Raises ClaimFailed if it is false."""
    if not holds:
        raise ClaimFailed(text)
    print(f"  {paint('✓', '32')} {text}")


def soon(happens: Callable[[], bool]) -> bool:
    """Whether it happens within the time limit. Polls every 5 ms."""
    end = time.monotonic() + PATIENCE
    while not happens():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def paint(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if COLORS else text


class Terminal:
    """A separate shell, as every terminal has: for sessiond, the terminal exists as long as that shell."""

    def __init__(self, name: str, home: Path) -> None:
        self.name = name
        bin_folder = str(Path(sys.executable).parent)
        self.environment = {
            "HOME": str(home),
            "PATH": f"{bin_folder}:{os.environ.get('PATH', '/usr/bin:/bin')}",
            "SESSIOND_HOME": str(home),
            "SESSIOND_TERMINAL": name,
            "PYTHONUTF8": "1",
            "COLUMNS": str(WIDTH - len(name) - 2),
            "FORCE_COLOR": "1" if COLORS else "0",
        }
        self._started: list[Running] = []
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
            encoding="utf-8",
        )

    def run(self, command: str, *, lines: int = 40) -> str:
        """Type a command, print it with the first lines of its output, and return the output."""
        print(f"  {paint(f'{self.name} $', '36')} {paint(command, '1')}")
        output = self.quietly(command)
        shown = output.splitlines()
        for line in shown[:lines]:
            print(f"  {line}")
        if len(shown) > lines:
            print(f"  … {len(shown) - lines} more lines")
        return output

    def quietly(self, command: str) -> str:
        """Type a command and return its output. Raises CommandFailed when it fails."""
        mark = "--done--"
        entered, printed = self._pipes()
        entered.write(f"{command}\nprintf '%s %d\\n' {mark} $?\n")
        entered.flush()
        output: list[str] = []
        for line in printed:
            if line.startswith(mark):
                if int(line.split()[1]) != 0:
                    raise CommandFailed(f"{command}\n{''.join(output)}")
                return "".join(output)
            output.append(line)
        raise CommandFailed(f"the shell of {self.name} ended during: {command}")

    def start(self, command: Sequence[str], shown_as: str) -> "Running":
        """Start a command that runs in the background."""
        print(f"  {paint(f'{self.name} $', '36')} {paint(shown_as, '1')} {paint('&', '1')}")
        self._started.append(Running(command, shown_as, self.environment))
        return self._started[-1]

    def background(self) -> str:
        """Return the last output of the commands in the background, to explain a failure."""
        return "\n".join(map(str, self._started))

    def close(self) -> None:
        for running in self._started:
            running.stop()
        entered, printed = self._pipes()
        entered.close()
        self._shell.wait(PATIENCE)
        printed.close()

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        return self._shell.stdin, self._shell.stdout


class Running:
    """A command in the background, with the lines that it has printed so far."""

    def __init__(self, command: Sequence[str], shown_as: str, environment: dict[str, str]) -> None:
        self.lines: list[str] = []
        self._shown_as = shown_as
        self._process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __str__(self) -> str:
        return "\n".join([f"The last lines of {self._shown_as}:", *self.lines[-10:]])

    def has(self, text: str) -> bool:
        """Whether a line with this text has been printed."""
        return any(text in line for line in self.lines)

    def finish(self) -> None:
        """End the input of the command, and wait until the command ends."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)

    def stop(self) -> None:
        """End the command if it runs. May be called twice."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._reader.join(PATIENCE)

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as printed:
            for line in printed:
                self.lines.append(line.rstrip("\n"))


@contextmanager
def terminals(home: Path) -> Iterator[tuple[Terminal, Terminal]]:
    left, right = Terminal("left", home), Terminal("right", home)
    try:
        yield left, right
    except (ClaimFailed, CommandFailed):
        print(left.background(), right.background(), sep="\n", file=sys.stderr)
        raise
    finally:
        left.quietly("sessiond stop")
        left.close()
        right.close()
        runtime = Path(find_locations({"SESSIOND_HOME": str(home)}).runtime)
        if not runtime.is_relative_to(home):  # the path of the home is too long for a socket
            runtime.rmdir()


def session_in(output: str) -> str:
    """The session id that a command printed; its other output went to standard error."""
    return next(line for line in output.splitlines() if line and " " not in line)


def ask(terminal: Terminal, command: str) -> Any:
    return msgspec.json.decode(terminal.quietly(command))
