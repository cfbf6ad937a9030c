"""The sessions that are written for pi and oh-my-pi."""

from dataclasses import replace

import pytest

from support.logs import assistant, compaction, entry, leaf, user
from support.native_sessions import THOUGHT, exported, native, with_added_text


@pytest.mark.parametrize("agent", ["pi", "oh-my-pi"])
def test_pi_and_oh_my_pi_have_the_entries_of_the_path(agent: str) -> None:
    whole = exported(
        user("one"),
        assistant("two"),
        leaf("e1"),
        user("three", parent="e3"),
        compaction("s", "e4"),
        title="T",
    )
    lines, _ = native(agent, whole)
    assert [line["type"] for line in lines] == [
        "session", "message", "message", "compaction", "session_info" if agent == "pi" else "title_change",
    ]  # fmt: skip
    assert [line["parentId"] for line in lines[1:]] == [None, *(line["id"] for line in lines[1:-1])]
    assert lines[0]["version"] == 3


@pytest.mark.parametrize("agent", ["pi", "oh-my-pi"])
def test_an_answer_in_pi_always_has_a_usage(agent: str) -> None:
    lines, _ = native(agent, exported(user("one"), assistant("two")))
    assert lines[2]["message"]["usage"]["totalTokens"] == 0


def test_a_reset_is_applied_for_pi_which_does_not_know_it() -> None:
    whole = exported(user("before"), entry("reset_boundary"), user("after"))
    lines, losses = native("pi", whole)
    assert "before" not in str(lines)
    assert losses.lost["entry before a reset"] == 1
    assert "before" in str(native("oh-my-pi", whole)[0])


def test_edits_are_applied_for_oh_my_pi_which_does_not_know_them() -> None:
    whole = exported(
        user("secret"), assistant("wrong"), entry("context_edit", targetId="e1", replacement=None),
        entry("context_edit", targetId="e2", replacement={"content": "right"}),
    )  # fmt: skip
    lines, _ = native("oh-my-pi", whole)
    assert [line["type"] for line in lines] == ["session", "message"]
    assert lines[1]["message"]["content"] == [{"type": "text", "text": "right"}]


@pytest.mark.parametrize("agent", ["pi", "oh-my-pi"])
def test_a_session_of_pi_stays_complete_in_pi(agent: str) -> None:
    whole = replace(with_added_text(), agent="pi")
    lines, losses = native(agent, whole)
    assert [line.get("id") for line in lines[1:]] == [line["id"] for line in whole.entries]
    assert all(
        text in str(lines) for text in ("reads PDF", "The user opened", "You review", THOUGHT["thinking"])
    )
    assert not losses.lost
