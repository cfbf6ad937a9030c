"""Mistakes of a person at the command line: a sentence names what is wrong, and nothing is sent that was not meant."""

import os
import pty
import subprocess
from pathlib import Path

import pytest

from support.commands import Shell
from support.homes import sessiond
from support.patience import BOUND


@pytest.mark.parametrize(
    "words",
    [("list", "-n", "0"), ("search", "word", "-n", "0"), ("history", "-n", "0"), ("trash", "-n", "0")],
)  # fmt: skip
def test_a_limit_of_zero_is_refused_by_the_name_of_the_option(shell: Shell, words: tuple[str, ...]) -> None:
    ran = shell.run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert "--limit must be at least 1, not 0" in ran.err


@pytest.mark.parametrize("query", ["", "   "])
def test_a_search_for_nothing_is_refused(shell: Shell, query: str) -> None:
    ran = shell.run("search", query)
    assert (ran.code, ran.out) == (2, "")
    assert "QUERY is empty" in ran.err


def test_a_folder_that_does_not_exist_is_warned_of_where_nobody_can_be_asked(
    shell: Shell, tmp_path: Path
) -> None:
    missing = str(tmp_path / "typo")
    made = shell("new", "--cwd", missing)
    assert f"warning: the folder {missing} does not exist" in made.err
    moved = shell("move", made.lines[0], "--cwd", missing + "2")
    assert f"warning: the folder {missing}2 does not exist" in moved.err
    assert "warning" not in shell("move", made.lines[0], "--cwd", str(tmp_path)).err


def asked(shell: Shell, answer: str, *words: str) -> tuple[int, str]:
    """A command on a terminal whose person types `answer`: its exit code and what it printed."""
    ours, its = pty.openpty()
    try:
        os.write(ours, answer.encode())
        done = subprocess.run(
            sessiond(*words), stdin=its, stdout=subprocess.PIPE, stderr=its, cwd=shell.folder,
            env=shell.environment(TERM="xterm"), timeout=BOUND, check=False,
        )  # fmt: skip
    finally:
        os.close(its)
        os.close(ours)
    return done.returncode, done.stdout.decode()


@pytest.mark.slow
def test_on_a_terminal_the_person_is_asked_about_a_folder_that_does_not_exist(
    fresh: Shell, tmp_path: Path
) -> None:
    missing = str(tmp_path / "typo")
    assert asked(fresh, "n\n", "new", "--cwd", missing) == (2, "")
    assert asked(fresh, "\n", "new", "--cwd", missing) == (2, "")
    assert fresh.run("list", "--all", "--drafts", "--json").json["sessions"] == []
    code, out = asked(fresh, "y\n", "new", "--cwd", missing, "--json")
    assert code == 0
    assert missing in out


def test_an_export_to_where_no_file_can_be_made_names_the_reason(shell: Shell, tmp_path: Path) -> None:
    session = shell("new").lines[0]
    shell("append", session, "--user", "Hello")
    gone = shell.run("export", session, "--output", str(tmp_path / "none" / "x.md"))
    assert gone.code == 1
    assert f"there is no folder {tmp_path / 'none'}" in gone.err
    assert "there is no folder" not in shell.run("export", session, "--output", "/proc/x.md").err
