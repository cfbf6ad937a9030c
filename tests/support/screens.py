"""A program in a separate terminal (tmux), as a person sees and uses it: keys in, text out."""

import contextlib
import itertools
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from support.editor_desks import eventually
from support.installed_editors import installed

COLUMNS, LINES = 160, 40
_NUMBERS = itertools.count(1)


class Screen:
    """The content of the screen, and the keyboard."""

    def __init__(self, tmux: list[str], environment: Mapping[str, str]) -> None:
        self._tmux = tmux
        self._environment = dict(environment)

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            [*self._tmux, *words],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def text(self) -> str:
        return self.tmux("capture-pane", "-p")

    def type(self, text: str) -> None:
        self.tmux("send-keys", "-l", text)

    def press(self, *keys: str) -> None:
        """Keys by tmux's names: Enter, Escape, Down, C-x."""
        self.tmux("send-keys", *keys)

    def until(self, pattern: str) -> re.Match[str]:
        """Wait until a text is on the screen."""
        look = re.compile(pattern, re.MULTILINE)
        try:
            found: re.Match[str] = eventually(repr(pattern), lambda: look.search(self.text))
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen is\n{self.text}") from None
        return found

    def until_not(self, pattern: str) -> None:
        """Wait until a text is not on the screen any more."""
        eventually(f"gone: {pattern!r}", lambda: not re.search(pattern, self.text, re.MULTILINE))


@contextlib.contextmanager
def a_screen(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, cwd: Path
) -> Iterator[Screen]:
    """Run a command in a separate tmux, whose socket is in `folder` (a short path), until the block ends."""
    # Each terminal has a separate socket, because a server that is being killed still answers.
    tmux = [installed("tmux"), "-S", str(folder / f"tmux{next(_NUMBERS)}"), "-f", "/dev/null"]
    screen = Screen(tmux, environment)
    size = ["-x", str(COLUMNS), "-y", str(LINES)]
    # Keep the pane, so that the last screen of a program that ends at once can be read.
    words = f"{shlex.join(command)}; echo ended with $?; cat"
    try:
        subprocess.run(
            [*tmux, "new-session", "-d", *size, "-c", str(cwd), words],
            env=dict(environment), stdin=subprocess.DEVNULL, timeout=60, check=True,
        )  # fmt: skip
        yield screen
    finally:
        subprocess.run([*tmux, "kill-server"], env=dict(environment), capture_output=True, timeout=60)
