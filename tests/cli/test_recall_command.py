"""`recall` as a person meets it: passages by session, what is marked, and what a transcript cannot do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.commands import Shell, a_shell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder: Path = tmp_path_factory.mktemp("recalling")
    with a_shell(folder) as made:
        session = made("new", "--title", "Flaky test", "--id", "recall-me-1").lines[0]
        made("append", session, "--user", "Why is the zephyr test flaky?")
        made("append", session, "--assistant", "The zephyr races with its lock", "--model", "acme/one")
        made("append", session, "--user", "typhoon \x1b]0;owned\x07\x1b[31m again")
        yield made


def test_passages_are_grouped_by_session_with_the_command_that_shows_each(shell: Shell) -> None:
    ran = shell("recall", "zephyr lock")
    assert ran.lines[0].startswith("Flaky test")
    commands = [line.strip() for line in ran.lines if line.strip().startswith("sessiond show")]
    assert len(commands) == 2
    assert "The zephyr races" in shell(*commands[0].split()[1:]).out + shell(*commands[1].split()[1:]).out


def test_other_wordings_are_asked_too(shell: Shell) -> None:
    assert shell("recall", "hurricane").out == ""
    assert "typhoon" in shell("recall", "hurricane", "--also", "typhoon", "--also", "storm").out


def test_a_transcript_cannot_command_the_terminal(shell: Shell) -> None:
    out = shell("recall", "typhoon").out
    assert "typhoon again" in out
    assert "\x1b" not in out
    assert "owned" not in out


def test_the_project_of_the_folder_is_asked_unless_all_are(shell: Shell) -> None:
    elsewhere = ("recall", "zephyr", "--cwd", "/nowhere")
    assert shell(*elsewhere).out == ""
    assert "zephyr" in shell("recall", "zephyr", "--all").out
    assert shell.run("recall", "zephyr", "--all", "--here").code == 2


def test_json_is_the_result_of_the_daemon(shell: Shell) -> None:
    found = shell("recall", "zephyr", "--budget", "500", "--limit", "1", "--json").json
    assert len(found["passages"]) == 1
    assert found["tokens"] <= 500


def test_a_budget_that_is_too_small_for_any_passage_is_named(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 40)
    folder.mkdir()
    session = shell("new", "--cwd", str(folder), "--title", "Far away").lines[0]
    shell("append", session, "--user", "the monsoon is late", "--assistant", "It is", "--model", "acme/one")
    ran = shell.run("recall", "monsoon", "--cwd", str(folder), "--budget", "100")
    assert (ran.code, ran.out) == (0, "")
    assert "use a higher --budget" in ran.err


def test_an_empty_question_is_a_mistake(shell: Shell) -> None:
    assert shell.run("recall", "  ").code == 2
