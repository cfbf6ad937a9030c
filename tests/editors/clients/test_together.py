"""Two editors and the command line on one daemon: what one does the others see, also after the daemon was killed."""

import contextlib
import json  # noqa: TID251 - what the editors say
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from support.editor_desks import ANSWER, PATIENCE, QUESTION, Desk, a_desk, eventually
from support.installed_editors import installed
from support.screens import a_screen
from support.snippets import snippets

pytestmark = [pytest.mark.editors, pytest.mark.timeout(600)]
DRIVERS = Path(__file__).parent / "drivers"


class Editor(Protocol):
    """An editor with the session open."""

    def outline(self) -> list[str]:
        """The names in the outline, as the server gives them now."""

    def act(self, line: int, beginning: str) -> None:
        """Choose a code action on a line."""


class Neovim:
    def __init__(self, command: list[str], desk: Desk) -> None:
        self._command = command
        self._desk = desk

    def _value(self, lua: str) -> Any:
        words = [*self._command, "--remote-expr", f"luaeval('vim.json.encode({lua})')"]
        return json.loads(_output(words, self._desk))

    def starts(self) -> bool:
        with contextlib.suppress(subprocess.CalledProcessError):
            return bool(self._value("#vim.lsp.get_clients({ bufnr = 1 }) == 1"))
        return False

    def outline(self) -> list[str]:
        return [str(name) for name in self._value("Outline()")]

    def act(self, line: int, beginning: str) -> None:
        self._value(f'Act({line}, "{beginning}")')


class Emacs:
    def __init__(self, command: list[str], desk: Desk) -> None:
        self._command = command
        self._desk = desk

    def _value(self, lisp: str) -> Any:
        return json.loads(
            json.loads(
                _output(
                    [
                        *self._command,
                        "--eval",
                        f'(with-current-buffer (get-file-buffer (getenv "FILE")) (json-encode {lisp}))',
                    ],
                    self._desk,
                )
            )
        )

    def starts(self) -> bool:
        with contextlib.suppress(subprocess.CalledProcessError):
            return bool(self._value("(progn (run-hooks 'post-command-hook) (and (driver-connected) t))"))
        return False

    def outline(self) -> list[str]:
        return [str(name) for name in self._value("(vconcat (driver-outline))")]

    def act(self, line: int, beginning: str) -> None:
        self._value(f'(progn (driver-on-line {line}) (driver-act "{beginning}") t)')


def _output(words: list[str], desk: Desk) -> str:
    return subprocess.run(
        words,
        env=desk.environment(),
        cwd=desk.home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE * 2,
        check=True,
    ).stdout


@contextlib.contextmanager
def running(command: list[str], desk: Desk, **more: str) -> Iterator[None]:
    with subprocess.Popen(
        command,
        env=desk.environment(FILE=str(desk.file), **more),
        cwd=desk.home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield
        finally:
            process.kill()


@contextlib.contextmanager
def a_neovim(desk: Desk) -> Iterator[Editor]:
    settings = desk.write("config/nvim/init.lua", snippets()["neovim"])
    at = str(Path(str(desk.locations.home)) / "nvim")
    program = installed("nvim-0.11")
    command = [program, "--headless", "-n", "--listen", at, "-u", str(settings), str(desk.file)]
    with running([*command, "-c", f"luafile {DRIVERS / 'together.lua'}"], desk):
        editor = Neovim([program, "--server", at], desk)
        eventually("Neovim with its client", editor.starts)
        yield editor


@contextlib.contextmanager
def an_emacs(desk: Desk) -> Iterator[Editor]:
    desk.write(".emacs.d/init.el", snippets()["emacs-eglot"])
    sockets = Path(str(desk.locations.home)) / "emacs"
    sockets.mkdir(mode=0o700)
    command = [installed("emacs"), "-nw", "-l", str(DRIVERS / "emacs.el"), "-f", "driver-serve"]
    environment = desk.environment(FILE=str(desk.file), CLIENT="eglot.el", SOCKETS=str(sockets))
    # On a screen, since without one an Emacs is never idle, and that is when it tells its server of changes.
    with a_screen(command, environment, Path(str(desk.locations.home)), desk.home):
        client = str(Path(installed("emacs")).with_name("emacsclient"))
        editor = Emacs([client, "-s", str(sockets / "emacs")], desk)
        eventually("Emacs with its client", editor.starts)
        yield editor


def sees(editor: Editor, text: str) -> bool:
    """Whether an outline has it."""
    return any(text in name for name in editor.outline())


def test_two_editors_and_the_command_line_see_what_each_of_them_does(tmp_path: Path) -> None:
    with a_desk(tmp_path) as desk, a_neovim(desk) as neovim, an_emacs(desk) as emacs:
        editors = (neovim, emacs)

        def all_see(text: str) -> None:
            for editor in editors:
                eventually(text, partial(sees, editor, text))

        all_see(QUESTION)
        desk.command("append", desk.session_id, "--user", "Said at the command line.")
        all_see("Said at the command line.")
        neovim.act(2, "Label this entry")
        all_see(f"[{QUESTION}]")
        emacs.act(3, "Label this entry")
        all_see(f"[{ANSWER}]")
        assert eventually("both labels", lambda: len(desk.labels()) == 2)
        assert ANSWER in desk.command("tree", desk.session_id)
        neovim.act(3, "Fork the path")
        emacs.act(4, "Fork the path")
        forks = eventually("two forks", lambda: len(row := desk.forks()) == 2 and row)
        assert sorted(fork["messageCount"] for fork in forks) == [2, 3]

        killed = desk.kill_daemon()
        desk.command("append", desk.session_id, "--user", "Said to the next daemon.")
        assert desk.pid != killed
        all_see("Said to the next daemon.")
        emacs.act(2, "Branch here")
        eventually("a branch", lambda: desk.lines()[-1]["type"] == "leaf")
        neovim.act(3, "Branch here")
        eventually(
            "another", lambda: [line["targetId"] for line in desk.lines() if line["type"] == "leaf"][1:]
        )
        assert [line["targetId"] for line in desk.lines() if line["type"] == "leaf"] == list(desk.ids[:2])
