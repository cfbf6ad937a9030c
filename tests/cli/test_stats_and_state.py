"""The commands stats and state, and what they draw with."""

from typing import Any

import pytest

from sessiond import human
from sessiond.cli.render.bars import bar, percent
from sessiond.cli.render.style import Style
from support.commands import Shell

PLAIN = Style(boxes=False)


def answered(shell: Shell, usage: str = "null") -> str:
    """A session with a question and an answer that called a tool."""
    session = shell("new", "--title", "Release").lines[0]
    answer = (
        '{"type":"message","message":{"role":"assistant","provider":"acme","model":"one","usage":%s,'
        '"content":[{"type":"toolCall","id":"c","name":"read","arguments":{}}]}}'
    )
    shell("append", session, "--user", "What is left?", "--json-entry", answer % usage)
    return session


@pytest.mark.parametrize(
    ("share", "drawn"),
    [(0, "    "), (0.001, "▏   "), (0.5, "██  "), (0.53, "██▏ "), (0.999, "███▉"), (1, "████"), (7, "████")],
)
def test_a_bar_is_filled_to_an_eighth_of_a_column(share: float, drawn: str) -> None:
    assert bar(share, 4, Style()) == drawn.replace(" ", "░")


@pytest.mark.parametrize(("share", "drawn"), [(0, "...."), (0.01, "#..."), (0.99, "###."), (1, "####")])
def test_a_bar_is_drawn_without_boxes_too(share: float, drawn: str) -> None:
    assert bar(share, 4, PLAIN) == drawn


@pytest.mark.parametrize(
    ("share", "said"),
    [(0, "0 %"), (0.0001, "<0.1 %"), (0.006, "0.6 %"), (0.0996, "10 %"), (0.77, "77 %"), (1.2, "120 %")],
)
def test_percents(share: float, said: str) -> None:
    assert percent(share) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0"), (9_999, "9,999"), (64_800, "64.8 k"), (200_000, "200 k"), (999_900, "1.0 M"),
     (1_400_000_000, "1.4 G"), (10**14, "100.0 T")],
)  # fmt: skip
def test_amounts(count: int, said: str) -> None:
    assert human.amount(count) == said


@pytest.mark.parametrize(
    ("dollars", "said"),
    [(0, "$0.00"), (0.00001, "<$0.0001"), (0.00424, "$0.0042"), (1.239, "$1.24"), (1310.4, "$1,310")],
)
def test_money(dollars: float, said: str) -> None:
    assert human.money(dollars) == said


def test_statistics_are_drawn(shell: Shell) -> None:
    usage = '{"input":1200,"output":40,"totalTokens":1240,"cost":{"total":0.0042}}'
    session = answered(shell, usage)
    shown = shell("stats", session).out
    context, _, head, *rest = shown.splitlines()
    assert context.startswith("context  ▏░")
    assert context.endswith("0.6 %, 1,240 of 200 k tokens")
    assert head.split() == ["session"]
    assert {"entries": "3", "tool calls": "1", "tokens in total": "1,240", "cost": "$0.0042"}.items() <= {
        line[:21].strip(): line[21:].strip() for line in rest
    }.items()
    assert "████████████  100 %  $0.0042  acme/one  1,240 tokens, 1 response" in rest
    assert "████████████  1  read" in rest


def test_path_and_tree_stand_side_by_side_where_they_differ(shell: Shell) -> None:
    session = answered(shell)
    shell("append", session, "--root", "--user", "Another start")
    lines = shell("stats", session).lines
    assert lines[2].split() == ["path", "whole", "tree"]
    assert lines[3].split() == ["entries", "1", "4"]


def test_an_empty_session_has_statistics_too(shell: Shell) -> None:
    session = shell("new").lines[0]
    assert shell("stats", session).lines[-1].split() == ["entries", "0"]


def test_a_state_is_recorded_and_shown(shell: Shell) -> None:
    session = shell("new", "--tag", "ci").lines[0]
    shell("state", session, "--decide", "A buffer", "--because", "It is simple", "--tokens", "1200")
    shell("state", session, "--artifact", "notes=/work/notes=1.md", "--plan", "Fix, then test")
    shell("state", session, "--agent", "scout", "--model", "acme/one")

    shown: dict[str, Any] = dict(line.split(maxsplit=1) for line in shell("state", session).lines)

    assert shown | {"updated": ""} == {
        "session": session, "plan": "Fix, then test", "decided": "A buffer (now, because: It is simple)",
        "artifact": "notes: /work/notes=1.md", "used": "0 turns, 1,200 tokens", "model": "acme/one",
        "agent": "scout", "tags": "#ci", "updated": "",
    }  # fmt: skip
    assert "plan" not in shell("state", session, "--plan", "").out


def test_a_task_begins_with_lines_for_a_system_prompt(shell: Shell) -> None:
    session = shell("new").lines[0]
    begun = shell("state", session, "--begin-task", "--decide", "A buffer")
    assert begun.lines == [f"Session ID: {session}", "Turns: 1", "Recent decision: A buffer"]
    assert begun.err == ""


def test_a_state_above_its_limits_says_so_and_is_pruned(shell: Shell) -> None:
    session = shell("new").lines[0]
    assert "prunes it" in shell("state", session, "--tokens", "150001", "--artifact", "a=/a").err
    assert "pruned" in shell("state", session, "--begin-task").err
    shown = shell("state", session).out
    assert "pruned" in shown
    assert "artifact" not in shown


def test_the_state_of_an_earlier_entry_is_shown(shell: Shell) -> None:
    session = shell("new").lines[0]
    first = shell("state", session, "--plan", "one", "--json").json["recordId"]
    shell("state", session, "--plan", "two", "--compress")
    assert "plan     one" in shell("state", session, "--leaf", first).lines


@pytest.mark.parametrize(
    "words",
    [
        ["--because", "x"], ["--artifact", "notes"], ["--artifact", "=x"], ["--plan", "a", "--plan", "b"],
        ["--begin-task", "--plan", "x"], ["--leaf", "e1", "--plan", "x"], ["--tokens", "many"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(words: list[str], shell: Shell) -> None:
    assert shell.run("state", "any-session", *words).code == 2


def test_json_is_what_the_daemon_sent(shell: Shell) -> None:
    session = answered(shell)
    for words, field in (
        (["stats", session], "context"), (["state", session], "leafId"),
        (["state", session, "--tokens", "1"], "recordId"), (["state", session, "--begin-task"], "pruned"),
    ):  # fmt: skip
        assert field in shell(*words, "--json").json
