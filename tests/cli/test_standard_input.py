"""A - is standard input, wherever a text or a list of ids is taken."""

import pytest

from support.commands import Shell

pytestmark = pytest.mark.slow


@pytest.fixture
def session(shell: Shell) -> str:
    return shell("new").lines[0]


def test_the_text_of_a_message_comes_from_it(shell: Shell, session: str) -> None:
    shell("append", session, "--user", "Why?", "--assistant", "-", stdin="A race,\nI think.\n")
    assert "  A race,\n  I think." in shell("context", session).out


def test_an_entry_comes_from_it(shell: Shell, session: str) -> None:
    entry = '{"type":"custom","customType":"x","id":"mine"}'
    assert shell("append", session, "--json-entry", "-", stdin=entry).lines == ["mine"]


@pytest.mark.parametrize("words", [("--user", "-", "--user", "-"), ("--user", "-", "-")])
def test_it_is_read_once_and_an_empty_one_is_no_text(
    shell: Shell, session: str, words: tuple[str, ...]
) -> None:
    assert shell.run("append", session, *words, stdin="one text").code == 2
    assert shell.run("append", session, *words, stdin="").code == 2
    assert shell("show", session, "--json").json["session"]["entryCount"] == 0


def test_a_plan_and_a_decision_come_from_it(shell: Shell, session: str) -> None:
    shell("append", session, "--user", "x", "--assistant", "y")
    assert (
        shell("state", session, "--plan", "-", "--json", stdin="First.\n").json["state"]["plan"] == "First."
    )
    state = shell("state", session, "--decide", "-", "--json", stdin="Go\n").json["state"]
    assert state["keyDecisions"][-1]["decision"] == "Go"


def test_sessions_to_delete_restore_and_purge_come_from_it_one_on_each_line(fresh: Shell) -> None:
    names = []
    for _ in range(2):
        names.append(fresh("new").lines[0])
        fresh("append", names[-1], "--user", "x", "--assistant", "y")
    listed = "\n".join(names)
    assert fresh("delete", "-", stdin=listed).lines == names
    assert fresh("restore", "-", stdin=listed).lines == names
    fresh("delete", "-", stdin=listed)
    fresh("purge", "-", "--yes", stdin=listed)
    assert fresh("trash").lines == []
