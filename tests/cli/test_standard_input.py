"""A - is standard input, wherever a text or a list of ids is taken."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Shell, a_shell

pytestmark = pytest.mark.slow


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as shell:
        shell("new", "--id", "atlas-one")
        yield shell


def test_the_text_of_a_message_comes_from_it(shell: Shell) -> None:
    shell("append", "atlas-one", "--user", "Why?", "--assistant", "-", stdin="A race,\nI think.\n")
    assert "  A race,\n  I think." in shell("context", "atlas-one").out


def test_an_entry_comes_from_it(shell: Shell) -> None:
    entry = '{"type":"custom","customType":"x","id":"mine"}'
    assert shell("append", "atlas-one", "--json-entry", "-", stdin=entry).lines == ["mine"]


@pytest.mark.parametrize("words", [("--user", "-", "--user", "-"), ("--user", "-", "-")])
def test_it_is_read_once_and_an_empty_one_is_no_text(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell.run("append", "atlas-one", *words, stdin="one text").code == 2
    assert shell.run("append", "atlas-one", *words, stdin="").code == 2
    assert shell("show", "atlas-one", "--json").json["session"]["entryCount"] == 0


def test_a_plan_and_a_decision_come_from_it(shell: Shell) -> None:
    shell("append", "atlas-one", "--user", "x", "--assistant", "y")
    assert (
        shell("state", "atlas-one", "--plan", "-", "--json", stdin="First.\n").json["state"]["plan"]
        == "First."
    )
    state = shell("state", "atlas-one", "--decide", "-", "--json", stdin="Go\n").json["state"]
    assert state["keyDecisions"][-1]["decision"] == "Go"


def test_sessions_to_delete_restore_and_purge_come_from_it_one_on_each_line(shell: Shell) -> None:
    names = []
    for _ in range(2):
        names.append(shell("new").lines[0])
        shell("append", names[-1], "--user", "x", "--assistant", "y")
    listed = "\n".join(names)
    assert shell("delete", "-", stdin=listed).lines == names
    assert shell("restore", "-", stdin=listed).lines == names
    shell("delete", "-", stdin=listed)
    shell("purge", "-", "--yes", stdin=listed)
    assert shell("trash").lines == []
