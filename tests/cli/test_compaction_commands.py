"""The commands compact, branch and configure, with a summarizing command that is a small real program."""

import json  # noqa: TID251 - what a reader of --json would use
import os
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.columns import entries_of, message_ids_of
from support.commands import Shell
from support.homes import sessiond, wait_until
from support.summarizers import as_toml, commanded, program
from support.terminals import on_a_terminal

QUESTION, ANSWER = "?" * 400, "!" * 400  # about 100 tokens each
RECENT = ("--keep-recent", "150")  # of which the last turn is kept


def talk(shell: Shell, turns: int = 3) -> tuple[str, list[str]]:
    """A session of so many turns: its id, and the ids of its entries."""
    session = shell("new", "--title", "Parser").lines[0]
    words = [word for _ in range(turns) for word in ("--user", QUESTION, "--assistant", ANSWER)]
    return session, shell("append", session, *words).lines


def with_a_summarizer(shell: Shell, body: str) -> None:
    """Configure a program that writes summaries, before the daemon starts."""
    folder = Path(shell.locations.config)
    folder.mkdir(parents=True, exist_ok=True)
    text = as_toml(commanded(program(shell.folder, body)))
    (folder / "config.toml").write_text(text, encoding="utf-8")


def seen(shell: Shell, session: str) -> list[str]:
    """The ids of the entries that a model sees."""
    ids: list[str] = message_ids_of(shell("context", session, "--json").json)
    return ids


def entries(shell: Shell, session: str) -> list[dict[str, Any]]:
    return entries_of(shell("rpc", "session/entries", json.dumps({"sessionId": session})).json)


# --- compact -----------------------------------------------------------------------------------------------


def test_a_dry_run_draws_what_would_leave_the_context_and_changes_nothing(shell: Shell) -> None:
    session, ids = talk(shell)
    before = entries(shell, session)
    lines = shell("compact", session, *RECENT, "--dry-run").lines
    assert [line.split()[:3] for line in lines[:5]] == [
        ["○", ids[0], "user"], ["○", ids[1], "assistant"], ["○", ids[2], "user"], ["○", ids[3], "assistant"],
        ["●", ids[4], "user"],
    ]  # fmt: skip
    assert (
        lines[6]
        == "A summary would replace 4 entries. The entry with the filled mark and all later entries stay."
    )
    now, then = lines[-2:]
    assert now.startswith("now   ▏░")
    assert now.endswith("0.3 %, 600 of 200 k tokens, full above 184 k")
    assert then.endswith("0.1 %, 200 of 200 k tokens and the summary")
    assert entries(shell, session) == before
    plain = shell("compact", session, *RECENT, "--dry-run", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert plain.out.isascii()


def test_the_middle_of_many_entries_is_only_counted(shell: Shell) -> None:
    session, ids = talk(shell, turns=10)
    lines = shell("compact", session, *RECENT, "--dry-run").lines
    assert lines[6] == "  and 6 more entries"
    assert lines[5].split()[1] == ids[5]
    assert lines[7].split()[1] == ids[12]


def test_a_turn_that_is_cut_and_the_files_it_touched_are_told(shell: Shell) -> None:
    session = shell("new").lines[0]
    read = {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "parser\x1b[2J.py"}}
    call = {"role": "assistant", "content": [read], "stopReason": "toolUse"}
    result = {"role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": False, "content": []}
    shell(
        "append", session, "--user", QUESTION,
        *(
            word
            for item in (call, result)
            for word in ("--json-entry", json.dumps({"type": "message", "message": item}))
        ),
        "--assistant", ANSWER,
    )  # fmt: skip
    out = shell("compact", session, "--keep-recent", "50", "--dry-run").out
    assert "The newest turn would be split: 3 entries of it would be summarized." in out
    assert "files read  parser.py\n" in out


def test_a_given_summary_stands_for_what_was_before_and_can_be_undone(shell: Shell) -> None:
    session, ids = talk(shell)
    done, undo = shell("compact", session, *RECENT, "--summary", "So far.").lines
    [compaction] = [entry for entry in entries(shell, session) if entry["type"] == "compaction"]
    assert done.startswith(f"{compaction['id']} replaces all entries before {ids[4]}: 600 tokens became 2")
    assert seen(shell, session) == [compaction["id"], *ids[4:]]
    assert undo == f"To undo it: sessiond branch {session} {ids[-1]}"
    shell(*shlex.split(undo)[4:])
    assert seen(shell, session) == ids


def test_a_summary_comes_from_standard_input(shell: Shell) -> None:
    session, _ = talk(shell)
    shell("compact", session, *RECENT, "--summary", "-", stdin="From a pipe: größer.\n")
    assert entries(shell, session)[-1]["summary"] == "From a pipe: größer."


def test_standard_input_that_is_no_text_is_refused(shell: Shell) -> None:
    done = subprocess.run(
        sessiond("compact", "any-session", "--summary", "-"),
        input=b"\xff",
        capture_output=True,
        env=shell.environment(),
        check=False,
    )
    assert done.returncode == 2


def test_the_configured_program_writes_the_summary_and_it_is_shown(fresh: Shell) -> None:
    with_a_summarizer(fresh, "print('\\x1b[2JThe tests are named: ' + str('Keep the names.' in prompt))")
    session, ids = talk(fresh)
    lines = fresh("compact", session, *RECENT, "--instructions", "Keep the names.").lines
    assert lines[:2] == ["  The tests are named: True", ""]
    assert lines[2].split()[1:5] == ["replaces", "all", "entries", "before"]
    assert seen(fresh, session)[1:] == ids[4:]


def test_progress_is_drawn_over_itself_while_a_summary_is_written(fresh: Shell) -> None:
    with_a_summarizer(fresh, "print('So far.')")
    session, _ = talk(fresh)
    ran = on_a_terminal(fresh, "compact", session, *RECENT)
    assert ran.code == 0
    assert "Compacting the session" in ran.err
    assert "writes a summary" in ran.err
    assert ran.err.endswith("\r\x1b[K")


def test_without_anybody_to_write_a_summary_the_error_says_what_helps(shell: Shell) -> None:
    session, _ = talk(shell)
    ran = shell.run("compact", session, *RECENT)
    assert ran.code == 1
    assert "--summary -" in ran.err
    prompt = shell("compact", session, *RECENT, "--dry-run", "--json").json["prompt"]
    assert QUESTION in prompt
    assert len(entries(shell, session)) == 7  # with the title


def test_a_program_that_fails_leaves_the_session_as_it_was(fresh: Shell) -> None:
    with_a_summarizer(fresh, "sys.exit('no model today')")
    session, ids = talk(fresh)
    assert fresh.run("compact", session, *RECENT).code == 1
    assert seen(fresh, session) == ids


def test_ctrl_c_ends_the_program_and_changes_nothing(fresh: Shell, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    with_a_summarizer(
        fresh,
        f"open({str(pid_file)!r} + '.new', 'w').write(str(os.getpid()))\n"
        f"os.rename({str(pid_file)!r} + '.new', {str(pid_file)!r})\ntime.sleep(60)",
    )
    session, ids = talk(fresh)
    with fresh.start("compact", session, *RECENT) as command:
        wait_until(pid_file.exists)
        command.send_signal(signal.SIGINT)
        assert command.wait(60) == 130
    pid = int(pid_file.read_text(encoding="utf-8"))
    wait_until(lambda: not _runs(pid))
    assert seen(fresh, session) == ids


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_where_there_is_nothing_to_compact_that_is_said(shell: Shell) -> None:
    session, _ = talk(shell)
    assert shell("compact", session, "--dry-run").lines == [
        "Nothing to compact: all entries count as recent."
    ]
    shell("compact", session, "--summary", "So far.")
    assert "ends with a compaction" in shell("compact", session, *RECENT, "--dry-run").out


# --- branch ------------------------------------------------------------------------------------------------


def test_a_dry_run_of_a_branch_shows_what_would_be_left_behind(shell: Shell) -> None:
    session, ids = talk(shell)
    lines = shell("branch", session, ids[2], "--dry-run").lines
    assert [line.split()[1] for line in lines[:3]] == ids[3:]
    assert lines[4] == f"3 entries would be left behind, about 300 tokens; the common ancestor is {ids[2]}."
    assert lines[5] == f"To rephrase that message: sessiond branch {session} {ids[1]}"
    assert shell("branch", session, ids[-1], "--dry-run").lines == ["No entries would be left behind."]
    assert "have no common ancestor" in shell("branch", session, "root", "--dry-run").out
    assert seen(shell, session) == ids


def test_a_branch_goes_on_from_a_summary_that_somebody_wrote(fresh: Shell) -> None:
    with_a_summarizer(fresh, "print('It led nowhere.')")
    session, ids = talk(fresh)
    said, _, moved = fresh("branch", session, ids[1], "--summarize", "--instructions", "Be brief.").lines
    [summary] = [entry for entry in entries(fresh, session) if entry["type"] == "branch_summary"]
    assert said == "  It led nowhere."
    assert moved == f"The leaf is now {summary['id']}."
    assert seen(fresh, session) == [*ids[:2], summary["id"]]


def test_a_branch_takes_a_summary_from_standard_input(shell: Shell) -> None:
    session, ids = talk(shell)
    assert len(shell("branch", session, ids[1], "--summary", "-", stdin="Left.").lines) == 1
    assert entries(shell, session)[-1]["summary"] == "Left."


def test_where_nothing_is_left_behind_there_is_no_summary(shell: Shell) -> None:
    session, ids = talk(shell)
    ran = shell("branch", session, ids[-1], "--summarize")
    assert ran.lines == [f"The leaf is now {ids[-1]}."]
    assert "no summary" in ran.err


# --- configure ---------------------------------------------------------------------------------------------


def test_the_settings_of_a_session_are_shown_chosen_and_taken_back(shell: Shell) -> None:
    session, _ = talk(shell)
    default = shell("configure", session).lines
    assert default == [
        "auto-compact  off",
        "full above    183,616 tokens: a window of 200,000 minus 16,384 for the response",
        "then keep     about 20,000 tokens of the newest entries",
    ]
    shell("configure", session, "--auto-compact", "on", "--context-window", "128000")
    assert shell("configure", session, "--reserve", "8000", "--keep-recent", "9000").lines == [
        "auto-compact  on",
        "full above    120,000 tokens: a window of 128,000 minus 8,000 for the response",
        "then keep     about 9,000 tokens of the newest entries",
    ]
    assert shell("configure", session, "--auto-compact", "default").lines == default


# --- all of them -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["compact", "--dry-run", "--summary", "x"], ["compact", "--keep-recent", "many"],
        ["branch", "s", "e", "--summarize", "--summary", "x"], ["branch", "s", "e", "--dry-run", "--summarize"],
        ["branch", "s", "e", "--instructions", "x"], ["configure", "--auto-compact", "maybe"],
        ["configure", "--auto-compact", "default", "--reserve", "1"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(words: list[str], shell: Shell) -> None:
    assert shell.run(*words).code == 2


def test_json_is_what_the_daemon_sent(fresh: Shell) -> None:
    with_a_summarizer(fresh, "print('So far.')")
    session, ids = talk(fresh)
    for words, field in (
        (["compact", session, *RECENT, "--dry-run"], "entryIdsToSummarize"),
        (["compact", session, *RECENT], "summarizedBy"), (["configure", session], "autoCompact"),
        (["branch", session, ids[0], "--dry-run"], "editorText"),
        (["branch", session, ids[0], "--summarize"], "previousLeafId"),
    ):  # fmt: skip
        ran = fresh(*words, "--json")
        assert field in ran.json, words
        assert len(ran.lines) == 1
