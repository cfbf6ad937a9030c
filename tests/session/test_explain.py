"""Why each entry of a path is in the agents' own context, or not."""

import pytest

from sessiond.session.context import tokens
from sessiond.session.formats import explain
from sessiond.session.formats.explain import ExplainedEntry
from sessiond.session.formats.reasons import REASONS
from sessiond.session.tree import steps
from support.logs import (
    Line,
    assistant,
    compaction,
    entry,
    header,
    label,
    leaf,
    loaded,
    message,
    tool_result,
    user,
)


def explained(*lines: Line, leaf_id: str | None = None) -> list[ExplainedEntry]:
    log = loaded(header(), *lines)
    row = log.tree.leaf if leaf_id is None else log.row(leaf_id)
    return steps.run(explain.explain(log.tree, row, log.context(leaf_id), log.read, None, None))


def reasons(*lines: Line, leaf_id: str | None = None) -> list[str]:
    return [row.reason for row in explained(*lines, leaf_id=leaf_id)]


def test_a_message_is_said_at_its_place() -> None:
    first, second = explained(user("Hello"), assistant("Hi"))
    assert first == ExplainedEntry(
        "e1", "message", "user", "in", "asStored", "The context has the entry as it is stored.", 2, 0
    )
    assert (second.role, second.message_index) == ("assistant", 1)


def test_only_the_path_is_explained() -> None:
    lines = (user("Hi"), assistant("One"), assistant("Two", parent="e1"))
    assert [row.entry_id for row in explained(*lines, leaf_id="e2")] == ["e1", "e2"]


def test_settings_notes_and_what_is_not_known_are_not_for_a_model() -> None:
    assert reasons(
        user("Hi"), entry("model_change", model="a/b"), entry("thinking_level_change", thinkingLevel="high"),
        label("e1", "start"), entry("custom", customType="x"), entry("from_the_future"), leaf("e6"), user("?"),
    ) == [
        "asStored", "settings", "settings", "notForModel", "notForModel", "notForModel", "notForModel", "asStored",
    ]  # fmt: skip


def test_a_compaction_stands_for_what_it_does_not_keep() -> None:
    rows = explained(user("One"), assistant("a"), user("Two"), compaction("So far.", "e3"), user("Three"))
    assert [(row.reason, row.fate, row.message_index) for row in rows] == [
        ("compactedAway", "out", None),
        ("compactedAway", "out", None),
        ("keptByCompaction", "in", 1),
        ("compaction", "in", 0),
        ("asStored", "in", 2),
    ]
    assert [row.tokens > 0 for row in rows] == [False, False, True, True, True]


def test_of_two_compactions_the_older_one_is_silent() -> None:
    lines = (user("One"), compaction("a", "e1"), user("Two"), compaction("b", "e3"), user("Three"))
    assert reasons(*lines) == [
        "compactedAway",
        "olderCompaction",
        "keptByCompaction",
        "compaction",
        "asStored",
    ]
    over_it = (user("One"), compaction("a", "e1"), user("Two"), compaction("b", "e1"))
    assert reasons(*over_it) == ["keptByCompaction", "olderCompaction", "keptByCompaction", "compaction"]


def test_a_reset_leaves_out_what_came_before_also_a_compaction() -> None:
    lines = (user("One"), compaction("a", "e1"), entry("reset_boundary"), user("Two"))
    assert reasons(*lines) == ["reset", "reset", "notForModel", "asStored"]


def test_edits_change_an_entry_or_leave_it_out() -> None:
    def edit(target: str, replacement: object) -> Line:
        return entry("context_edit", targetId=target, replacement=replacement)

    lines = (user("One"), user("Two"), edit("e1", {"content": "Uno"}), edit("e2", None))
    assert reasons(*lines) == ["edited", "editedOut", "notForModel", "notForModel"]


def test_a_message_without_content_has_a_reason_of_its_own() -> None:
    assert reasons(
        message("system", "Old"), user("Hi"), entry("branch_summary", fromId="e1", summary=""),
        entry("message", message=7), compaction("s", "e1", systemMessage={"role": "system", "content": "x"}),
    ) == ["systemReplaced", "keptByCompaction", "emptySummary", "notAMessage", "compaction"]  # fmt: skip


def test_the_tokens_of_the_rows_add_up_to_the_estimate_of_the_context() -> None:
    lines = (
        user("One" * 50),
        assistant("Two" * 70),
        tool_result("x" * 99),
        compaction("s" * 40, "e2"),
        user("?"),
    )
    log = loaded(header(), *lines)
    context = log.context()
    counted = steps.run(tokens.count(log.tree, log.tree.leaf, context))
    assert counted.estimated
    assert sum(row.tokens for row in explained(*lines)) == counted.tokens


def test_an_empty_session_has_nothing_to_explain() -> None:
    assert explained() == []


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_is_a_word_and_a_sentence(reason: str) -> None:
    fate, because = REASONS[reason]
    assert reason.isidentifier()
    assert fate in ("in", "changed", "out")
    assert because.endswith(".")
