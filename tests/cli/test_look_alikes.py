"""Sessions with the same title, age, folder and agent, in the lists of commands."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Shell, a_shell
from support.dialect_files import claude
from support.dialects import jsonl

LONG = "The parser skips the last line of a file that has no line feed"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as made:
        yield made


def talk(shell: Shell, number: int, prompt: str, *, title: str = "", time: str = "10:00:00") -> str:
    """A session of Claude Code: returns the beginning of its id."""
    session = f"aaaaaaa{number}-0000-4000-8000-000000000000"
    common = {"sessionId": session, "cwd": str(shell.folder), "timestamp": f"2026-01-05T{time}.000Z"}
    rows = [
        claude("user", f"u{number}", None, prompt, **common),
        claude("assistant", f"a{number}", f"u{number}", "Done.", **common),
    ]
    if title:
        rows.append({"type": "custom-title", "customTitle": title, "sessionId": session})
    file = shell.folder / f"{session}.jsonl"
    file.write_bytes(jsonl(*rows))
    shell("import", str(file))
    return session[:8]


def test_a_list_shows_the_first_prompts_of_sessions_with_the_same_title(shell: Shell) -> None:
    talk(shell, 1, "Why is it slow?", title="The parser")
    talk(shell, 2, "It is so odd!!!", title="The parser")
    talk(shell, 3, "Why is it slow?", title="The lexer")
    assert {line.partition("claude  ")[2] for line in shell("list").lines} == {
        "The parser  (Why is it slow?)", "The parser  (It is so odd!!!)", "The lexer"
    }  # fmt: skip


def test_a_list_shows_the_time_of_sessions_with_the_same_day_and_prompt(shell: Shell) -> None:
    talk(shell, 1, "Fix it.", time="10:00:00")
    talk(shell, 2, "Fix it.", time="10:07:59")
    assert [line.partition("claude  ")[2] for line in shell("list", TZ="UTC").lines] == [
        "Fix it.  (10:07)", "Fix it.  (10:00)"
    ]  # fmt: skip


def test_sessions_that_differ_in_their_ids_only_are_listed_with_these(shell: Shell) -> None:
    names = [talk(shell, number, "Fix it.") for number in (1, 2, 3)]
    lines = shell("list").lines
    assert sorted(line.partition(" ")[0] for line in lines) == names
    assert all(line.endswith("  Fix it.") for line in lines)


def test_a_narrow_list_shows_where_titles_differ_after_the_cut(shell: Shell) -> None:
    talk(shell, 1, "Hello.", title=f"{LONG} in Rust")
    talk(shell, 2, "Hello.", title=f"{LONG} in Zigs")
    lines = shell("list", COLUMNS="70").lines
    assert {line.rpartition("  ")[2] for line in lines} == {"(…Rust)", "(…Zigs)"}
    assert all(len(line) <= 70 for line in lines)
    assert not any("(" in line for line in shell("list").lines)


def test_the_board_shows_the_ids_of_sessions_that_are_all_the_same(shell: Shell) -> None:
    names = [talk(shell, number, "Fix it.") for number in (1, 2, 3)]
    talk(shell, 4, "Say it.")
    lines = shell("top", "--once", "--since", "2025-01-01", COLUMNS="90").lines
    ends = sorted(line.rpartition("  ")[2] for line in lines)
    assert ends == [*(f"({name})" for name in names), "Done."]
