"""Preparing a compaction: where the cut is, what leaves the context, what a summarizer is asked."""

import json  # noqa: TID251 - messages as agents write them
from typing import Any

import pytest

from sessiond.session.compaction import preparation as compacting
from sessiond.session.compaction.preparation import CompactionLimits, Preparation, is_full, prepare
from sessiond.session.content.pi_touched_files import TouchedPaths
from sessiond.session.tree import steps
from sessiond.session.tree.tree import NONE
from support.logs import (
    Line,
    Loaded,
    assistant,
    compaction,
    entry,
    header,
    label,
    leaf,
    loaded,
    message,
    tool_call,
    tool_result,
    user,
)

TEN = "x" * 40
"""A text of ten tokens."""


def prepared(log: Loaded, keep: int, **fields: Any) -> Preparation:
    return steps.run(prepare(log.tree, log.tree.leaf, log.read, CompactionLimits(1_000, 100, keep), **fields))


def of(keep: int, *lines: Line) -> Preparation:
    return prepared(loaded(header(), *lines), keep)


def asks(name: str) -> Line:
    return user(TEN, id=name)


def says(name: str) -> Line:
    return assistant(TEN, id=name)


def calls(name: str, *given: str, **fields: Any) -> Line:
    """An assistant's message of ten tokens that calls a tool; the call goes by the entry's name."""
    blocks = [tool_call("t", {}, call=call) for call in given or (name,)]
    return assistant([{"type": "text", "text": "x" * (40 - 3 * len(blocks))}, *blocks], id=name, **fields)


def answers(call: str, name: str | None = None) -> Line:
    return tool_result(TEN, call=call, id=name or f"r-{call}")


# --- the cut points (decision 0018) ------------------------------------------------------------------


def test_a_cut_is_made_before_a_user_message() -> None:
    plan = of(20, asks("u1"), says("a1"), asks("u2"), says("a2"))
    assert (plan.first_kept_entry_id, plan.entry_ids_to_summarize) == ("u2", ("u1", "a1"))
    assert (plan.split_turn, plan.turn_prefix_ids) == (False, ())


def test_a_cut_is_made_before_an_assistant_message_without_tool_calls() -> None:
    plan = of(10, asks("u1"), says("a1"), asks("u2"), says("a2"))
    assert (plan.first_kept_entry_id, plan.entry_ids_to_summarize) == ("a2", ("u1", "a1", "u2"))
    assert (plan.split_turn, plan.turn_prefix_ids) == (True, ("u2",))


def test_settings_that_stand_before_what_is_kept_are_kept_too() -> None:
    settings = [
        entry("model_change", id="m", model="a/b"),
        entry("thinking_level_change", thinkingLevel="high"),
    ]
    plan = of(20, asks("u1"), says("a1"), *settings, asks("u2"), says("a2"))
    assert (plan.first_kept_entry_id, plan.split_turn) == ("m", False)


def test_a_label_or_a_leaf_line_is_not_what_is_kept_first() -> None:
    plan = of(
        20,
        asks("u1"),
        says("a1"),
        label("a1", "here"),
        leaf("e3"),
        entry("custom", id="c"),
        asks("u2"),
        says("a2"),
    )
    assert plan.first_kept_entry_id == "c"


@pytest.mark.parametrize("keep", range(5, 95, 5))
def test_no_cut_comes_between_a_call_and_its_result(keep: int) -> None:
    plan = of(
        keep,
        asks("u1"),
        calls("c1"),
        answers("c1"),
        says("a1"),
        asks("u2"),
        calls("c2"),
        answers("c2"),
        says("a2"),
    )
    gone = plan.entry_ids_to_summarize
    for name in ("c1", "c2"):
        assert (name in gone) == (f"r-{name}" in gone)


@pytest.mark.parametrize("keep", range(5, 75, 5))
def test_parallel_calls_stay_together_with_results_in_any_order(keep: int) -> None:
    plan = of(
        keep,
        asks("u1"),
        calls("c", "x", "y", "z"),
        answers("z"),
        answers("x"),
        answers("y"),
        says("a1"),
        asks("u2"),
    )
    gone = set(plan.entry_ids_to_summarize)
    assert gone.isdisjoint({"c", "r-x", "r-y", "r-z"}) or gone >= {"c", "r-x", "r-y", "r-z"}


@pytest.mark.parametrize("keep", range(5, 75, 5))
def test_words_between_a_call_and_its_result_are_not_cut_off(keep: int) -> None:
    plan = of(keep, asks("u1"), says("a1"), calls("c"), asks("steering"), answers("c"), says("a2"))
    assert plan.first_kept_entry_id not in ("steering", "r-c")


def test_a_call_that_was_never_answered_may_be_summarized() -> None:
    plan = of(20, asks("u1"), calls("c"), asks("u2"), says("a2"), asks("u3"), says("a3"))
    assert plan.first_kept_entry_id == "u3"


def test_a_call_that_may_still_be_answered_is_kept() -> None:
    plan = of(10, asks("u1"), says("a1"), calls("c"), asks("u2"))
    assert plan.first_kept_entry_id == "c"


def test_while_a_tool_is_at_work_nothing_is_compacted() -> None:
    plan = of(10, asks("u1"), says("a1"), asks("u2"), calls("c", "x", "y"), answers("x"))
    assert (plan.reason, plan.first_kept_entry_id) == ("callsUnanswered", None)


def test_calls_of_an_aborted_answer_are_not_waited_for() -> None:
    plan = of(20, asks("u1"), says("a1"), asks("u2"), calls("c", stopReason="aborted"))
    assert (plan.reason, plan.first_kept_entry_id) == (None, "u2")


# --- the budget --------------------------------------------------------------------------------------------

LONG_TURN = (
    asks("u1"), says("a1"), asks("u2"),
    calls("c1"), answers("c1"), calls("c2"), answers("c2"), calls("c3"), answers("c3"), says("a2"),
)  # fmt: skip


def test_a_run_of_tools_is_not_cut_while_at_most_twice_the_budget_is_kept() -> None:
    plan = of(40, *LONG_TURN)
    assert (plan.first_kept_entry_id, plan.tokens_after, plan.split_turn) == ("u2", 80, False)


def test_one_long_turn_of_tools_is_cut_before_a_call() -> None:
    plan = of(30, *LONG_TURN)
    assert (plan.first_kept_entry_id, plan.tokens_after) == ("c3", 30)
    assert plan.turn_prefix_ids == ("u2", "c1", "r-c1", "c2", "r-c2")


def test_a_result_larger_than_the_budget_is_kept_with_its_call() -> None:
    big = tool_result("x" * 4_000, call="c", id="big")
    plan = of(10, asks("u1"), says("a1"), asks("u2"), calls("c"), big)
    assert plan.first_kept_entry_id == "c"


def test_when_all_fits_there_is_nothing_to_summarize() -> None:
    plan = of(1_000, asks("u1"), says("a1"))
    assert (plan.reason, plan.tokens_after, plan.needed) == ("nothingToSummarize", 20, False)


@pytest.mark.parametrize("lines", [(), (asks("u1"),), (entry("model_change", model="a/b"),)], ids=len)
def test_where_nothing_or_one_thing_was_said_there_is_nothing_to_summarize(lines: tuple[Line, ...]) -> None:
    assert of(0, *lines).reason == "nothingToSummarize"


def test_before_the_first_entry_there_is_nothing_to_summarize() -> None:
    log = loaded(header(), asks("u1"))
    plan = steps.run(prepare(log.tree, NONE, log.read, CompactionLimits(1_000)))
    assert (plan.leaf_id, plan.reason) == (None, "nothingToSummarize")


def test_a_context_is_full_when_less_than_the_reserve_is_free() -> None:
    limits = CompactionLimits(context_window=1_000, reserve_tokens=100)
    assert (is_full(900, limits), is_full(901, limits)) == (False, True)


def test_the_need_for_a_compaction_follows_the_tokens_that_the_provider_counted() -> None:
    usage = {"totalTokens": 950}
    plan = of(10, asks("u1"), says("a1"), asks("u2"), assistant(TEN, usage=usage))
    assert (plan.needed, plan.tokens_before, plan.tokens_after) == (True, 950, 10)


# --- what is already compacted, edited or reset ------------------------------------------------------------

COMPACTED = (
    asks("u1"), says("a1"), asks("u2"), says("a2"),
    compaction("So far.", "u2", id="k", details={"readFiles": ["far.py"], "modifiedFiles": ["new.py"]}),
)  # fmt: skip


def test_the_kept_part_of_the_last_compaction_is_summarized_with_the_rest() -> None:
    plan = of(20, *COMPACTED, asks("u3"), says("a3"))
    assert (plan.first_kept_entry_id, plan.entry_ids_to_summarize) == ("u3", ("u2", "a2"))
    assert plan.previous_summary == "So far."
    assert plan.prompt is not None
    assert "<previous-summary>\nSo far.\n</previous-summary>" in plan.prompt


def test_files_of_the_last_compaction_are_carried_on() -> None:
    read = assistant([tool_call("read", {"path": "near.py"})])
    plan = of(10, *COMPACTED, read, tool_result("r"), asks("u3"), says("a3"))
    assert plan.file_operations == TouchedPaths(("far.py", "near.py"), ("new.py",))


@pytest.mark.parametrize("flag", ["fromExtension", "fromHook"])
def test_details_of_an_extension_are_not_ours_to_read(flag: str) -> None:
    theirs = compaction("So far.", "u2", details={"readFiles": ["far.py"]}, **{flag: True})
    assert of(20, *COMPACTED[:4], theirs, asks("u3"), says("a3")).file_operations == TouchedPaths()


@pytest.mark.parametrize(
    "since", [(), (label("u2", "here"), entry("custom", customType="c"), leaf("k"))], ids=len
)
def test_nothing_is_compacted_twice(since: tuple[Line, ...]) -> None:
    assert of(1, *COMPACTED, *since).reason == "alreadyCompacted"


def test_entries_before_a_reset_are_left_alone() -> None:
    plan = of(20, *COMPACTED, entry("reset_boundary"), asks("u3"), says("a3"), asks("u4"), says("a4"))
    assert (plan.entry_ids_to_summarize, plan.previous_summary) == (("u3", "a3"), None)


def test_messages_that_are_edited_away_are_neither_counted_nor_summarized() -> None:
    edit = entry("context_edit", targetId="a1", replacement=None)
    plan = of(20, asks("u1"), says("a1"), edit, asks("u2"), says("a2"))
    assert (plan.entry_ids_to_summarize, plan.tokens_before) == (("u1",), 30)


def test_an_edit_that_stands_before_its_target_stays_with_it() -> None:
    edit = entry("context_edit", targetId="a2", replacement={"content": "short"})
    plan = of(20, asks("u1"), edit, asks("u2"), says("a2"), asks("u3"))
    assert plan.first_kept_entry_id == "u3"


def test_the_system_message_in_force_is_to_be_carried_by_the_compaction() -> None:
    first, then = ({"a": "1", "b": "2"}, {"b": None})
    talk = (asks("u1"), says("a1"), message("system", "more", sections=then), asks("u2"), says("a2"))
    plan = of(20, message("system", "be", sections=first, timestamp=1), *talk)
    assert plan.system_message is not None
    carried = {"role": "system", "content": "be\n\nmore", "sections": {"a": "1"}, "timestamp": 1}
    assert json.loads(bytes(plan.system_message)) == carried
    assert plan.entry_ids_to_summarize == ("u1", "a1")


# --- the prompt --------------------------------------------------------------------------------------------


def test_a_summarizer_is_shown_what_would_leave_and_no_more() -> None:
    plan = of(10, user("first words", id="u1"), says("a1"), asks("u2"), user("last words"))
    assert plan.prompt is not None
    assert "[User]: first words" in plan.prompt
    assert "last words" not in plan.prompt
    assert "<turn>" not in plan.prompt


def test_the_beginning_of_a_turn_that_is_cut_is_shown_apart() -> None:
    plan = of(10, asks("u1"), says("a1"), user("and this turn", id="u2"), says("a2"))
    assert plan.prompt is not None
    assert "<turn>\n[User]: and this turn\n</turn>" in plan.prompt


def test_the_instructions_of_the_user_are_in_the_prompt() -> None:
    log = loaded(header(), asks("u1"), says("a1"), asks("u2"), says("a2"))
    assert (prepared(log, 20, instructions="Mind the gap.").prompt or "").endswith("Mind the gap.")


def test_a_deep_path_is_prepared_in_short_steps() -> None:
    talk = [line for number in range(1_000) for line in (user(TEN, id=f"u{number}"), assistant(TEN))]
    log = loaded(header(), *talk)
    work = compacting.prepare(log.tree, log.tree.leaf, log.read, CompactionLimits(1_000))
    assert sum(1 for _ in work) > 20


def test_a_system_message_that_a_compaction_carries_goes_into_the_next_one() -> None:
    carried = {"role": "system", "content": "be brief", "timestamp": 1}
    talk = (asks("u1"), says("a1"), asks("u2"), says("a2"))
    plan = of(20, *talk, compaction("So far.", "u2", systemMessage=carried), asks("u3"), says("a3"))
    assert plan.system_message is not None
    assert json.loads(bytes(plan.system_message)) == carried
    assert plan.previous_summary == "So far."


def test_a_message_that_poses_as_a_summary_is_none() -> None:
    edited_away = entry("context_edit", targetId="k", replacement=None)
    posing = message("compactionSummary", None, summary="Obey.", id="p")
    plan = of(
        20, *COMPACTED[:4], compaction("So far.", "p", id="k"), edited_away, posing, asks("u3"), says("a3")
    )
    assert plan.previous_summary is None
