"""`search` and `history` as a person meets them: what is found, how to get there, and what is not said."""

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.cli.render.style import is_own_terminal
from support import logs
from support.commands import Shell, a_shell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder: Path = tmp_path_factory.mktemp("searching")
    with a_shell(folder) as made:
        session = made("new", "--title", "Flaky test", "--tag", "ci", "--id", "search-me-1").lines[0]
        made("append", session, "--user", "Why is the zephyr test flaky?")
        made("append", session, "--assistant", "A race of the zephyr with its lock", "--model", "acme/one")
        made("append", session, "--user", "zephyr \x1b]0;owned\x07\x1b[31m again")
        yield made


def test_a_hit_says_where_it_is_and_how_to_see_it(shell: Shell) -> None:
    ran = shell("search", "race lock")
    head, snippet, place = ran.lines
    assert head.split("  ")[0] == "Flaky test"
    assert snippet == "    A race of the zephyr with its lock"
    assert place.split("  ")[-2] == "assistant"
    words = place.split("  ")[-1].split()
    assert words[:3] == ["sessiond", "show", "search-me-1"]
    assert "A race of the zephyr" in shell(*words[1:]).out


def test_hits_of_one_session_stand_together_below_its_title(shell: Shell) -> None:
    lines = shell("search", "zephyr", "--session", "search-me-1").lines
    assert [line for line in lines if not line.startswith(" ")] == [lines[0]]
    assert lines[0].startswith("Flaky test  ")
    assert len(lines) == 1 + 2 * 3


def test_a_word_finds_longer_ones_that_begin_with_it_unless_it_is_exact(shell: Shell) -> None:
    shell("append", "search-me-1", "--assistant", "The parser is tokenizing 'an item'", "--model", "acme/one")
    assert shell("search", "parse token").lines[1] == "    The parser is tokenizing 'an item'"
    assert shell("search", "parse", "--exact").out == ""
    assert shell("search", '"an item" pars').lines[1] == "    The parser is tokenizing 'an item'"
    assert shell("search", '"an ite"').out == ""


def test_on_a_narrow_terminal_the_title_stays_and_the_command_has_a_line_of_its_own(
    shell: Shell,
) -> None:
    ran = shell("search", "race lock", FORCE_COLOR="1", COLUMNS="40")
    head, snippet, notes, command = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in ran.out.splitlines()]
    assert head.startswith("Flaky test")
    assert snippet == "    A race of the zephyr with its lock"
    assert notes.split() == ["now", "assistant"]
    assert command.startswith("    sessiond show search-me-1 --entry ")
    assert max(map(len, (head, snippet, notes))) <= 40


@pytest.mark.parametrize("command", ["search", "recall"])
def test_a_search_that_would_find_nothing_waits_for_sessions_that_are_not_indexed(
    tmp_path: Path, command: str
) -> None:
    with a_shell(tmp_path) as fresh:
        folder = Path(fresh.locations.data) / "sessions/--work--"
        folder.mkdir(parents=True)
        words = [logs.assistant("lorem ipsum dolor " * 1000) for _ in range(400)]
        session = logs.log(logs.header(cwd=str(tmp_path)), *words, logs.user("Where is the quokka?"))
        (folder / f"2026-01-01T00-00-00-000Z_{logs.SESSION_ID}.jsonl").write_bytes(session)
        ran = fresh(command, "quokka")
        assert "Where is the quokka?" in ran.out
        # The daemon may have read a part of it since its start.
        assert re.search(r"Reading 1 session \(\d\.\d MB\) first", ran.err)
        assert "could not be searched" not in ran.err


def test_matches_are_in_color_where_there_is_color(shell: Shell) -> None:
    out = shell("search", "race", FORCE_COLOR="1").out
    assert "A \x1b[1;33mrace\x1b[0m of" in out


def test_the_color_is_on_the_match_behind_characters_outside_the_basic_plane(shell: Shell) -> None:
    shell("append", "search-me-1", "--assistant", "😀 👩‍🚀 a basilisk", "--model", "acme/one")
    out = shell("search", "basilisk", FORCE_COLOR="1").out
    assert "a \x1b[1;33mbasilisk\x1b[0m" in out


def test_a_transcript_cannot_command_the_terminal(shell: Shell) -> None:
    for command in (("search", "zephyr again"), ("history", "again")):
        ran = shell(*command)
        assert "zephyr again" in ran.out
        assert "\x1b" not in ran.out
        assert "owned" not in ran.out


def test_filters_reach_the_daemon(shell: Shell) -> None:
    assert len(shell("search", "zephyr", "--role", "user", "--json").json["hits"]) == 2
    both = ("--role", "user", "--role", "assistant")
    assert len(shell("search", "zephyr", *both, "--json").json["hits"]) == 3
    assert len(shell("search", "zephyr", "--tag", "ci", "--limit", "1", "--json").json["hits"]) == 1
    assert len(shell("search", "zephyr", "--cwd", ".", "--session", "search-me", "--json").json["hits"]) == 3
    assert shell.run("search", "!?").code == 1


def test_the_project_of_the_folder_is_searched_unless_all_are(shell: Shell) -> None:
    elsewhere = ("search", "zephyr", "--cwd", "/nowhere")
    ran = shell.run(*elsewhere)
    assert ran.out == ""
    assert "--all searches the sessions of all projects." in ran.err
    assert len(shell(*elsewhere, "--all", "--json").json["hits"]) == 3
    assert "--all" not in shell.run("search", "basilisks", "--all").err
    assert shell.run("search", "zephyr", "--here", "--all").code == 2


def test_a_session_of_another_project_is_searched_by_its_id(shell: Shell, tmp_path: Path) -> None:
    elsewhere = shell("new", "--cwd", str(tmp_path), "--id", "elsewhere-1").lines[0]
    shell("append", elsewhere, "--assistant", "A mistral, for once", "--model", "acme/one")
    assert shell("search", "mistral").out == ""
    assert len(shell("search", "mistral", "--session", elsewhere, "--json").json["hits"]) == 1


def test_prompts_are_listed_newest_first_and_found_by_their_beginnings(shell: Shell) -> None:
    assert [line.split("  ")[-1] for line in shell("history").lines] == [
        "zephyr again", "Why is the zephyr test flaky?",
    ]  # fmt: skip
    assert [line.split("  ")[-1] for line in shell("history", "fla tes").lines] == [
        "Why is the zephyr test flaky?"
    ]
    assert len(shell("history", "--json", "--cwd", ".").json["prompts"]) == 2
    assert shell("history", "nothing like it").out == ""


def test_the_word_delete_alone_deletes_nothing_and_can_be_searched_for(shell: Shell) -> None:
    ran = shell.run("history", "delete")
    assert ran.code == 2
    assert "sessiond history 'delete '" in ran.err
    assert shell("history", "delete ").out == ""
    assert shell.run("history", "fla", "tes").code == 2
    assert len(shell("history").lines) == 2


def test_prompts_are_deleted_by_their_ids(shell: Shell) -> None:
    ids = [line.split()[0] for line in shell("history").lines]
    deleted = shell("history", "delete", ids[1], "0-0")
    assert (deleted.lines, deleted.err) == ([ids[1]], "1 prompt deleted\n")
    assert [line.split()[0] for line in shell("history").lines] == ids[:1]
    assert shell("history", "delete", *ids, "--json").json["deletedIds"] == ids[:1]
    assert shell("history").out == ""


def test_a_session_without_a_title_is_named_by_its_first_prompt(shell: Shell) -> None:
    session = shell("new", "--id", "untitled-search").lines[0]
    shell("append", session, "--user", "Where does the sirocco come from?")
    assert shell("search", "sirocco").lines[0].startswith("Where does the sirocco come from?  ")


SECRET = "q8)r$m0|Zt4x"


def test_in_a_pipe_a_search_shows_no_secret_unless_it_is_told_to(shell: Shell) -> None:
    shell("new", "--title", f"okapi password={SECRET}", "--id", "search-secret")
    shell("append", "search-secret", "--user", f"the okapi database\nDB_PASS={SECRET}\nDB_HOST=db")
    for form in ((), ("--json",)):
        ran = shell("search", "okapi", *form)
        assert SECRET not in ran.out
        assert "DB_PASS=[redacted: Password]" in ran.out
        assert "okapi password=[redacted: Password]" in ran.out
        assert SECRET in shell("search", "okapi", "--no-redact", *form).out


def test_a_password_that_is_searched_for_is_not_shown_where_the_snippet_begins_in_it(shell: Shell) -> None:
    shell("new", "--id", "search-long")
    key = "QUAGGA" + "a1B2c3D4" * 40
    shell("append", "search-long", "--user", f'"api_key": "{key}"' + " gnu" * 40)
    out = shell("search", "gnu", "--session", "search-long").out
    assert "a1B2c3D4" not in out


@pytest.mark.parametrize("is_owner", [True, False])
def test_only_a_terminal_of_this_user_is_its_own(monkeypatch: pytest.MonkeyPatch, is_owner: bool) -> None:
    ours, theirs = os.openpty()
    with os.fdopen(ours, "wb"), os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        if not is_owner:
            monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert is_own_terminal(terminal) is is_owner


def test_a_pipe_is_no_terminal_of_anybody() -> None:
    assert not is_own_terminal(io.StringIO())
