"""The compaction safety rules: a compaction must not tear a tool call from its result (seed: Go §8).

Checked before a compaction is stored, on the path it would end; read from the end, as far as must be.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from sessiond.hub.errors import WouldBreakTree
from sessiond.session import payloads, tree as trees
from sessiond.session.tree import NONE, NewRow, Tree


class _Block(msgspec.Struct, rename="camel"):
    type: str = ""
    id: str | None = None


class _Message(msgspec.Struct, rename="camel"):
    content: list[_Block] | str | None = None
    tool_call_id: str | None = None
    stop_reason: str | None = None


class _Line(msgspec.Struct):
    message: _Message


class _Compaction(msgspec.Struct, rename="camel"):
    first_kept_entry_id: str | None = None


_line = msgspec.json.Decoder(_Line)
_compaction = msgspec.json.Decoder(_Compaction)


@dataclass(frozen=True, slots=True)
class _Step:
    """One entry of the path that a compaction would end: stored, or new in the same batch."""

    id: str | None
    is_message: bool
    role: str
    line: Callable[[], bytes]


def check_compaction(tree: Tree, rows: Sequence[NewRow], new: NewRow, read: Callable[[int], bytes]) -> None:
    """Raise `WouldBreakTree` unless the compaction `new` may stand below its parent.

    The parent is in the tree or among `rows`, which are new in the same batch.
    """
    _check_not_inside_a_call(_upwards(tree, rows, new.parent_id, read), new.id)
    kept_id = _compaction.decode(new.line).first_kept_entry_id
    if kept_id == new.id:
        return  # nothing is kept (pi 0.87)
    first: _Step | None = None
    for step in _upwards(tree, rows, new.parent_id, read):
        first = step if step.is_message else first
        if step.id == kept_id:
            break
    else:
        raise WouldBreakTree(
            new.id,
            "firstKeptOnPath",
            f"firstKeptEntryId {kept_id!r:.80} is not on the path that it would end",
        )
    if first is not None and first.role == "toolResult":
        raise WouldBreakTree(
            new.id,
            "noToolSplit",
            f"the first message it keeps, {first.id}, is a tool result whose call it takes away",
        )


def _check_not_inside_a_call(path: Iterator[_Step], entry_id: str) -> None:
    """Raise when the last words on a path call a tool whose result is still to come."""
    answered: set[str | None] = set()
    for step in path:
        if not step.is_message:
            continue
        found = payloads.part(_line, step.line())
        if found is not None and step.role == "toolResult":
            answered.add(found.message.tool_call_id)
            continue
        if found is not None and step.role == "assistant" and not _was_given_up(found.message):
            _check_all_answered(step, found.message, answered, entry_id)
        return


def _check_all_answered(step: _Step, message: _Message, answered: set[str | None], entry_id: str) -> None:
    blocks = message.content if isinstance(message.content, list) else []
    if any(block.type == "toolCall" and block.id and block.id not in answered for block in blocks):
        raise WouldBreakTree(
            entry_id, "noToolSplit", f"it would stand between the tool call in {step.id} and its result"
        )


def _was_given_up(message: _Message) -> bool:
    """Whether a turn ended so that no agent carries out its calls."""
    return message.stop_reason in ("aborted", "error")


def _upwards(
    tree: Tree, rows: Sequence[NewRow], parent_id: str | None, read: Callable[[int], bytes]
) -> Iterator[_Step]:
    """The path from `parent_id` to the root, through the new `rows` and then the tree."""
    new = {row.id: row for row in rows}
    while parent_id is not None and parent_id in new:
        above = new[parent_id]
        yield _Step(above.id, above.type == "message", above.role or "", partial(bytes, above.line))
        parent_id = above.parent_id
    row = tree.any_row(parent_id or "")
    seen: set[int] = set()
    while row is not None and row != NONE and row not in seen:
        if tree.irregular:
            seen.add(row)
        role = trees.ROLES[tree.role(row)]
        yield _Step(tree.id(row), tree.kind(row) == trees.MESSAGE, role, partial(read, row))
        row = tree.parent(row)
