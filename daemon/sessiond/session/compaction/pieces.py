"""Converts the part of a path that a context is built from into one `CutPiece` for each entry."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import Raw

from sessiond.session.compaction.cuts import CutPiece, CutRole
from sessiond.session.compaction.tool_calls import calls_of
from sessiond.session.content.agent_message import AgentMessage, message_of, read_message
from sessiond.session.context import messages, tokens
from sessiond.session.context.context import Context, select
from sessiond.session.tree import steps
from sessiond.session.tree.steps import Read, Steps
from sessiond.session.tree.tree import KIND, LEAF, MESSAGE, NONE, ROLES, Tree

_MESSAGE_KINDS: Final = frozenset(
    KIND[name] for name in ("message", "custom_message", "branch_summary", "compaction")
)
_POINTERS: Final = frozenset((KIND["label"], LEAF))
_CUT_ROLES: Final[dict[object, CutRole]] = {
    "user": "turnStart",
    "bashExecution": "turnStart",
    "custom": "turnStart",
    "branchSummary": "turnStart",
    "compactionSummary": "turnStart",
    "hookMessage": "turnStart",
    "pythonExecution": "turnStart",
    "assistant": "assistant",
    "system": "system",
}
"""Voices by role; the first seven start a turn, as in pi."""


@dataclass(frozen=True, slots=True)
class ContextRows:
    """The rows that a context is built from, with their messages and pieces.

    Attributes:
        path: The whole path.
        rows: The rows that may have a message.
        messages_by_row: The message of each row in the context, or None.
        pieces: The piece of each row.
        compaction: The row of the compaction in force, or `NONE`.
        kept_count: The number of first pieces that are before the compaction.

    """

    path: Sequence[int]
    rows: Sequence[int]
    messages_by_row: list[Raw | None]
    pieces: list[CutPiece]
    compaction: int
    kept_count: int


def context_rows(tree: Tree, leaf_row: int, context: Context, read: Read) -> Steps[ContextRows]:
    """Return the rows of a context that was built for `leaf_row`."""
    if leaf_row == NONE:
        return ContextRows((), (), [], [], NONE, 0)
    path = yield from steps.path(tree, leaf_row)
    selection = yield from select(tree, path, read)
    rows = [*selection.kept, *selection.rest]
    messages_by_id: dict[str, Raw] = {}
    for start in range(0, len(context.messages), steps.ROWS_A_STEP):
        chunk = slice(start, start + steps.ROWS_A_STEP)
        messages_by_id.update(zip(context.entry_ids[chunk], context.messages[chunk], strict=True))
        yield
    messages_by_row: list[Raw | None] = []
    pieces: list[CutPiece] = []
    for batch in steps.batches(tree, rows):
        lines = read(batch) if context.edited else [b""] * len(batch)
        for row, line in zip(batch, lines, strict=True):
            message = messages_by_id.get(tree.id(row) or "")
            messages_by_row.append(message)
            pieces.append(_piece(tree, row, message, line))
        yield
    if selection.edits:
        yield from _bind_to_edits(tree, path, rows, selection.edits, pieces, read)
    return ContextRows(path, rows, messages_by_row, pieces, selection.compaction, len(selection.kept))


def first_kept_id(tree: Tree, source: ContextRows, at: int) -> str:
    """Return the id of the first entry that a cut before a piece keeps.

    Settings and similar entries directly before the piece are kept too. The entry is never a label or a `leaf` line,
    because a fork removes those from the path.
    """
    path, index = source.path, source.path.index(source.rows[at])
    first = index
    while first > 0 and tree.kind(path[first - 1]) not in _MESSAGE_KINDS:
        first -= 1
    nameable = next(row for row in path[first : index + 1] if tree.kind(row) not in _POINTERS)
    return tree.id(nameable) or ""


def _piece(tree: Tree, row: int, raw: Raw | None, line: bytes) -> CutPiece:
    message = AgentMessage() if raw is None else read_message(raw)
    context_calls = calls_of(message)
    calls = calls_of(message_of(line)) if line and tree.kind(row) == MESSAGE else context_calls
    cut_role = "none" if raw is None else _cut_role(message.role)
    return CutPiece(cut_role, ROLES[tree.role(row)], tokens.estimate_of(message), calls, context_calls)


def _cut_role(role: object) -> CutRole:
    return _CUT_ROLES.get(role, "other") if isinstance(role, str) else "other"


def _bind_to_edits(
    tree: Tree,
    path: Sequence[int],
    rows: Sequence[int],
    edits: Sequence[int],
    pieces: list[CutPiece],
    read: Read,
) -> Steps[None]:
    """Bind each edited piece to an edit that precedes it, because without the edit its message would change."""
    indexes = {tree.id(row): index for index, row in enumerate(rows)}
    target_ids: dict[int, str] = {}
    for batch in steps.batches(tree, edits):
        for row, entry in zip(batch, read(batch), strict=True):
            edit = messages.edit_of(entry)
            if edit is not None:
                target_ids[row] = edit[0]
        yield
    previous = -1
    for number, row in enumerate(path):
        previous = indexes.get(tree.id(row), previous)
        target = indexes.get(target_ids[row], -1) if row in target_ids else -1
        if target > previous:
            bound = pieces[target].bound_to
            pieces[target] = replace(
                pieces[target], bound_to=previous if bound is None else min(bound, previous)
            )
        if number % steps.ROWS_A_STEP == 0:
            yield
