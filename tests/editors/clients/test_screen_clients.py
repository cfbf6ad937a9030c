"""Editors that are driven by keys on a screen, with the settings that editors/README.md gives."""

import contextlib
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from support.editor_desks import ANSWER, Desk, a_desk, eventually
from support.installed_editors import installed
from support.screens import Screen, a_screen
from support.snippets import snippets

pytestmark = [pytest.mark.editors, pytest.mark.timeout(600)]
HOVERED = r"Children: "
"""Text of a hover only; the file itself is on the screen all the time."""


@contextlib.contextmanager
def on_screen(desk: Desk, *command: str) -> Iterator[Screen]:
    with a_screen(command, desk.environment(), Path(str(desk.locations.home)), desk.home) as screen:
        yield screen


def check_changes(desk: Desk) -> None:
    """Branch, label and fork were done, each as one would expect."""
    assert [line["targetId"] for line in desk.lines() if line["type"] == "leaf"] == [desk.ids[1]]
    assert desk.labels() == {desk.ids[1]: ANSWER}
    (fork,) = desk.forks()
    assert fork["messageCount"] == 2


# --- Vim ---------------------------------------------------------------------------------------------------------


class Vim:
    def __init__(self, screen: Screen, folder: Path) -> None:
        self._screen = screen
        self._answers = (folder / f"answer-{number}" for number in count())

    def run(self, command: str) -> None:
        self._screen.type(f":{command}")
        self._screen.press("Enter")

    def value(self, expression: str) -> str:
        """Return the value of an expression. It is not on the screen, where others write, too."""
        answer = next(self._answers)
        self.run(f"call writefile([{expression}, 'end'], '{answer}')")
        lines = eventually(
            expression, lambda: answer.exists() and answer.read_text(encoding="utf-8").splitlines()
        )
        assert lines[-1] == "end"
        return str(lines[0])

    def on_line(self, line: int) -> None:
        self.run(str(line))
        eventually(f"line {line}", lambda: self.value("line('.')") == str(line))

    def hover(self) -> None:
        preview = "join(getbufline(bufnr('ALEPreviewWindow'), 1, '$'))"
        self.run("ALEHover")
        eventually("a hover", lambda: ANSWER in self.value(preview))
        self.run("pclose")

    def act(self, beginning: str) -> None:
        self.run("ALECodeAction")
        number = self._screen.until(rf"(\d+)[:.)] +{beginning}")[1]
        self._screen.type(number)
        self._screen.press("Enter")


def test_vim_with_ale(tmp_path: Path) -> None:
    with a_desk(tmp_path) as desk:
        desk.write(".vimrc", snippets()["vim-ale"])
        with on_screen(desk, installed("vim"), str(desk.file)) as screen:
            vim = Vim(screen, tmp_path)
            screen.until('"type":"session"')
            vim.on_line(3)
            vim.hover()
            vim.run("ALEGoToDefinition")
            eventually("the parent", lambda: vim.value("line('.')") == "2")
            vim.on_line(3)
            vim.act("Branch here")
            eventually("a branch", lambda: "leaf" in {line["type"] for line in desk.lines()})
            vim.act("Label this entry")
            eventually("a label", desk.labels)
            vim.act("Fork the path")
            eventually("a fork", desk.forks)
            check_changes(desk)
            vim.run(f"edit! {desk.damaged}")
            eventually("a problem", lambda: vim.value("join(map(getloclist(0),'v:val.lnum'))") == "3")
            vim.run(f"edit! {desk.file}")
            vim.on_line(3)
            killed = desk.kill_daemon()
            vim.hover()
            assert desk.pid != killed


# --- Helix -------------------------------------------------------------------------------------------------------


class Helix:
    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def run(self, command: str) -> None:
        self._screen.type(f":{command}")
        self._screen.press("Enter")

    def on_line(self, line: int) -> None:
        self.run(str(line))
        self._screen.until(rf"\b{line}:1\b")

    def menu(self, keys: str, sign: str) -> None:
        """See what a key opens, and close it again."""
        self._screen.type(keys)
        self._screen.until(sign)
        self._screen.press("Escape")
        self._screen.until_not(sign)

    def lists(self, keys: str, count: int) -> bool:
        """Whether a picker has so many rows by now. Before the server is there, it has none, or is refused.

        While Helix starts, it may lose the space of a key sequence, and ask what to select.
        """
        self._screen.type(keys)
        found = self._screen.until(r"\b(\d+)/\d+\b|[Nn]o (configured )?language server|^\s*select:")
        self._screen.press("Escape")
        self._screen.until_not(r"\b\d+/\d+\b|^\s*select:")
        return found[1] == str(count)

    def act(self, beginning: str) -> None:
        self._screen.type(" a")
        self._screen.until(beginning)
        titles = [
            line for line in self._screen.text.splitlines()
            if re.search(r"(Branch here|Fork the path|Label this|Remove the|Show this|Export the|Compact the)", line)
        ]  # fmt: skip
        (index,) = [number for number, title in enumerate(titles) if beginning in title]
        self._screen.press(*["Down"] * index, "Enter")
        self._screen.until_not(beginning)


def test_helix(tmp_path: Path) -> None:
    with a_desk(tmp_path) as desk:
        desk.write("config/helix/languages.toml", snippets()["helix"])
        with on_screen(desk, installed("hx"), str(desk.file)) as screen:
            helix = Helix(screen)
            screen.until('"type":"session"')
            helix.on_line(3)
            eventually("an outline", lambda: helix.lists(" s", 3))
            helix.menu(" k", HOVERED)
            screen.type("gd")
            screen.until(r"\b2:\d+\b")
            helix.on_line(3)
            helix.act("Branch here")
            eventually("a branch", lambda: "leaf" in {line["type"] for line in desk.lines()})
            helix.act("Label this entry")
            eventually("a label", desk.labels)
            killed = desk.kill_daemon()
            helix.menu(" k", HOVERED)
            assert desk.pid != killed
            helix.act("Fork the path")
            eventually("a fork", desk.forks)
            check_changes(desk)
            helix.run(f"open {desk.damaged}")
            eventually("a problem", lambda: helix.lists(" d", 1))
