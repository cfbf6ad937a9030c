"""A command that needs a session and names none, on a terminal without one (tmux): its user chooses."""

import re
import shlex
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from sessiond.tui.chooser import Chooser
from sessiond.tui.row_renderer import RowRenderer
from support.commands import Shell, a_shell
from support.homes import sessiond
from support.patience import BOUND
from support.screens import Screen, a_screen
from support.stories import Story, Teller, parser_story
from support.waiting import until

pytestmark = pytest.mark.editors

PLACES = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as made:
        yield made


@pytest.fixture
def story(shell: Shell) -> Story:
    made = parser_story(Teller(shell.locations, shell.folder))
    shell("new", "--id", "other-one", "--title", "Another matter", "--cwd", "/work")
    shell("append", "other-one", "--user", "Hello.", "--assistant", "Hello.")
    return made


def test_words_find_the_session_and_enter_chooses_it(shell: Shell, story: Story) -> None:
    with _elsewhere(shell, "show") as screen:
        screen.until("Session to use")
        screen.until("The last line .*")
        screen.until("Another matter")
        screen.type("another")
        screen.until_not("The last line")
        screen.press("Enter")
        screen.until(r"^id +other-one$")
        screen.until("ended with 0")


def test_escape_chooses_none_and_nothing_is_done(shell: Shell, story: Story) -> None:
    with _elsewhere(shell, "delete") as screen:
        screen.until("Session to delete")
        screen.press("Escape")
        screen.until("ended with 130")
    assert shell("list", "--all", "--json").json["sessions"]
    assert not shell("trash", "--json").json["sessions"]


def test_a_session_is_chosen_for_the_trash_and_from_the_trash(shell: Shell, story: Story) -> None:
    with _elsewhere(shell, "delete") as screen:
        screen.until("Another matter")
        screen.type("another")
        screen.until_not("The last line")
        screen.press("Enter")
        screen.until("^other-one$")
        screen.until("ended with 0")
    with _elsewhere(shell, "restore") as screen:
        screen.until("Session to restore")
        screen.until("Another matter")
        screen.press("Enter")
        screen.until("^other-one$")
        screen.until("ended with 0")


def test_a_command_that_writes_binds_the_chosen_session_to_the_terminal(shell: Shell, story: Story) -> None:
    commands = " && ".join(shlex.join(sessiond(*words)) for words in (["rename", "New"], ["show"]))
    with _run(shell, ["sh", "-c", commands]) as screen:
        screen.until("Another matter")
        screen.type("another")
        screen.until_not("The last line")
        screen.press("Enter")
        screen.until(r"^id +other-one$")
        screen.until(r"^title +New$")


async def test_the_list_is_requested_by_one_thread_at_a_time() -> None:
    """Its connection is for one thread; another one would take away its response."""
    begun: list[str] = []
    is_busy, may_end, overlaps = threading.Lock(), threading.Event(), []

    def listed(words: str) -> list[dict[str, Any]]:
        begun.append(words)
        if not is_busy.acquire(blocking=False):
            overlaps.append(words)
            return []
        may_end.wait(BOUND)
        is_busy.release()
        return []

    async with Chooser(listed, "show", RowRenderer(None)).run_test() as pilot:
        await until(lambda: begun == [""])
        await pilot.press(*"abc")
        may_end.set()
        await until(lambda: begun[-1] == "abc")
    assert overlaps == []


@pytest.mark.parametrize("terminal", ["dumb", "xterm-256color"])
def test_where_the_screen_cannot_be_used_the_sessions_are_numbered(
    shell: Shell, story: Story, terminal: str
) -> None:
    command = ["sh", "-c", f"{shlex.join(sessiond('show'))} | cat"]
    with _run(shell, command, TERM=terminal) as screen:
        screen.until("^ +1 +.* Another matter +/work$")
        screen.until("^Number of the session to use")
        screen.type("7")
        screen.press("Enter")
        screen.until("(?s)Number.*Number")
        screen.press("Enter")
        screen.until(r"^id +other-one$")


@pytest.mark.parametrize("command", ["show", "show | cat"])
def test_sessions_that_differ_in_their_ids_only_show_these(shell: Shell, story: Story, command: str) -> None:
    for session_id in ("same-one-of-two", "same-two-of-two"):
        shell("new", "--id", session_id, "--title", "The same", "--cwd", "/work")
    for session_id in ("same-one-of-two", "same-two-of-two"):
        shell("append", session_id, "--user", "Why?", "--assistant", "So.")
    words = shlex.join(sessiond("show")) + command.removeprefix("show")
    with _run(shell, ["sh", "-c", words]) as screen:
        found = screen.until("(?s)The same .*The same .*Another matter[^\n]*")[0]
        # If a minute began between the two, that is what differs.
        assert len(set(re.findall("same-one|same-two|[0-9]+:[0-9]+", found))) == 2
        assert "other-one" not in found


def test_a_script_is_never_asked(shell: Shell, story: Story) -> None:
    with _elsewhere(shell, "show", "--json") as screen:
        screen.until("has a message yet")
        screen.until("ended with 1")


def _elsewhere(shell: Shell, *words: str) -> AbstractContextManager[Screen]:
    return _run(shell, sessiond(*words))


def _run(shell: Shell, command: list[str], **more: str) -> AbstractContextManager[Screen]:
    folder = shell.folder / "elsewhere"
    folder.mkdir(exist_ok=True)
    return a_screen(command, shell.environment(**{**PLACES, **more}), shell.folder, folder)
