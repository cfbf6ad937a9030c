"""The browser as a person has it: the command on a terminal (tmux), with a daemon process and other clients."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from support.commands import Shell, a_shell
from support.homes import sessiond
from support.screens import Screen, a_screen
from support.stories import Story, Teller, parser_story

pytestmark = pytest.mark.editors

PLACES = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as made:
        yield made


@pytest.fixture
def story(shell: Shell) -> Story:
    return parser_story(Teller(shell.locations, shell.folder))


def test_a_person_searches_labels_branches_and_forks_and_sees_what_others_do(
    shell: Shell, story: Story
) -> None:
    with _browser(shell, story.id) as screen:
        screen.until("◉ assistant +It fails, as it should")
        screen.type("/counts")
        screen.until(r"^/counts")
        screen.press("Enter")
        screen.until_not("^/counts")  # the prompt is closed
        screen.until(r"default +/counts 1/1 ")
        screen.type("L")
        screen.until("^Label")
        screen.type("quick fix")
        screen.press("Enter")
        screen.until(r"\[quick fix\] Done: it counts")
        screen.type("by")
        screen.until("◉ assistant +.quick fix. Done")
        assert shell("show", story.id, "--json").json["session"]["leafId"] == story.fixed
        shell("append", story.id, "--user", "Said elsewhere.")
        screen.until("◉ user +Said elsewhere")
        screen.type("f")
        screen.until("^Fork at")
        screen.type("The fork")
        screen.press("Enter")
        screen.until("^The fork")
        screen.until_not("as it should")
        screen.type("q")
        screen.until("ended with 0")
        assert "The fork" not in screen.text, "the screen was not given back"
        screen.press("x")
        screen.until("^x")
    assert any("The fork" in line for line in shell("list", "--all").lines)


def test_a_terminal_of_any_size_will_do(shell: Shell, story: Story) -> None:
    with _browser(shell, story.id) as screen:
        screen.until("◉ assistant")
        for columns, lines in [(20, 5), (2, 2), (200, 50), (40, 3), (120, 30)]:
            screen.tmux("resize-window", "-x", str(columns), "-y", str(lines))
        screen.until("◉ assistant +It fails")
        screen.type("gg")
        screen.until(" 1/6 ")
        screen.press("C-c")
        screen.until("ended with 0")


@pytest.mark.parametrize(("signal", "code"), [("TERM", 143), ("HUP", 129)])
def test_a_terminal_is_given_back_by_a_browser_that_is_ended(
    shell: Shell, story: Story, signal: str, code: int
) -> None:
    with _browser(shell, story.id, 'echo $$ > pid; exec "$@"') as screen:
        screen.until("◉ assistant")
        subprocess.run(
            ["kill", f"-{signal}", (shell.folder / "pid").read_text(encoding="ascii").strip()], check=True
        )
        screen.until(f"ended with {code}")
        screen.press("x")
        screen.until("^x")


def test_a_person_reads_an_entry_in_an_editor_and_is_back(shell: Shell, story: Story) -> None:
    with _browser(shell, story.id, EDITOR="sh -c 'cat \"$0\"; read answer'") as screen:
        screen.until("◉ assistant")
        screen.type("e")
        screen.until("^It fails, as it should")
        screen.press("Enter")
        screen.until(r"(?s)\AThe last line .*◉ assistant +It fails.*^default .* 6/6 +\? help$")
        screen.type("q")
        screen.until("ended with 0")


def test_a_browser_can_be_put_aside_and_taken_up_again(shell: Shell, story: Story) -> None:
    whole = r"(?s)\AThe last line .*◉ assistant +It fails.*^default .* 6/6 +\? help$"
    shell_with_jobs = ["bash", "--norc", "-i"]
    with a_screen(shell_with_jobs, shell.environment(**PLACES), shell.folder, shell.folder) as screen:
        screen.type(shlex.join(sessiond("tree", "-i", story.id)))
        screen.press("Enter")
        screen.until(whole)
        screen.press("C-z")
        screen.until("Stopped")
        screen.type("fg")
        screen.press("Enter")
        screen.until(whole)
        screen.type("q")
        screen.until("Stopped")


def test_without_colors_there_are_none(shell: Shell, story: Story) -> None:
    with _browser(shell, story.id, NO_COLOR="1") as screen:
        screen.until("◉ assistant")
        styled = screen.tmux("capture-pane", "-p", "-e")
        assert not re.search(r"\x1b\[(\d+;)*(3[0-7]|4[0-7]|38|48)[;m]", styled)


def test_where_there_is_no_terminal_another_command_is_named(shell: Shell, story: Story) -> None:
    ran = shell.run("tree", "-i", story.id)
    assert ran.code == 2
    assert "sessiond tree" in ran.err


def _browser(shell: Shell, session: str, wrapped: str = "", **more: str) -> AbstractContextManager[Screen]:
    command = sessiond("tree", "-i", session)
    if wrapped:
        command = ["sh", "-c", wrapped, "sh", *command]
    return a_screen(command, shell.environment(**PLACES, **more), shell.folder, shell.folder)
