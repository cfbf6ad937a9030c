"""Long output on a terminal goes through a pager, and what scripts read does not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.cli.render.pager import command
from sessiond.cli.table.index import all_commands
from support.commands import Shell, a_shell
from support.terminals import seen

DECLARED = all_commands()


MARKING = "sed 's/^/P:/'"


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """A session that says what a terminal would obey."""
    with a_shell(tmp_path_factory.mktemp("folder")) as found:
        found("new", "--id", "atlas-one", "--title", "Flaky")
        found("append", "atlas-one", "--user", "Why \x1b[2J\x1b]0;gone\x07?", "--assistant", "A race.")
        yield found


def test_the_pager_is_the_one_that_was_chosen_last_for_us_then_for_all_then_less(tmp_path: Path) -> None:
    less = tmp_path / "less"
    less.touch(mode=0o755)
    on_path = {"PATH": str(tmp_path)}
    assert command({**on_path, "SESSIOND_PAGER": "mine -x", "PAGER": "more"}) == "mine -x"
    assert command({**on_path, "PAGER": "more"}) == "more"
    assert command(on_path) == "less"
    assert command({"PATH": str(tmp_path / "none")}) is None


@pytest.mark.parametrize(
    "environ", [{"SESSIOND_PAGER": ""}, {"PAGER": "cat"}, {"PAGER": " "}, {"TERM": "dumb", "PAGER": "more"}]
)
def test_an_empty_pager_and_cat_and_a_dumb_terminal_are_none(environ: dict[str, str]) -> None:
    assert command({"PATH": "/bin:/usr/bin", **environ}) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("tree", "atlas-one"), ("list", "--drafts"), ("context", "atlas-one"), ("show", "atlas-one"),
        ("export", "atlas-one"), ("tree", "atlas-one", "--json"), ("stats", "atlas-one"), ("--help",),
        ("tree", "--help"), ("help", "exit-codes"),
    ],
)  # fmt: skip
def test_output_that_may_be_long_goes_through_it(shell: Shell, words: tuple[str, ...]) -> None:
    ran = seen(shell, *words, SESSIOND_PAGER=MARKING)
    assert ran.code == 0
    lines = ran.out.rpartition("\r\x1b[K")[
        2
    ].splitlines()  # behind progress, which was on the terminal itself
    assert lines
    assert all(line.startswith("P:") for line in lines), ran.out


@pytest.mark.slow
def test_our_colors_reach_the_pager_and_a_transcripts_sequences_do_not(shell: Shell) -> None:
    shown = seen(shell, "tree", "atlas-one", SESSIOND_PAGER="cat -v").out
    assert "^[[36m" in shown
    assert "gone" not in shown
    assert "^[[2J" not in shown


@pytest.mark.slow
def test_lines_are_as_wide_as_the_terminal_behind_the_pager(shell: Shell) -> None:
    shell("append", "atlas-one", "--user", "long " * 40)
    lines = seen(shell, "tree", "atlas-one", columns=60, SESSIOND_PAGER="cat; true", NO_COLOR="1").lines
    assert max(map(len, lines)) == 60


@pytest.mark.slow
def test_no_pager_is_used_where_nobody_looks_or_nobody_wants_it(shell: Shell) -> None:
    assert "P:" not in shell("tree", "atlas-one", SESSIOND_PAGER=MARKING).out
    for words in (("--no-pager", "tree", "atlas-one"), ("tree", "atlas-one", "--no-pager")):
        ran = seen(shell, *words, SESSIOND_PAGER=MARKING)
        assert (ran.code, "P:" in ran.out) == (0, False)
        assert "A race." in ran.out


@pytest.mark.slow
def test_a_short_answer_is_not_paged(shell: Shell) -> None:
    assert "P:" not in seen(shell, "status", SESSIOND_PAGER=MARKING).out


@pytest.mark.slow
def test_a_refusal_is_said_on_the_terminal_with_its_exit_code(shell: Shell) -> None:
    ran = seen(shell, "tree", "no-such-session", SESSIOND_PAGER=MARKING)
    assert ran.code == 1
    assert "P:" not in ran.out


@pytest.mark.slow
def test_leaving_the_pager_early_changes_no_exit_code_and_prints_nothing(shell: Shell) -> None:
    ran = seen(shell, "schema", SESSIOND_PAGER="head -n 1")
    assert (ran.code, ran.lines) == (0, ["{"])
    torn = shell.folder / "torn.jsonl"
    torn.write_text("no session\n", encoding="utf-8")
    assert seen(shell, "doctor", str(torn), SESSIOND_PAGER="true").code == 1


@pytest.mark.slow
def test_a_pager_that_is_not_there_is_named(shell: Shell) -> None:
    ran = seen(shell, "tree", "atlas-one", SESSIOND_PAGER="/no/such/pager")
    assert "--no-pager" in ran.out


def test_every_command_that_may_be_long_is_paged() -> None:
    assert {name for name, command in DECLARED.items() if command.paged} == {
        "list", "search", "recall", "history", "show", "tree", "diff", "trash", "cleanup", "doctor", "export", "rpc",
        "schema", "context", "stats", "state", "usage", "storage", "verify",
    }  # fmt: skip
