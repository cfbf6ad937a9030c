"""Checks that a compaction separates no tool call from its result, and that its first kept entry is on its path.

The path is read from its end, as far as needed. `cuts` proposes only cuts that are accepted here (decision 0018).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from sessiond.session.compaction.tool_calls import MessageToolCalls, calls_of
from sessiond.session.content.agent_message import message_of
from sessiond.session.tree import payloads
from sessiond.session.tree.tree import KIND, MESSAGE, NONE, OTHER, ROLES, NewRow, Tree

_COMPACTION: Final = KIND["compaction"]
_RESET: Final = KIND["reset_boundary"]
_MESSAGE_KINDS: Final = frozenset((MESSAGE, KIND["custom_message"], KIND["branch_summary"]))

ReadRow = Callable[[int], bytes]


class Violation(NamedTuple):
    """The rule that a compaction violates, and the reason, as the end of a sentence."""

    rule: Literal["noToolSplit", "firstKeptOnPath"]
    reason: str


def find_violation(tree: Tree, rows: Sequence[NewRow], new: NewRow, read: ReadRow) -> Violation | None:
    """Return why the compaction `new` is not allowed below its parent; None if it is allowed.

    A compaction

    - is not between a call and its result, nor after an assistant message whose calls have no results yet;
    - names an entry of its path, or itself (pi 0.87) or no entry if nothing is kept;
    - does not keep a result whose call it removes, and does not remove a call that may still get a result.

    Args:
        tree: The tree of the session.
        rows: New rows of the same batch; the parent may be among them.
        new: The compaction.
        read: Returns the entry of a row.

    """
    path = _Path(tree, rows, read)
    caller = _caller(path, new.parent_id)
    if caller is not None:
        return Violation("noToolSplit", f"it would be between the tool call in {caller.id} and its result")
    found = payloads.part(_compaction, new.line)
    kept_id = None if found is None else found.first_kept_entry_id
    if found is not None and kept_id is None:
        kept_id = new.id
    first: _Step | None = None
    if kept_id != new.id:
        for step in path.towards_root(new.parent_id):
            first = step if step.kind in _MESSAGE_KINDS else first
            if step.id == kept_id:
                break
        else:
            reason = f"firstKeptEntryId {kept_id!r:.80} is not on its path"
            return Violation("firstKeptOnPath", reason)
    if first is not None and first.role == "toolResult":
        reason = f"the first message it keeps, {first.id}, is a tool result whose call it removes"
        return Violation("noToolSplit", reason)
    return _split_calls(path, new, kept_id)


def last_settled(tree: Tree, row: int, read: ReadRow) -> int:
    """Return the nearest row, from `row` towards the root, after which no tool call is without its result.

    That is `row` itself, or the parent of the assistant message that made the call; `NONE` if that message is the
    first.
    """
    caller = _caller(_Path(tree, (), read), row)
    return row if caller is None else tree.parent(caller.row)


class _Step(NamedTuple):
    """One entry of a path: stored, or new in the same batch. A new entry has `row` `NONE` and its `line`."""

    row: int
    id: str | None
    kind: int
    role: str
    line: bytes


class _Path:
    """Walks through the new rows of a batch and then the tree, from the end of a path towards the root."""

    def __init__(self, tree: Tree, rows: Sequence[NewRow], read: ReadRow) -> None:
        self._tree, self._read = tree, read
        self._new = {row.id: row for row in rows}

    def towards_root(self, start: int | str | None) -> Iterator[_Step]:
        """Yield the entries from a row or id to the root."""
        tree = self._tree
        while isinstance(start, str) and (new := self._new.get(start)) is not None:
            role = new.role if new.type == "message" else None
            yield _Step(NONE, new.id, KIND.get(new.type, OTHER), role or "", new.line)
            start = new.parent_id
        row = start if isinstance(start, int) else tree.any_row(start or "")
        seen: set[int] = set()
        while row is not None and row != NONE and row not in seen:
            if tree.irregular:
                seen.add(row)
            yield _Step(row, tree.id(row), tree.kind(row), ROLES[tree.role(row)], b"")
            row = tree.parent(row)

    def line(self, step: _Step) -> bytes:
        return step.line if step.row == NONE else self._read(step.row)

    def calls(self, step: _Step) -> MessageToolCalls:
        return calls_of(message_of(self.line(step)))

    def in_context(self, start: int | str | None) -> Iterator[_Step]:
        """Yield the entries of `towards_root` up to the last reset or the last compaction's first kept entry."""
        last: str | None = None
        seen_compaction = False
        for step in self.towards_root(start):
            if not seen_compaction and step.kind in (_COMPACTION, _RESET):
                kept = payloads.part(_compaction, self.line(step)) if step.kind == _COMPACTION else None
                if kept is None or kept.first_kept_entry_id == step.id:
                    return
                seen_compaction, last = True, kept.first_kept_entry_id
                above = self.towards_root(step.id)
                if all(other.id != last for other in above):
                    return
            yield step
            if seen_compaction and step.id == last:
                return


class _Compaction(msgspec.Struct, rename="camel"):
    first_kept_entry_id: Any = None


_compaction = msgspec.json.Decoder(_Compaction)


def _caller(path: _Path, start: int | str | None) -> _Step | None:
    """Return the last assistant message of a context if a result of its tool calls is missing."""
    answered: set[str | None] = set()
    for step in path.in_context(start):
        if step.role == "toolResult":
            answered.add(path.calls(step).result_of)
        elif step.role:
            calls = path.calls(step)
            return step if calls.awaits_results and not answered.issuperset(calls.call_ids) else None
    return None


def _split_calls(path: _Path, new: NewRow, kept_id: object) -> Violation | None:
    """Return a violation if the compaction removes a call whose result is kept or may still follow.

    A result belongs to the nearest call above it with its id. Only the newest assistant message can have missing
    results.
    """
    waiting: set[str] = set()  # ids of kept results whose calls were not found yet
    answered: set[str] = set()
    seen_newest = False
    keeps = kept_id != new.id
    for step in path.in_context(new.parent_id):
        if step.role == "toolResult":
            result_of = path.calls(step).result_of
            if result_of is not None:
                answered.add(result_of)
                waiting.update([result_of] if keeps else [])
        elif step.role == "assistant" and (waiting or not seen_newest):
            call_ids, _, awaits = path.calls(step)
            if not keeps and not waiting.isdisjoint(call_ids):
                return Violation(
                    "noToolSplit", f"it keeps the result of a tool call in {step.id}, which it removes"
                )
            if not keeps and not seen_newest and awaits and not answered.issuperset(call_ids):
                return Violation(
                    "noToolSplit", f"it removes {step.id}, whose tool calls may still get results"
                )
            waiting.difference_update(call_ids)
            seen_newest = True
        keeps = keeps and step.id != kept_id
        if not keeps and seen_newest and not waiting:
            return None
    return None
