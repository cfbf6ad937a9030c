"""Prepares a move of the leaf: the abandoned entries, the new leaf, and the prompt for a branch summary.

The leaf is not moved and no model is called (decision 0019).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import UNSET, Raw

from sessiond.session.compaction import prompts
from sessiond.session.compaction.rendering import render
from sessiond.session.content.agent_message import read_message, texts
from sessiond.session.content.pi_touched_files import TouchedFiles, TouchedPaths
from sessiond.session.context import messages, summaries, tokens
from sessiond.session.context.messages import Edit, RawMessage
from sessiond.session.tree import steps
from sessiond.session.tree.steps import Read, Steps
from sessiond.session.tree.tree import KIND, LEAF, NONE, USER, Tree

_EDIT: Final = KIND["context_edit"]
_COMPACTION: Final = KIND["compaction"]
_BRANCH_SUMMARY: Final = KIND["branch_summary"]
_CUSTOM_MESSAGE: Final = KIND["custom_message"]
_SUMMARIES: Final = (_COMPACTION, _BRANCH_SUMMARY)
_NEARLY_FULL: Final = 0.9
"""Part of the budget. If less is used, a summary that exceeds the budget is still included."""


@dataclass(frozen=True, slots=True)
class BranchPreparation:
    """The result of preparing a move of the leaf from one entry to another.

    Attributes:
        target_id: The target of the move; None for the place before the first entry.
        previous_leaf_id: The leaf before the move.
        common_ancestor_id: The deepest entry that is on both paths, or None.
        resume_at_id: The leaf after the move: the target, or its parent if the target is a message of a user or an
            extension.
        editor_text: The text of such a message, for the user to edit.
        entry_ids_to_summarize: All entries from below the common ancestor to the old leaf, in order, except `leaf`
            lines.
        file_operations: Files for the `details` of the summary, as `readFiles` and `modifiedFiles`.
        tokens: Estimated tokens of the entries that are in `prompt`.
        prompt: The prompt for a summarizer; None if the entries have no text, or only tool results.

    """

    target_id: str | None
    previous_leaf_id: str | None
    common_ancestor_id: str | None
    resume_at_id: str | None
    editor_text: str | None = None
    entry_ids_to_summarize: tuple[str, ...] = ()
    file_operations: TouchedPaths = field(default_factory=TouchedPaths)
    tokens: int = 0
    prompt: str | None = None


def prepare_branch(
    tree: Tree, old_row: int, target_row: int, read: Read, max_tokens: int | None = None,
    instructions: str | None = None,
) -> Steps[BranchPreparation]:  # fmt: skip
    """Prepare a move of the leaf. Never raises on content.

        prepared = await live.drive(prepare_branch(tree, tree.leaf, target, live.read_rows, max_tokens=100_000))
        if prepared.prompt is not None:
            summary = await summarize(prepared.prompt)

    The common ancestor is the deepest entry of the target's path that is also on the old path; compactions between
    them do not matter. `leaf` lines are skipped, because clients do not see them.

    Args:
        tree: The tree of the session.
        old_row: The row of the leaf; `NONE` is the place before the first entry.
        target_row: The row of the target; `NONE` is the place before the first entry.
        read: Returns the entries of rows.
        max_tokens: Budget of the prompt for entries. The newest entries that fit are included, and at least one. A
            summary that does not fit is included if less than nine tenths of the budget are used.
        instructions: The user's instructions for the summarizer.

    """
    ancestor, abandoned = yield from abandoned_rows(tree, old_row, target_row)
    resume_at_id, editor_text = _resumption(tree, target_row, read)
    move = (
        _id(tree, target_row), _id(tree, old_row), _id(tree, nearest_visible_row(tree, ancestor)),
        resume_at_id, editor_text,
    )  # fmt: skip
    candidates, files = yield from branch_messages(tree, abandoned, read)
    ids = tuple(tree.id(row) or "" for row in abandoned if tree.kind(row) != LEAF)
    chosen, token_count = _within_budget(candidates, max_tokens)
    parts: list[str] = []
    for candidate in chosen:
        parts += render(read_message(candidate.body))
        yield
    if not parts:
        return BranchPreparation(*move, ids, files)
    material = prompts.Material(parts, files)
    prompt = yield from prompts.branch_prompt(material, instructions)
    return BranchPreparation(*move, ids, files, token_count, prompt)


@dataclass(frozen=True, slots=True)
class BranchMessage:
    """The message of one entry of the abandoned branch; `in_prompt` is true if the prompt includes it."""

    body: Raw
    tokens: int
    is_summary: bool
    in_prompt: bool


def abandoned_rows(tree: Tree, old_row: int, target_row: int) -> Steps[tuple[int, list[int]]]:
    """Return the row of the common ancestor or `NONE`, and the rows from below it to the old leaf."""
    old_path = [] if old_row == NONE else (yield from steps.path(tree, old_row))
    target_path = [] if target_row == NONE else (yield from steps.path(tree, target_row))
    positions, target_rows = {row: position for position, row in enumerate(old_path)}, set(target_path)
    yield
    ancestor = next((row for row in reversed(target_path) if row in positions), NONE)
    below = old_path[positions.get(ancestor, -1) + 1 :]
    # Only if parents form a circle can an entry be below the ancestor and also on the target's path.
    return ancestor, [row for row in below if row not in target_rows] if tree.irregular else below


def branch_messages(
    tree: Tree, rows: Sequence[int], read: Read
) -> Steps[tuple[list[BranchMessage], TouchedPaths]]:
    """Return the messages of rows, with the edits among them applied, and the files that they touched."""
    edits: dict[str, Raw | None] = {}
    for batch in steps.batches(tree, [row for row in rows if tree.kind(row) == _EDIT]):
        edits.update(edit for edit in map(messages.edit_of, read(batch)) if edit is not None)
        yield
    candidates: list[BranchMessage] = []
    files = TouchedFiles()
    for batch in steps.batches(tree, [row for row in rows if tree.kind(row) in _MESSAGE_READERS]):
        for row, entry in zip(batch, read(batch), strict=True):
            if tree.kind(row) == _BRANCH_SUMMARY:
                files.add_summary(entry)  # the files of a compaction may be older than the branch
            found = _MESSAGE_READERS[tree.kind(row)](entry, edits.get(tree.id(row) or "", UNSET))
            if found is None or found.role == "system":
                continue
            message = read_message(found.body)
            files.add_message(message)
            size = tokens.estimate_of(message)
            is_summary = tree.kind(row) in _SUMMARIES
            candidates.append(BranchMessage(found.body, size, is_summary, found.role != "toolResult"))
        yield
    return candidates, files.operations()


def _within_budget(
    candidates: Sequence[BranchMessage], max_tokens: int | None
) -> tuple[list[BranchMessage], int]:
    """Return the newest messages that fit, in log order, and their tokens. Tool results are omitted.

    The calls in assistant messages still name the tools.
    """
    chosen: list[BranchMessage] = []
    token_count = 0
    for candidate in reversed([candidate for candidate in candidates if candidate.in_prompt]):
        if max_tokens is not None and chosen and token_count + candidate.tokens > max_tokens:
            if candidate.is_summary and token_count < max_tokens * _NEARLY_FULL:
                chosen.append(candidate)
                token_count += candidate.tokens
            break
        chosen.append(candidate)
        token_count += candidate.tokens
    chosen.reverse()
    return chosen, token_count


def _resumption(tree: Tree, target_row: int, read: Read) -> tuple[str | None, str | None]:
    """Return the leaf after the move, and the text for the user to edit."""
    if target_row == NONE:
        return None, None
    kind = tree.kind(target_row)
    if tree.role(target_row) == USER or kind == _CUSTOM_MESSAGE:
        message = _MESSAGE_READERS[kind](read([target_row])[0], UNSET)
        text = None if message is None else "".join(texts(read_message(message.body)))
        return _id(tree, nearest_visible_row(tree, tree.parent(target_row))), text
    return _id(tree, nearest_visible_row(tree, target_row)), None


def nearest_visible_row(tree: Tree, row: int) -> int:
    """Return the row, or its nearest ancestor that is not a `leaf` line."""
    seen: set[int] = set()
    while row != NONE and tree.kind(row) == LEAF and row not in seen:
        seen.add(row)
        row = tree.parent(row)
    return row


def _id(tree: Tree, row: int) -> str | None:
    return None if row == NONE else tree.id(row)


def _read_compaction(entry: bytes, edit: Edit) -> RawMessage | None:
    return None if edit is None else RawMessage("compactionSummary", summaries.compaction_message(entry))


_MESSAGE_READERS: Final[dict[int, Callable[[bytes, Edit], RawMessage | None]]] = {
    KIND["message"]: messages.of_message,
    _CUSTOM_MESSAGE: messages.of_custom_message,
    _BRANCH_SUMMARY: messages.of_branch_summary,
    _COMPACTION: _read_compaction,
}
