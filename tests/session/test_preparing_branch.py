"""Preparing a move of the leaf: what it leaves behind, where one goes on, what a summarizer is asked."""

import pytest

from sessiond.session.compaction.branching import BranchPreparation, prepare_branch
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


def moved(log: Loaded, old: str | None, target: str | None, most: int | None = None) -> BranchPreparation:
    rows = [NONE if name is None else log.row(name) for name in (old, target)]
    return steps.run(prepare_branch(log.tree, rows[0], rows[1], log.read, most))


def two_branches(*tried: Line) -> Loaded:
    """q1, a1, and then what was tried, or q2, a2."""
    first = (user("q1", id="q1"), assistant("a1", id="a1"))
    return loaded(header(), *first, *tried, user("q2", id="q2", parent="a1"), assistant("a2", id="a2"))


TRIED = (user("try this", id="t1"), assistant("tried", id="t2"))


def test_the_entries_left_behind_lie_below_the_common_ancestor() -> None:
    plan = moved(two_branches(*TRIED), "t2", "a2")
    assert (plan.common_ancestor_id, plan.entry_ids_to_summarize) == ("a1", ("t1", "t2"))
    assert (plan.target_id, plan.previous_leaf_id) == ("a2", "t2")
    assert plan.prompt is not None
    assert "<conversation>\n[User]: try this\n\n[Assistant]: tried\n</conversation>" in plan.prompt


def test_going_on_from_a_descendant_leaves_nothing_behind() -> None:
    plan = moved(two_branches(*TRIED), "a1", "t2")
    assert (plan.common_ancestor_id, plan.entry_ids_to_summarize, plan.prompt) == ("a1", (), None)


def test_going_to_before_the_first_entry_leaves_all_behind() -> None:
    plan = moved(two_branches(*TRIED), "t2", None)
    assert (plan.common_ancestor_id, plan.resume_at_id, plan.target_id) == (None, None, None)
    assert plan.entry_ids_to_summarize == ("q1", "a1", "t1", "t2")


def test_coming_from_before_the_first_entry_leaves_nothing_behind() -> None:
    assert moved(two_branches(*TRIED), None, "a2").entry_ids_to_summarize == ()


def test_the_walk_does_not_stop_at_a_compaction() -> None:
    plan = moved(
        two_branches(*TRIED, compaction("So far.", "t1", id="k"), assistant("on", id="t3")), "t3", "a2"
    )
    assert plan.entry_ids_to_summarize == ("t1", "t2", "k", "t3")
    assert plan.prompt is not None
    assert "So far." in plan.prompt


@pytest.mark.parametrize(
    ("target", "resume_at_id", "text"),
    [("q2", "a1", "q2"), ("a2", "a2", None), ("q1", None, "q1"), ("n", "t2", "edit me")],
)
def test_words_of_a_person_are_there_to_be_edited(
    target: str, resume_at_id: str | None, text: str | None
) -> None:
    note = entry("custom_message", id="n", customType="note", content="edit me", display=True)
    plan = moved(two_branches(*TRIED, note), "t2", target)
    assert (plan.resume_at_id, plan.editor_text) == (resume_at_id, text)


def test_leaf_lines_and_labels_in_a_path_disturb_nothing() -> None:
    log = loaded(
        header(), user("q1", id="q1"), assistant("a1", id="a1"), leaf("a1", id="l1"), user("t", id="t1", parent="l1"),
        label("t1", "here", id="b1"), leaf("b1", id="l2"), user("s", id="s1", parent="l1"),
    )  # fmt: skip
    plan = moved(log, "l2", "s1")
    assert (plan.common_ancestor_id, plan.entry_ids_to_summarize) == ("a1", ("t1", "b1"))
    assert moved(log, "t1", "s1").resume_at_id == "a1"
    assert moved(log, "t1", "l2").resume_at_id == "b1"


# --- what a summarizer is shown ----------------------------------------------------------------------------


def tens(*names: str) -> tuple[Line, ...]:
    return tuple(user(f"{name} {TEN}"[:40], id=name) for name in names)


def test_the_newest_entries_are_shown_that_fit() -> None:
    plan = moved(two_branches(*tens("t1", "t2", "t3")), "t3", "a2", most=20)
    assert plan.prompt is not None
    assert ("t1 " in plan.prompt, "t2 " in plan.prompt, plan.tokens) == (False, True, 20)
    assert plan.entry_ids_to_summarize == ("t1", "t2", "t3")


def test_the_newest_entry_is_shown_even_if_it_does_not_fit() -> None:
    plan = moved(two_branches(*tens("t1", "t2")), "t2", "a2", most=1)
    assert (plan.tokens, plan.prompt is None) == (10, False)


@pytest.mark.parametrize(("most", "tokens"), [(19, 20), (11, 10)])
def test_a_summary_is_let_in_beyond_the_budget_while_nine_tenths_are_not_used(most: int, tokens: int) -> None:
    summary = entry("branch_summary", id="b", fromId="a1", summary=TEN)
    plan = moved(two_branches(*tens("t1"), summary, *tens("t2")), "t2", "a2", most=most)
    assert plan.tokens == tokens


def test_results_are_left_to_their_calls_and_system_messages_to_the_agent() -> None:
    call = assistant([tool_call("read", {"path": "a.py"})], id="c")
    plan = moved(two_branches(message("system", TEN), call, tool_result(TEN, id="r")), "r", "a2")
    assert plan.prompt is not None
    assert TEN not in plan.prompt
    assert '[Assistant tool calls]: read(path="a.py")' in plan.prompt


def test_results_alone_are_nothing_to_summarize() -> None:
    plan = moved(two_branches(tool_result("r", id="r")), "r", "a2")
    assert (plan.entry_ids_to_summarize, plan.prompt) == (("r",), None)


def test_an_edit_among_what_is_left_behind_counts() -> None:
    edit = entry("context_edit", id="x", targetId="t1", replacement={"content": "better"})
    plan = moved(two_branches(*TRIED, edit), "x", "a2")
    assert plan.prompt is not None
    assert ("better" in plan.prompt, "try this" in plan.prompt) == (True, False)


def test_files_are_those_of_calls_and_of_summaries_within() -> None:
    details = {"readFiles": ["sub.py", "both.py"], "modifiedFiles": ["mod.py"]}
    tried = (
        assistant([tool_call("read", {"path": "a.py"}), tool_call("edit", {"path": "both.py"})], id="c"),
        entry("branch_summary", id="b", fromId="a1", summary="s", details=details),
        assistant([tool_call("write", {"path": "new.py"})], id="w"),
    )
    plan = moved(two_branches(*tried), "w", "a2", most=1)
    assert plan.file_operations == TouchedPaths(("a.py", "sub.py"), ("both.py", "mod.py", "new.py"))
