"""Prepares a compaction: whether it is needed, where the cut is, what leaves the context, and the prompt for a summary.

Nothing is written and no model is called. `cuts` has the rule for the cut (decision 0018).
"""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw

from sessiond.session.compaction import cuts, prompts
from sessiond.session.compaction.pieces import Stretch, first_kept, stretch_of
from sessiond.session.compaction.rendering import render
from sessiond.session.content.agent_message import read_message
from sessiond.session.content.pi_touched_files import TouchedFiles, TouchedPaths
from sessiond.session.context import system_message, tokens
from sessiond.session.context.context import Context, build_context
from sessiond.session.tree import payloads
from sessiond.session.tree.steps import ROWS_A_STEP, Read, Steps, let_go
from sessiond.session.tree.tree import NONE, Tree

Reason = Literal["alreadyCompacted", "nothingToSummarize", "callsUnanswered"]

_MESSAGES_A_STEP: Final = 128


@dataclass(frozen=True, slots=True)
class CompactionLimits:
    """When a context counts as full, and how much of it a compaction keeps; all in tokens (pi's defaults)."""

    context_window: int
    reserve_tokens: int = 16_384
    keep_recent_tokens: int = 20_000


def is_full(count: int, limits: CompactionLimits) -> bool:
    """Whether so many tokens leave less of the window than is reserved for the answer."""
    return count > limits.context_window - limits.reserve_tokens


@dataclass(frozen=True, slots=True)
class Preparation:
    """What a compaction at `leaf_id` would do. With a `reason` there is none to be made, and no cut.

    - `entries_to_summarize` are the entries whose words would leave the context, in order; `turn_prefix` the last
      of them, when the turn that they begin goes on behind the cut (`split_turn`).
    - `tokens_before` is `tokens.count` of the context. `tokens_after` estimates what stays: the kept messages and
      the system message, without the summary; it is `tokens_before` when there is no cut.
    - `system_message` is what the compaction must carry as `systemMessage`, since what is kept has none (pi).
    - `prompt` is all that a summarizer needs. `file_operations` belong into `details` of the compaction, as
      `readFiles` and `modifiedFiles`, where the next one finds them.
    """

    leaf_id: str | None
    needed: bool
    tokens_before: int
    tokens_after: int
    reason: Reason | None = None
    first_kept_entry_id: str | None = None
    entries_to_summarize: tuple[str, ...] = ()
    turn_prefix: tuple[str, ...] = ()
    split_turn: bool = False
    previous_summary: str | None = None
    file_operations: TouchedPaths = field(default_factory=TouchedPaths)
    system_message: Raw | None = None
    prompt: str | None = None


def prepare(
    tree: Tree, leaf_row: int, read: Read, limits: CompactionLimits, instructions: str | None = None
) -> Steps[Preparation]:
    """Prepare the compaction of a row's context; with `NONE` there is nothing to do. Never raises on content.

        prepared = await live.drive(compaction.prepare(tree, row, live.read_rows, limits))
        if prepared.reason is None:
            summary = await summarize(prepared.prompt)
            append({"type": "compaction", "summary": summary, "firstKeptEntryId": prepared.first_kept_entry_id, …})

    A compaction appended to this row with this cut gives a context of its summary and the kept messages, and is
    one that `safety` lets through. `callsUnanswered` says that a tool's result is still to come: try again when
    it has. `alreadyCompacted` says that nothing was said since the last compaction.
    """
    context = yield from build_context(tree, leaf_row, read)
    counted = yield from tokens.count(tree, leaf_row, context)
    stretch = yield from stretch_of(tree, leaf_row, context, read)
    cut = yield from cuts.find_cut(stretch.pieces, limits.keep_recent_tokens)
    needed = is_full(counted.tokens, limits)
    reason = _reason(stretch, cut)
    if cut is None or reason is not None:
        return Preparation(context.leaf_id, needed, counted.tokens, counted.tokens, reason)
    left, turn = range(cut.at), range(cut.at if cut.turn is None else cut.turn, cut.at)
    said_first = _of_compaction(tree, stretch, context)
    previous, files = _summary_in(said_first), TouchedFiles()
    if said_first:
        files.add_summary(read([stretch.compaction])[0])
    history = yield from _rendered(stretch, range(turn.start), files)
    beginning = yield from _rendered(stretch, turn, files)
    material = prompts.Material(history, files.operations(), beginning, previous)
    prompt = yield from prompts.compaction_prompt(material, instructions)
    yield
    in_force = system_message.in_force((yield from _system_messages(stretch, said_first)))
    yield
    kept = sum(piece.tokens for piece in stretch.pieces[cut.at :] if piece.voice != "system")
    tokens_after = kept + (0 if in_force is None else tokens.estimate(in_force))
    first = first_kept(tree, stretch, cut.at)
    yield
    left_ids = yield from _ids(tree, stretch, left)
    turn_ids = yield from _ids(tree, stretch, turn)
    yield from let_go(stretch.pieces, stretch.said, context.messages)
    return Preparation(
        context.leaf_id, needed, counted.tokens,
        tokens_after=tokens_after,
        first_kept_entry_id=first,
        entries_to_summarize=left_ids,
        turn_prefix=turn_ids,
        split_turn=cut.turn is not None,
        previous_summary=previous,
        file_operations=material.files,
        system_message=in_force,
        prompt=prompt,
    )  # fmt: skip


def _reason(stretch: Stretch, cut: cuts.Cut | None) -> Reason | None:
    since = stretch.pieces[stretch.kept :]
    if stretch.compaction != NONE and all(piece.voice == "silent" for piece in since):
        return "alreadyCompacted"
    if cut is None:
        return "nothingToSummarize"
    return "callsUnanswered" if cuts.awaits_results(stretch.pieces) else None


class _Summary(msgspec.Struct):
    summary: Any = None


_summary = msgspec.json.Decoder(_Summary)


def _of_compaction(tree: Tree, stretch: Stretch, context: Context) -> list[Raw]:
    """What the compaction in force says at the beginning of a context: a system message, if any, and its summary."""
    compaction_id = None if stretch.compaction == NONE else tree.id(stretch.compaction)
    begin = zip(context.entry_ids[:2], context.messages[:2], strict=True)
    return [message for entry_id, message in begin if entry_id == compaction_id]


def _summary_in(said: list[Raw]) -> str | None:
    summary = payloads.part(_summary, said[-1]) if said else None
    return summary.summary if summary is not None and isinstance(summary.summary, str) else None


def _rendered(stretch: Stretch, places: range, files: TouchedFiles) -> Steps[list[str]]:
    """The parts that pieces say to a summarizer; their files are taken note of."""
    parts: list[str] = []
    for looked_at, place in enumerate(places):
        said = stretch.said[place]
        if said is not None and stretch.pieces[place].voice != "system":
            message = read_message(said)
            files.add_message(message)
            parts += render(message)
        if looked_at % _MESSAGES_A_STEP == 0:
            yield
    return parts


def _system_messages(stretch: Stretch, said_first: list[Raw]) -> Steps[list[Raw]]:
    """Of a context, the oldest first; those that a compaction carries come before all others."""
    found = said_first[:-1]
    for place, (message, piece) in enumerate(zip(stretch.said, stretch.pieces, strict=True)):
        if message is not None and piece.voice == "system":
            found.append(message)
        if place % ROWS_A_STEP == 0:
            yield
    return found


def _ids(tree: Tree, stretch: Stretch, places: range) -> Steps[tuple[str, ...]]:
    """The entries of the pieces that say something to a summarizer."""
    found: list[str] = []
    for looked_at, place in enumerate(places):
        if stretch.pieces[place].voice not in ("silent", "system"):
            found.append(tree.id(stretch.rows[place]) or "")
        if looked_at % ROWS_A_STEP == 0:
            yield
    return tuple(found)
