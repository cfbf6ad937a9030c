"""The safety rules of compaction, one by one (decision 0018): what is refused, and what is let through."""

import json  # noqa: TID251 - lines as agents write them

import pytest

from sessiond.session.compaction import safety
from sessiond.session.tree.tree import NewRow
from support.logs import (
    Line,
    Loaded,
    assistant,
    compaction,
    entry,
    header,
    loaded,
    time_of,
    tool_call,
    tool_result,
    user,
)


def calling(*calls: str, **fields: object) -> Line:
    return assistant([tool_call("read", {}, call=call) for call in calls], **fields)


def rule(log: Loaded, first_kept: str) -> str | None:
    """The rule that a compaction at the leaf would break."""
    line = {
        **compaction("in short", first_kept),
        "id": "new",
        "parentId": log.tree.leaf_id,
        "timestamp": time_of(9),
    }
    new = NewRow(json.dumps(line).encode() + b"\n", "compaction", "new", log.tree.leaf_id)
    found = safety.find_violation(log.tree, [], new, lambda row: log.read([row])[0])
    return None if found is None else found.rule


TALK = (
    user("1", id="u1"), calling("x", "y", id="c1"), tool_result("r", call="y", id="ry"),
    tool_result("r", call="x", id="rx"), assistant("done", id="a1"), user("2", id="u2"),
)  # fmt: skip


# --- no tool splitting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("answered", [2, 3])
def test_a_compaction_is_never_placed_between_a_call_and_its_result(answered: int) -> None:
    assert rule(loaded(header(), *TALK[:answered]), "u1") == "noToolSplit"


@pytest.mark.parametrize("kept", ["ry", "rx"])
def test_a_result_is_never_the_first_that_is_kept(kept: str) -> None:
    assert rule(loaded(header(), *TALK), kept) == "noToolSplit"


@pytest.mark.parametrize("kept", ["u1", "c1", "a1", "u2", "new"])
def test_a_call_and_its_results_stay_or_go_together(kept: str) -> None:
    assert rule(loaded(header(), *TALK), kept) is None


@pytest.mark.parametrize("between", ["user", "custom_message"])
def test_words_between_a_call_and_its_result_are_no_place_for_a_cut(between: str) -> None:
    steering = {
        "user": user("hurry", id="s"),
        "custom_message": entry("custom_message", id="s", customType="note", content="hurry", display=True),
    }
    log = loaded(
        header(), user("1"), calling("x"), steering[between], tool_result("r", call="x"), assistant("done")
    )
    assert rule(log, "s") == "noToolSplit"


def test_a_call_that_may_still_be_answered_is_not_taken_away() -> None:
    log = loaded(header(), user("1"), calling("x", id="c"), user("hurry", id="s"))
    assert rule(log, "s") == "noToolSplit"
    assert rule(log, "c") is None


@pytest.mark.parametrize(
    "gone_on", [(calling("x", stopReason="aborted"),), (calling("x"), user("u"), assistant("a"))]
)
def test_a_call_that_nobody_will_answer_holds_nothing_up(gone_on: tuple[Line, ...]) -> None:
    assert rule(loaded(header(), user("1"), *gone_on, user("2", id="u2")), "u2") is None


def test_the_same_id_may_be_used_again() -> None:
    log = loaded(
        header(), user("1"), calling("x"), tool_result("r", call="x"), user("2", id="u2"), calling("x"),
        tool_result("r", call="x"), assistant("done"),
    )  # fmt: skip
    assert rule(log, "u2") is None


def test_a_result_whose_call_is_not_in_the_context_any_more_holds_nothing_up() -> None:
    log = loaded(
        header(), user("1"), calling("x"), entry("reset_boundary"), user("2"), user("3", id="u3"),
        tool_result("r", call="x"), assistant("done"),
    )  # fmt: skip
    assert rule(log, "u3") is None


def test_a_call_that_is_not_in_the_context_any_more_is_not_waited_for() -> None:
    log = loaded(header(), user("1"), calling("x"), compaction("all", "k", id="k"), entry("custom", id="c"))
    assert rule(log, "c") is None


# --- what is kept lies on the path -------------------------------------------------------------------------


@pytest.mark.parametrize("kept", ["nobody", "aside", ""])
def test_the_kept_entries_lie_on_the_path(kept: str) -> None:
    log = loaded(
        header(), *TALK, user("aside", id="aside", parent="u1"), assistant("on", id="on", parent="u2")
    )
    assert rule(log, kept) == "firstKeptOnPath"
