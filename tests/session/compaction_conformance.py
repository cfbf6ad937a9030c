"""Compares the compaction that sessiond's core would make with the answer of pi to the same question."""

from collections.abc import Iterator, Mapping
from typing import Any

from session.conformance import Unequal
from sessiond.session.compaction import preparation
from sessiond.session.compaction.branching import prepare_branch
from sessiond.session.compaction.preparation import CompactionLimits, Preparation
from sessiond.session.compaction.rendering import SEPARATOR, render
from sessiond.session.content.agent_message import read_message
from sessiond.session.context import tokens
from sessiond.session.context.context import Context, build_context
from sessiond.session.tree import steps
from support.logs import Loaded
from support.peer_compaction import Question


def unequal(question: Question, theirs: Mapping[str, Any]) -> list[Unequal]:
    """Where our answer differs from the recorded one, each as one short text."""
    log = Loaded(question.file.read_bytes())
    row = log.tree.row(theirs.get("leaf") or "")
    if row is None:
        return []
    context = steps.run(build_context(log.tree, row, log.read))
    return [
        *_unequal_contexts(context, theirs),
        *_unequal_cuts(log, row, theirs),
        *_unequal_moves(log, theirs),
    ]


def _unequal_contexts(context: Context, theirs: Mapping[str, Any]) -> Iterator[Unequal]:
    """One row a field: the entries whose messages are counted, or shown to a summarizer, in another way."""
    said = list(zip(context.entry_ids, context.messages, strict=True))
    estimates = [[entry_id, tokens.estimate(message)] for entry_id, message in said]
    if estimates != theirs["estimates"]:
        yield Unequal("estimates", _others(estimates, theirs["estimates"]))
    rendered = [[entry_id, SEPARATOR.join(render(read_message(message)))] for entry_id, message in said]
    if rendered != theirs["rendered"]:
        yield Unequal("rendered", _others(rendered, theirs["rendered"]))


def _others(ours: list[list[Any]], theirs: list[list[Any]]) -> str:
    return " ".join(entry_id for entry_id, answer in ours if [entry_id, answer] not in theirs) or "fewer"


def _unequal_cuts(log: Loaded, row: int, theirs: Mapping[str, Any]) -> Iterator[Unequal]:
    answers = []
    for their_cut in theirs["cuts"]:
        keep = their_cut["keep"]
        plan = steps.run(preparation.prepare(log.tree, row, log.read, CompactionLimits(1_000, 100, keep)))
        answers += _in_short(keep, _cut(plan) | {"keep": keep}, their_cut)
    yield from _row("cuts", answers)


def _unequal_moves(log: Loaded, theirs: Mapping[str, Any]) -> Iterator[Unequal]:
    answers = []
    for their_move in theirs["moves"]:
        old, target, budget = their_move["move"]
        plan = steps.run(prepare_branch(log.tree, log.row(old), log.row(target), log.read, budget or None))
        move = {
            "left": list(plan.entry_ids_to_summarize),
            "ancestor": plan.common_ancestor_id,
            "tokens": plan.tokens,
            "read": list(plan.file_operations.read),
            "modified": list(plan.file_operations.modified),
        }
        answers += _in_short(f"{old}-{target}/{budget}", move, their_move)
    yield from _row("moves", answers)


def _row(field: str, answers: list[str]) -> Iterator[Unequal]:
    """One row for all: in how many, and our answer in the last of them."""
    if answers:
        yield Unequal(field, answers[-1] if len(answers) == 1 else f"in {len(answers)}, {answers[-1]}")


def _cut(plan: Preparation) -> dict[str, Any]:
    if plan.reason is not None:
        return {"refused": plan.reason}
    return {
        "kept": plan.first_kept_entry_id,
        "summarized": list(plan.entry_ids_to_summarize),
        "prefix": list(plan.turn_prefix_ids),
        "tokens": plan.tokens_before,
        "previous": plan.previous_summary,
        "read": list(plan.file_operations.read),
        "modified": list(plan.file_operations.modified),
    }


def _in_short(asked: object, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Of our answer, the fields in which theirs differs; where only one has a cut at all, or another, just that."""
    telling = [field for field in ("refused", "kept") if ours.get(field) != theirs.get(field)][:1]
    fields = telling or [field for field in ours if ours[field] != theirs[field]]
    values = (f"{field} {_text(ours.get(field))}" for field in fields)
    return [f"{asked}: {', '.join(values)}"] if fields else []


def _text(value: object) -> str:
    return " ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)
