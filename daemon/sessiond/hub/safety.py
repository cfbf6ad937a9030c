"""The compaction safety rules: a compaction must not tear a tool call from its result (seed: Go §8).

Checked before a compaction is stored, on the path it would end; read from the end, as far as must be.
"""

from collections.abc import Callable, Container, Iterator, Sequence
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
    """One entry of the path that a compaction would end: stored, or new in the same batch (`row` is `NONE`)."""

    row: int
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


def last_settled(tree: Tree, row: int, read: Callable[[int], bytes]) -> int:
    """The nearest row, from `row` towards the root, below which no tool call waits for its result.

    That is `row` itself, or else the parent of the words that made the call; `NONE` when those are the first.
    """
    caller = _caller(_upwards(tree, (), row, read))
    return row if caller is None else tree.parent(caller.row)


def _check_not_inside_a_call(path: Iterator[_Step], entry_id: str) -> None:
    """Raise when the last words on a path call a tool whose result is still to come."""
    caller = _caller(path)
    if caller is not None:
        raise WouldBreakTree(
            entry_id, "noToolSplit", f"it would stand between the tool call in {caller.id} and its result"
        )


def _caller(path: Iterator[_Step]) -> _Step | None:
    """The last words on a path, when they call a tool whose result is still to come."""
    answered: set[str | None] = set()
    for step in path:
        if not step.is_message:
            continue
        found = payloads.part(_line, step.line())
        if found is not None and step.role == "toolResult":
            answered.add(found.message.tool_call_id)
            continue
        if found is not None and step.role == "assistant" and _waits(found.message, answered):
            return step
        return None
    return None


def _waits(message: _Message, answered: Container[str | None]) -> bool:
    if message.stop_reason in ("aborted", "error"):
        return False  # no agent carries out the calls of such a turn
    blocks = message.content if isinstance(message.content, list) else []
    return any(block.type == "toolCall" and block.id and block.id not in answered for block in blocks)


def _upwards(
    tree: Tree, rows: Sequence[NewRow], row: int | str | None, read: Callable[[int], bytes]
) -> Iterator[_Step]:
    """The path from a row, or an entry that may be among the new `rows`, to the root."""
    new = {it.id: it for it in rows}
    while isinstance(row, str) and row in new:
        above = new[row]
        yield _Step(NONE, above.id, above.type == "message", above.role or "", partial(bytes, above.line))
        row = above.parent_id
    if not isinstance(row, int):
        row = tree.any_row(row or "")
    seen: set[int] = set()
    while row is not None and row != NONE and row not in seen:
        if tree.irregular:
            seen.add(row)
        role = trees.ROLES[tree.role(row)]
        yield _Step(row, tree.id(row), tree.kind(row) == trees.MESSAGE, role, partial(read, row))
        row = tree.parent(row)
