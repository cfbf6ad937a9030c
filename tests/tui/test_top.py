"""`sessiond top`: the board of what every agent is doing, on a real terminal and printed once."""

import shlex
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from support.commands import Shell, a_shell
from support.homes import sessiond
from support.screens import Screen, a_screen

PLACES = {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as made:
        yield made


def talk(shell: Shell, session_id: str, title: str, *words: str) -> None:
    folder = shell.folder / "atlas"
    folder.mkdir(exist_ok=True)
    shell("new", "--id", session_id, "--title", title, "--cwd", str(folder))
    shell("append", session_id, *words)


@pytest.mark.editors
def test_the_board_follows_what_is_written_and_jumps_to_a_session(shell: Shell) -> None:
    talk(shell, "session-one", "The parser", "--user", "Why?", "--assistant", "It waits.")
    with _screen(shell, "top") as screen:
        screen.until("^1 waiting")
        screen.until("^waiting .*atlas .*The parser +It waits[.]")
        talk(shell, "session-two", "The lexer", "--user", "And this one?")
        screen.until("^1 working, 1 waiting")
        screen.until("^working .*The lexer +And this one")
        shell("append", "session-two", "--assistant", "Done \x1b[31mit\x1b[0m.")
        screen.until("^2 waiting")
        screen.until("The lexer +Done .*it.*[.]")
        screen.type("j")
        screen.press("Enter")
        screen.until("(?s)Why[?].*It waits[.]")
        screen.until_not("The lexer")
        screen.type("q")
        screen.until("^2 waiting")
        screen.type("q")
        screen.until("ended with 0")


@pytest.mark.editors
def test_an_empty_board_says_so(shell: Shell) -> None:
    with _screen(shell, "top", "--since", "1 hour") as screen:
        screen.until("No agent has written a session lately")
        screen.until("^nothing is running")
        screen.type("q")
        screen.until("ended with 0")


@pytest.mark.slow
def test_it_is_printed_once_for_a_script(shell: Shell) -> None:
    assert shell.run("top", "--once").err == "No agent has written a session lately.\n"
    talk(shell, "session-one", "The parser", "--user", "Why?", "--assistant", "It waits.")
    talk(shell, "session-two", "", "--user", "And this one?")
    assert [line.split()[0] for line in shell("top").lines] == ["working", "waiting"]
    rows = shell("top", "--json").json["sessions"]
    assert [(row["sessionId"], row["state"], row["title"], row["lastWords"]) for row in rows] == [
        ("session-two", "working", "And this one?", "And this one?"),
        ("session-one", "waiting", "The parser", "It waits."),
    ]
    shell("label", "session-one", shell("tree", "session-one", "--json").json["leafId"], "kept")
    words = [session["lastWords"] for session in shell("top", "--json").json["sessions"]]
    assert sorted(words) == ["And this one?", "It waits."], "a label has no words"
    assert shell("top", "--here").out == ""
    assert shell.run("top", "--since", "whenever").code == 2


def _screen(shell: Shell, *words: str) -> AbstractContextManager[Screen]:
    command = ["sh", "-c", shlex.join(sessiond(*words))]
    return a_screen(command, shell.environment(**PLACES), shell.folder, shell.folder)
