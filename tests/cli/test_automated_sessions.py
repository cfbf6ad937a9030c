"""Sessions whose prompts a program gave: lists count them, show them on request, and all else finds them."""

import json  # noqa: TID251 - session files are written as the agents write them
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.commands import Shell, a_shell
from support.dialect_files import claude, codex, event, said
from support.dialects import jsonl

EXEC = "aaaaaaaa-0000-4000-8000-000000000001"
PRINT = "bbbbbbbb-0000-4000-8000-000000000002"
PERSON = "cccccccc-0000-4000-8000-000000000003"
TAKEN_OVER = "dddddddd-0000-4000-8000-000000000004"


def thread(cwd: Path, source: str, *more: dict[str, Any]) -> bytes:
    header = {"id": EXEC, "cwd": str(cwd), "source": source, "cli_version": "0.171.0"}
    return jsonl(
        codex("session_meta", header), said("user", "count the herons"), said("assistant", "Two."), *more
    )


def conversation(cwd: Path, session: str, *entrypoints: str) -> bytes:
    """Return a session with one turn for each entrypoint."""
    rows, above = [], None
    for number, entrypoint in enumerate(entrypoints):
        common = {"sessionId": session, "cwd": str(cwd), "entrypoint": entrypoint,
                  "timestamp": f"2026-11-2{number}T10:00:00.000Z"}  # fmt: skip
        rows += [
            claude("user", f"u{number}-{session}", above, f"owls of {entrypoint}", **common),
            claude("assistant", f"a{number}-{session}", f"u{number}-{session}", "Done.", **common),
        ]
        above = f"a{number}-{session}"
    return jsonl(*rows)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    with a_shell(tmp_path) as made:
        yield made


def put(shell: Shell, name: str, data: bytes) -> None:
    file = shell.folder / "files" / f"{name}.jsonl"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    shell("import", str(file))


def listed(shell: Shell, *words: str) -> set[str]:
    return {line[:8] for line in shell("list", *words).lines}


def test_a_list_counts_automated_sessions_and_shows_them_on_request(shell: Shell) -> None:
    put(shell, EXEC, thread(shell.folder, "exec"))
    put(shell, PRINT, conversation(shell.folder, PRINT, "sdk-cli"))
    put(shell, PERSON, conversation(shell.folder, PERSON, "cli"))
    shown = shell("list")
    assert [line[:8] for line in shown.lines] == [PERSON[:8]]
    assert shown.err == "2 automated sessions are hidden; --automated shows them.\n"
    everything = shell("list", "--automated")
    assert {line[:8] for line in everything.lines} == {EXEC[:8], PRINT[:8], PERSON[:8]}
    assert "automated" not in everything.err
    assert len(json.loads(shell("list", "--json").out)["sessions"]) == 3


def test_a_list_without_other_sessions_says_only_how_many_are_hidden(shell: Shell) -> None:
    put(shell, EXEC, thread(shell.folder, "exec"))
    assert shell("list").err == "1 automated session is hidden; --automated shows it.\n"
    assert (
        shell("top", "--once", "--since", "2025-12-01").err
        == "1 automated session is hidden; --automated shows it.\n"
    )


def test_an_automated_session_is_found_by_its_id_by_a_search_and_in_the_usage(shell: Shell) -> None:
    put(shell, EXEC, thread(shell.folder, "exec"))
    assert EXEC in shell("show", EXEC[:8]).out
    assert EXEC[:8] in shell("search", "herons", "--wait").out


def test_continue_takes_an_automated_session_only_if_there_is_no_other_or_the_terminal_used_it(
    shell: Shell,
) -> None:
    put(shell, PRINT, conversation(shell.folder, PRINT, "sdk-cli", "sdk-cli"))
    assert shell("continue").lines == [PRINT]
    put(shell, EXEC, thread(shell.folder, "exec"))
    put(shell, PERSON, conversation(shell.folder, PERSON, "cli"))
    assert shell("continue", SESSIOND_TERMINAL="two").lines == [PERSON]
    assert shell("continue").lines == [PRINT]


def test_a_session_that_a_person_goes_on_with_is_not_automated_any_more(shell: Shell) -> None:
    put(shell, TAKEN_OVER, conversation(shell.folder, TAKEN_OVER, "sdk-cli"))
    assert listed(shell) == set()
    put(shell, TAKEN_OVER, conversation(shell.folder, TAKEN_OVER, "sdk-cli", "cli"))
    assert listed(shell) == {TAKEN_OVER[:8]}
    put(
        shell,
        EXEC,
        thread(shell.folder, "exec", event("task_started", turn_attribution={"turn_trigger": "exec"})),
    )
    assert EXEC[:8] not in listed(shell)
    put(shell, EXEC, thread(
        shell.folder, "exec", event("task_started", turn_attribution={"turn_trigger": "exec"}),
        event("task_started", turn_attribution={"turn_trigger": None}), said("user", "thanks"),
    ))  # fmt: skip
    assert EXEC[:8] in listed(shell)


def test_a_session_that_a_person_began_stays_so_when_a_program_goes_on_with_it(shell: Shell) -> None:
    put(shell, PERSON, conversation(shell.folder, PERSON, "cli", "sdk-cli"))
    assert listed(shell) == {PERSON[:8]}


@pytest.mark.parametrize("entrypoint", ["claude-vscode", "claude-desktop", "unknown-of-the-future"])
def test_other_entrypoints_are_those_of_people(shell: Shell, entrypoint: str) -> None:
    put(shell, PERSON, conversation(shell.folder, PERSON, entrypoint))
    assert listed(shell) == {PERSON[:8]}
