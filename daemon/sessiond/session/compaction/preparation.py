"""Prepares a compaction: whether it is needed, the cut, the entries that leave the context, and the prompt.

Nothing is written and no model is called. `cuts` defines the rule for the cut (decision 0018).
"""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec
from msgspec import Raw

from sessiond.session.compaction import cuts, prompts
from sessiond.session.compaction.pieces import ContextRows, context_rows, first_kept_id
from sessiond.session.compaction.rendering import render
from sessiond.session.content.agent_message import read_message
from sessiond.session.content.pi_touched_files import TouchedFiles, TouchedPaths
from sessiond.session.context import system_message, tokens
from sessiond.session.context.context import Context, build_context
from sessiond.session.tree import payloads
from sessiond.session.tree.steps import ROWS_A_STEP, Read, Steps, clear_lists
from sessiond.session.tree.tree import NONE, Tree

Reason = Literal["alreadyCompacted", "nothingToSummarize", "callsUnanswered"]

_MESSAGES_A_STEP: Final = 128


@dataclass(frozen=True, slots=True)
class CompactionLimits:
    """The limits for a full context and for the part that a compaction keeps, in tokens. The defaults are pi's."""

    context_window: int
    reserve_tokens: int = 16_384
    keep_recent_tokens: int = 20_000


def is_full(count: int, limits: CompactionLimits) -> bool:
    """Return whether a context of `count` tokens leaves less of the window than is reserved for the answer."""
    return count > limits.context_window - limits.reserve_tokens


@dataclass(frozen=True, slots=True)
class Preparation:
    """The result of preparing a compaction at `leaf_id`.

    Attributes:
        leaf_id: The entry at which the context ends, or None.
        needed: Whether the context is full.
        tokens_before: The tokens of the context, by `tokens.count`.
        tokens_after: Estimated tokens of the kept messages and the system message, without the summary. Equal to
            `tokens_before` if there is no cut.
        reason: Why no compaction can be made; None if it can.
        first_kept_entry_id: The `firstKeptEntryId` of the compaction.
        entry_ids_to_summarize: The entries whose messages leave the context, in order.
        turn_prefix_ids: The last of these entries, if their turn continues after the cut.
        split_turn: Whether the cut is within a turn.
        previous_summary: The summary of the compaction in force, or None.
        file_operations: Files for the `details` of the compaction, as `readFiles` and `modifiedFiles`. The next
            preparation reads them there.
        system_message: The `systemMessage` that the compaction must carry, because no kept message has one (pi).
        prompt: The complete prompt for a summarizer.

    """

    leaf_id: str | None
    needed: bool
    tokens_before: int
    tokens_after: int
    reason: Reason | None = None
    first_kept_entry_id: str | None = None
    entry_ids_to_summarize: tuple[str, ...] = ()
    turn_prefix_ids: tuple[str, ...] = ()
    split_turn: bool = False
    previous_summary: str | None = None
    file_operations: TouchedPaths = field(default_factory=TouchedPaths)
    system_message: Raw | None = None
    prompt: str | None = None


def prepare(
    tree: Tree, leaf_row: int, read: Read, limits: CompactionLimits, instructions: str | None = None
) -> Steps[Preparation]:
    """Prepare a compaction of a row's context. Never raises on content.

        prepared = await live.drive(compaction.prepare(tree, row, live.read_rows, limits))
        if prepared.reason is None:
            summary = await summarize(prepared.prompt)
            append({"type": "compaction", "summary": summary, "firstKeptEntryId": prepared.first_kept_entry_id, …})

    A compaction with this cut, appended to this row, gives a context of its summary and the kept messages, and
    `safety` accepts it. The reason `callsUnanswered` means that a tool result is missing: retry after it was appended.
    `alreadyCompacted` means that no message was added since the last compaction.

    Args:
        tree: The tree of the session.
        leaf_row: The row; with `NONE` there is nothing to summarize.
        read: Returns the entries of rows.
        limits: The limits in tokens.
        instructions: The user's instructions for the summarizer.

    """
    context = yield from build_context(tree, leaf_row, read)
    counted = yield from tokens.count(tree, leaf_row, context)
    source = yield from context_rows(tree, leaf_row, context, read)
    cut = yield from cuts.find_cut(source.pieces, limits.keep_recent_tokens)
    needed = is_full(counted.tokens, limits)
    reason = _reason(source, cut)
    if cut is None or reason is not None:
        return Preparation(context.leaf_id, needed, counted.tokens, counted.tokens, reason)
    removed, turn = range(cut.at), range(cut.at if cut.turn is None else cut.turn, cut.at)
    compaction_messages = _compaction_messages(tree, source, context)
    previous, files = _summary_in(compaction_messages), TouchedFiles()
    if compaction_messages:
        files.add_summary(read([source.compaction])[0])
    history = yield from _rendered(source, range(turn.start), files)
    turn_prefix = yield from _rendered(source, turn, files)
    material = prompts.Material(history, files.operations(), turn_prefix, previous)
    prompt = yield from prompts.compaction_prompt(material, instructions)
    yield
    in_force = system_message.in_force((yield from _system_messages(source, compaction_messages)))
    yield
    kept_tokens = sum(piece.tokens for piece in source.pieces[cut.at :] if piece.cut_role != "system")
    tokens_after = kept_tokens + (0 if in_force is None else tokens.estimate(in_force))
    first = first_kept_id(tree, source, cut.at)
    yield
    removed_ids = yield from _ids(tree, source, removed)
    turn_ids = yield from _ids(tree, source, turn)
    yield from clear_lists(source.pieces, source.messages_by_row, context.messages)
    return Preparation(
        context.leaf_id, needed, counted.tokens,
        tokens_after=tokens_after,
        first_kept_entry_id=first,
        entry_ids_to_summarize=removed_ids,
        turn_prefix_ids=turn_ids,
        split_turn=cut.turn is not None,
        previous_summary=previous,
        file_operations=material.files,
        system_message=in_force,
        prompt=prompt,
    )  # fmt: skip


def _reason(source: ContextRows, cut: cuts.Cut | None) -> Reason | None:
    later = source.pieces[source.kept_count :]
    if source.compaction != NONE and all(piece.cut_role == "none" for piece in later):
        return "alreadyCompacted"
    if cut is None:
        return "nothingToSummarize"
    return "callsUnanswered" if cuts.awaits_results(source.pieces) else None


class _Summary(msgspec.Struct):
    summary: Any = None


_summary = msgspec.json.Decoder(_Summary)


def _compaction_messages(tree: Tree, source: ContextRows, context: Context) -> list[Raw]:
    """Return the messages of the compaction in force: a system message, if it carries one, and the summary."""
    compaction_id = None if source.compaction == NONE else tree.id(source.compaction)
    first_messages = zip(context.entry_ids[:2], context.messages[:2], strict=True)
    return [message for entry_id, message in first_messages if entry_id == compaction_id]


def _summary_in(messages: list[Raw]) -> str | None:
    summary = payloads.part(_summary, messages[-1]) if messages else None
    return summary.summary if summary is not None and isinstance(summary.summary, str) else None


def _rendered(source: ContextRows, indexes: range, files: TouchedFiles) -> Steps[list[str]]:
    """Return the rendered messages of pieces, and add their files to `files`."""
    parts: list[str] = []
    for number, index in enumerate(indexes):
        raw = source.messages_by_row[index]
        if raw is not None and source.pieces[index].cut_role != "system":
            message = read_message(raw)
            files.add_message(message)
            parts += render(message)
        if number % _MESSAGES_A_STEP == 0:
            yield
    return parts


def _system_messages(source: ContextRows, compaction_messages: list[Raw]) -> Steps[list[Raw]]:
    """Return the system messages of a context, oldest first, beginning with that of the compaction."""
    found = compaction_messages[:-1]
    for index, (message, piece) in enumerate(zip(source.messages_by_row, source.pieces, strict=True)):
        if message is not None and piece.cut_role == "system":
            found.append(message)
        if index % ROWS_A_STEP == 0:
            yield
    return found


def _ids(tree: Tree, source: ContextRows, indexes: range) -> Steps[tuple[str, ...]]:
    """Return the ids of the pieces that a summarizer receives."""
    found: list[str] = []
    for number, index in enumerate(indexes):
        if source.pieces[index].cut_role not in ("none", "system"):
            found.append(tree.id(source.rows[index]) or "")
        if number % ROWS_A_STEP == 0:
            yield
    return tuple(found)
