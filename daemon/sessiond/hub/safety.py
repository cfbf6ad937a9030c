"""The compaction safety rules: a compaction must not tear a tool call from its result (seed: Go §8).

Checked before a compaction is stored, on the path it would end.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from sessiond.hub.errors import WouldBreakTree
from sessiond.session import tree as trees
from sessiond.session.tree import NONE, NewRow, Tree


class _Block(msgspec.Struct, rename="camel"):
    type: str = ""
    id: str | None = None


class _Message(msgspec.Struct, rename="camel"):
    content: list[_Block] | str | None = None
    tool_call_id: str | None = None


class _Line(msgspec.Struct):
    message: _Message


class _Compaction(msgspec.Struct, rename="camel"):
    first_kept_entry_id: str | None = None


_line = msgspec.json.Decoder(_Line)
_compaction = msgspec.json.Decoder(_Compaction)


@dataclass(frozen=True, slots=True)
class Step:
    """One entry of the path that a compaction would end: stored, or new in the same batch."""

    id: str | None
    is_message: bool
    role: str
    line: Callable[[], bytes]


def steps(
    tree: Tree, rows: Sequence[NewRow], parent_id: str | None, read: Callable[[int], bytes]
) -> list[Step]:
    """The path to `parent_id`, root first, through the new `rows` and then the tree."""
    new = {row.id: row for row in rows}
    walk: list[Step] = []
    while parent_id is not None and parent_id in new:
        row = new[parent_id]
        walk.append(Step(row.id, row.type == "message", row.role or "", partial(bytes, row.line)))
        parent_id = row.parent_id
    tip = NONE if parent_id is None else tree.any_row(parent_id)
    stored = [] if tip is None else tree.path(tip)
    walk.reverse()
    return [
        *(
            Step(
                tree.id(row), tree.kind(row) == trees.MESSAGE, trees.ROLES[tree.role(row)], partial(read, row)
            )
            for row in stored
        ),
        *walk,
    ]


def check_compaction(path: Sequence[Step], line: bytes, entry_id: str) -> None:
    """Raise `WouldBreakTree` unless this compaction may end `path`."""
    _check_not_inside_a_call(path, entry_id)
    kept_id = _compaction.decode(line).first_kept_entry_id
    if kept_id == entry_id:
        return  # nothing is kept (pi 0.87)
    kept = next((index for index, step in enumerate(path) if step.id == kept_id), None)
    if kept is None or kept_id is None:
        raise WouldBreakTree(
            entry_id,
            "firstKeptOnPath",
            f"firstKeptEntryId {kept_id!r:.80} is not on the path that it would end",
        )
    first = next((step for step in path[kept:] if step.is_message), None)
    if first is not None and first.role == "toolResult":
        raise WouldBreakTree(
            entry_id,
            "noToolSplit",
            f"the first message it keeps, {first.id}, is a tool result whose call it takes away",
        )


def _check_not_inside_a_call(path: Sequence[Step], entry_id: str) -> None:
    answered: set[str] = set()
    for step in reversed(path):
        if not step.is_message:
            continue
        try:
            message = _line.decode(step.line()).message
        except msgspec.DecodeError:
            return
        if step.role == "toolResult":
            answered.add(message.tool_call_id or "")
            continue
        blocks = message.content if step.role == "assistant" and isinstance(message.content, list) else []
        if any(block.type == "toolCall" and block.id and block.id not in answered for block in blocks):
            raise WouldBreakTree(
                entry_id, "noToolSplit", f"it would stand between the tool call in {step.id} and its result"
            )
        return
