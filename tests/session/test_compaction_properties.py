"""For any tree and any limits: a proposed cut is safe, and what it keeps is exactly what is then seen."""

import json  # noqa: TID251  (answers may hold lone surrogates)
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.session.compaction import preparation, safety
from sessiond.session.compaction.branching import prepare_branch
from sessiond.session.compaction.preparation import CompactionLimits, Preparation
from sessiond.session.context import tokens
from sessiond.session.context.context import build_context
from sessiond.session.tree import steps
from sessiond.session.tree.tree import NONE, NewRow
from support import logs
from support.histories import histories, hostile_logs
from support.logs import Loaded

pytestmark = pytest.mark.slow

KEEPS = st.integers(0, 60)
Said = tuple[str, dict[str, Any]]
"""A message and the entry that it came from."""


def prepared(log: Loaded, row: int, keep: int) -> Preparation:
    return steps.run(preparation.prepare(log.tree, row, log.read, CompactionLimits(1_000, 100, keep)))


def drawn_row(data: st.DataObject, log: Loaded) -> int:
    rows = [row for row in range(1, len(log.tree)) if log.tree.is_entry(row)]
    return data.draw(st.sampled_from([log.tree.leaf, *rows[-6:]]), label="row")


def compacted(log: Loaded, row: int, plan: Preparation) -> bytes:
    """The line of the compaction that a preparation proposes."""
    carried = {} if plan.system_message is None else {"systemMessage": json.loads(bytes(plan.system_message))}
    line = logs.compaction("in short", plan.first_kept_entry_id, **carried)
    above = None if row == NONE else log.tree.id(row)
    return json.dumps({**line, "id": "new", "parentId": above, "timestamp": logs.time_of(9)}).encode() + b"\n"


def spoken(log: Loaded, row: int) -> list[Said]:
    context = steps.run(build_context(log.tree, row, log.read))
    said = zip(context.entry_ids, context.messages, strict=True)
    return [(entry_id, json.loads(bytes(message))) for entry_id, message in said]


def calls_in(message: dict[str, Any]) -> list[str]:
    blocks = message["content"] if message["role"] == "assistant" else []
    return [block["id"] for block in blocks if block["type"] == "toolCall"]


def bonds(said: list[Said]) -> list[tuple[str, str]]:
    """The entries of each call and its result: the nearest call of its id before it."""
    found = []
    for at, (entry_id, message) in enumerate(said):
        if message["role"] == "toolResult":
            callers = [name for name, item in said[:at] if message["toolCallId"] in calls_in(item)]
            found += [(callers[-1], entry_id)] if callers else []
    return found


@given(histories(), KEEPS, st.data())
@settings(max_examples=120)
def test_no_call_is_parted_from_its_result(log: Loaded, keep: int, data: st.DataObject) -> None:
    row = drawn_row(data, log)
    plan = prepared(log, row, keep)
    if plan.reason is None:
        gone = set(plan.entry_ids_to_summarize)
        for call, result in bonds(spoken(log, row)):
            assert (call in gone) == (result in gone)


@given(histories(), KEEPS, st.data())
@settings(max_examples=120)
def test_a_proposed_compaction_is_let_through(log: Loaded, keep: int, data: st.DataObject) -> None:
    row = drawn_row(data, log)
    plan = prepared(log, row, keep)
    if plan.reason is None:
        above = None if row == NONE else log.tree.id(row)
        new = NewRow(compacted(log, row, plan), "compaction", "new", above)
        assert safety.find_violation(log.tree, [], new, lambda at: log.read([at])[0]) is None


@given(histories(), KEEPS, st.data())
@settings(max_examples=120)
def test_the_context_is_then_the_summary_and_what_was_kept_and_nothing_else(
    log: Loaded, keep: int, data: st.DataObject
) -> None:
    row = drawn_row(data, log)
    plan = prepared(log, row, keep)
    if plan.reason is not None:
        return
    before = spoken(log, row)
    gone = set(plan.entry_ids_to_summarize)
    kept = [
        (entry_id, message)
        for entry_id, message in before
        if entry_id not in gone and message["role"] not in ("system", "compactionSummary")
    ]
    later = {
        "type": "message",
        "id": "later",
        "parentId": "new",
        "message": {"role": "user", "content": "go on"},
    }
    after = Loaded(log.data + compacted(log, row, plan) + json.dumps(later).encode() + b"\n")
    seen = spoken(after, after.row("later"))
    head = 1 if plan.system_message is None else 2
    assert [message["role"] for _, message in seen[:head]] == ["system", "compactionSummary"][-head:]
    assert seen[head:] == [*kept, ("later", later["message"])]
    assert plan.entry_ids_to_summarize
    assert gone <= {entry_id for entry_id, _ in before}


@given(histories(), KEEPS, st.data())
@settings(max_examples=80)
def test_a_preparation_is_consistent(log: Loaded, keep: int, data: st.DataObject) -> None:
    row = drawn_row(data, log)
    plan = prepared(log, row, keep)
    if plan.reason is not None:
        assert (plan.first_kept_entry_id, plan.prompt, plan.entry_ids_to_summarize) == (None, None, ())
        assert plan.tokens_after == plan.tokens_before
        return
    assert plan.split_turn == bool(plan.turn_prefix_ids)
    assert (
        plan.entry_ids_to_summarize[len(plan.entry_ids_to_summarize) - len(plan.turn_prefix_ids) :]
        == plan.turn_prefix_ids
    )
    first = log.tree.row(plan.first_kept_entry_id or "")
    assert first in log.tree.path(row)
    assert first is not None
    assert log.tree.type(first) not in ("compaction", "label", "leaf")


@given(histories(), KEEPS, st.data())
@settings(max_examples=60)
def test_a_path_that_was_just_compacted_is_not_compacted_again(
    log: Loaded, keep: int, data: st.DataObject
) -> None:
    row = drawn_row(data, log)
    plan = prepared(log, row, keep)
    if plan.reason is None:
        after = Loaded(log.data + compacted(log, row, plan))
        assert prepared(after, after.row("new"), keep).reason == "alreadyCompacted"


@given(hostile_logs(), KEEPS)
@settings(max_examples=120)
def test_nothing_raises_on_hostile_lines(log: Loaded, keep: int) -> None:
    for row in [NONE, *(row for row in range(1, len(log.tree)) if log.tree.is_entry(row))]:
        plan = prepared(log, row, keep)
        steps.run(prepare_branch(log.tree, row, log.tree.leaf, log.read, keep))
        context = steps.run(build_context(log.tree, row, log.read))
        assert steps.run(tokens.count(log.tree, row, context)).tokens >= 0
        assert plan.reason is not None or plan.first_kept_entry_id


@given(histories(), st.data(), st.none() | st.integers(0, 60))
@settings(max_examples=80)
def test_a_branch_leaves_behind_what_is_on_the_old_path_alone(
    log: Loaded, data: st.DataObject, most: int | None
) -> None:
    old, target = drawn_row(data, log), drawn_row(data, log)
    plan = steps.run(prepare_branch(log.tree, old, target, log.read, most))
    old_path = [] if old == NONE else log.ids(log.tree.path(old))
    target_path = [] if target == NONE else log.ids(log.tree.path(target))
    left = [entry_id for entry_id in old_path if entry_id not in target_path]
    assert set(plan.entry_ids_to_summarize) <= set(left)
    assert plan.common_ancestor_id is None or plan.common_ancestor_id in target_path
    assert (plan.prompt is None) or plan.entry_ids_to_summarize
