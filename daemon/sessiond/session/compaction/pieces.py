"""Converts the part of a path that a context is made of into one piece for each entry, as `cuts` needs it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import Raw

from sessiond.session.compaction.cuts import CutPiece, Voice
from sessiond.session.compaction.tool_calls import calls_of
from sessiond.session.content.agent_message import AgentMessage, message_of, read_message
from sessiond.session.context import messages, tokens
from sessiond.session.context.context import Context, select
from sessiond.session.tree import steps
from sessiond.session.tree.steps import Read, Steps
from sessiond.session.tree.tree import KIND, LEAF, MESSAGE, NONE, ROLES, Tree

_PASSED_OVER: Final = frozenset(
    KIND[name] for name in ("message", "custom_message", "branch_summary", "compaction")
)
_POINTERS: Final = frozenset((KIND["label"], LEAF))
_VOICES: Final[dict[object, Voice]] = {
    "user": "asks",
    "bashExecution": "asks",
    "custom": "asks",
    "branchSummary": "asks",
    "compactionSummary": "asks",
    "hookMessage": "asks",
    "pythonExecution": "asks",
    "assistant": "answers",
    "system": "system",
}
"""Voices by role; the first seven start a turn, as in pi."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The rows that a context is built from, with their messages and pieces.

    Attributes:
        path: The whole path.
        rows: The rows that may have a message.
        said: The message of each row in the context, or None.
        pieces: The piece of each row.
        compaction: The row of the compaction in force, or `NONE`.
        kept: The number of first pieces that are before the compaction.

    """

    path: Sequence[int]
    rows: Sequence[int]
    said: list[Raw | None]
    pieces: list[CutPiece]
    compaction: int
    kept: int


def stretch_of(tree: Tree, leaf_row: int, context: Context, read: Read) -> Steps[Stretch]:
    """Return the stretch of a context that was built for this row."""
    if leaf_row == NONE:
        return Stretch((), (), [], [], NONE, 0)
    path = yield from steps.path(tree, leaf_row)
    selection = yield from select(tree, path, read)
    rows = [*selection.kept, *selection.rest]
    spoken: dict[str, Raw] = {}
    for start in range(0, len(context.messages), steps.ROWS_A_STEP):
        some = slice(start, start + steps.ROWS_A_STEP)
        spoken.update(zip(context.entry_ids[some], context.messages[some], strict=True))
        yield
    said: list[Raw | None] = []
    pieces: list[CutPiece] = []
    for batch in steps.batches(tree, rows):
        lines = read(batch) if context.edited else [b""] * len(batch)
        for row, line in zip(batch, lines, strict=True):
            message = spoken.get(tree.id(row) or "")
            said.append(message)
            pieces.append(_piece(tree, row, message, line))
        yield
    if selection.edits:
        yield from _bind_to_edits(tree, path, rows, selection.edits, pieces, read)
    return Stretch(path, rows, said, pieces, selection.compaction, len(selection.kept))


def first_kept(tree: Tree, stretch: Stretch, at: int) -> str:
    """Return the id of the first entry that a cut before a piece keeps.

    Settings and similar entries directly before the piece are kept too. The entry is never a label or a `leaf` line,
    because a fork removes those from the path.
    """
    path, place = stretch.path, stretch.path.index(stretch.rows[at])
    first = place
    while first > 0 and tree.kind(path[first - 1]) not in _PASSED_OVER:
        first -= 1
    named = next(row for row in path[first : place + 1] if tree.kind(row) not in _POINTERS)
    return tree.id(named) or ""


def _piece(tree: Tree, row: int, said: Raw | None, line: bytes) -> CutPiece:
    message = AgentMessage() if said is None else read_message(said)
    said_calls = calls_of(message)
    calls = calls_of(message_of(line)) if line and tree.kind(row) == MESSAGE else said_calls
    voice = "silent" if said is None else _voice(message.role)
    return CutPiece(voice, ROLES[tree.role(row)], tokens.estimate_of(message), calls, said_calls)


def _voice(role: object) -> Voice:
    return _VOICES.get(role, "other") if isinstance(role, str) else "other"


def _bind_to_edits(
    tree: Tree,
    path: Sequence[int],
    rows: Sequence[int],
    edits: Sequence[int],
    pieces: list[CutPiece],
    read: Read,
) -> Steps[None]:
    """Bind each edited piece to an edit that precedes it, because without the edit its message would change."""
    places = {tree.id(row): place for place, row in enumerate(rows)}
    targets: dict[int, str] = {}
    for batch in steps.batches(tree, edits):
        for row, entry in zip(batch, read(batch), strict=True):
            edit = messages.edit_of(entry)
            if edit is not None:
                targets[row] = edit[0]
        yield
    above = -1
    for looked_at, row in enumerate(path):
        above = places.get(tree.id(row), above)
        target = places.get(targets[row], -1) if row in targets else -1
        if target > above:
            bound = pieces[target].bound_to
            pieces[target] = replace(pieces[target], bound_to=above if bound is None else min(bound, above))
        if looked_at % steps.ROWS_A_STEP == 0:
            yield
