"""Builds the context of a leaf: the messages of its path, with a compaction in place of the messages it replaced.

Entries are copied unchanged, as in pi. Nothing is repaired for a provider here (decision 0015).
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.session.content import restore_blobs
from sessiond.session.context import messages, summaries
from sessiond.session.context.messages import Edit, RawMessage
from sessiond.session.context.settings import Settings, apply_rows, settings
from sessiond.session.tree import payloads, steps
from sessiond.session.tree.steps import Read, Steps
from sessiond.session.tree.tree import KIND, NONE, Tree

_COMPACTION: Final = KIND["compaction"]
_CONTEXT_EDIT: Final = KIND["context_edit"]
_RESET: Final = KIND["reset_boundary"]
_MESSAGE_READERS: Final[dict[int, Callable[[bytes, Edit], RawMessage | None]]] = {
    KIND["message"]: messages.of_message,
    KIND["custom_message"]: messages.of_custom_message,
    KIND["branch_summary"]: messages.of_branch_summary,
}


_REWRITES: Final = frozenset((_COMPACTION, _CONTEXT_EDIT, _RESET))
"""Kinds that change the messages of earlier entries."""
_FURTHER_ROWS: Final = 2_000
"""Limit of the rows by which a known context is extended."""


class Context(Settings, kw_only=True):
    """The messages of a context in order, and the settings in force at `leaf_id`.

    Attributes:
        leaf_id: The entry at which the context was built; None before the first entry.
        edited: Whether an edit replaced the content of an entry or omitted an entry.
        messages: The messages as JSON.
        entry_ids: The id of the entry of each message.

    """

    leaf_id: str | None
    edited: bool = False
    messages: list[Raw] = msgspec.field(default_factory=list)
    entry_ids: list[str] = msgspec.field(default_factory=list)
    blobs: dict[int, dict[str, str]] = msgspec.field(default_factory=dict)
    """The indexes of messages that refer to blobs, each with JSON pointers to truncated texts and their references."""
    sizes: "array[int]" = msgspec.field(default_factory=lambda: array("i"))
    """Estimated tokens of each message, cached by `tokens`, so that an extended context is not counted again."""
    uncounted: int = 0
    """Number of the first messages that are known to have no trusted usage."""


def build_context(tree: Tree, leaf_row: int, read: Read) -> Steps[Context]:
    """Build the context at a row; with `NONE`, the empty context."""
    if leaf_row == NONE:
        return Context(leaf_id=None)
    path = yield from steps.path(tree, leaf_row)
    in_force = yield from settings(tree, path, read)
    context = Context(leaf_id=tree.id(leaf_row), **msgspec.structs.asdict(in_force))
    selection = yield from select(tree, path, read)
    edits = yield from _edits(tree, selection.edits, read)
    context.edited = bool(edits)
    if selection.compaction != NONE:
        _add_summary(context, tree, selection.compaction, read, edits)
    yield from _add_messages(context, tree, selection.kept, read, edits, excluded_role="system")
    yield from _add_messages(context, tree, selection.rest, read, edits)
    if edits:
        yield from _note_blobs_of_edits(context, tree, selection.edits, read)
    return context


def extend_context(
    tree: Tree, base: Context, base_row: int, leaf_row: int, read: Read
) -> Steps[Context | None]:
    """Extend a known context to a row that is not far below its own.

    Args:
        tree: The tree of the session.
        base: The known context. It is not changed.
        base_row: The row for which it was built.
        leaf_row: The row for which to build the context.
        read: Returns the entries of rows.

    Returns:
        The context, or None if it must be built with `build_context`: the row is not below `base_row` or too far
            below it, an entry between them changes earlier messages, the known context has edits, or the tree is
            irregular.

    """
    rows: list[int] = []
    row = leaf_row
    while row != base_row:
        if row == NONE or tree.kind(row) in _REWRITES or len(rows) == _FURTHER_ROWS:
            return None
        rows.append(row)
        row = tree.parent(row)
    if base.edited or tree.irregular:
        return None
    rows.reverse()
    context = Context(**msgspec.structs.asdict(base))
    context.leaf_id = tree.id(leaf_row)
    context.models = dict(base.models)
    context.injected_ttsr_rules = list(base.injected_ttsr_rules)
    context.messages, context.entry_ids = list(base.messages), list(base.entry_ids)
    context.blobs, context.sizes = dict(base.blobs), base.sizes[:]
    yield from apply_rows(context, tree, rows, read)
    message_rows = [row for row in rows if tree.kind(row) in _MESSAGE_READERS]
    yield from _add_messages(context, tree, message_rows, read, {})
    return context


def total_bytes(messages: Sequence[Raw]) -> Steps[int]:
    """Return the size of messages in bytes of JSON."""
    total = 0
    for start in range(0, len(messages), steps.ROWS_A_STEP):
        total += sum(memoryview(value).nbytes for value in messages[start : start + steps.ROWS_A_STEP])
        yield
    return total


@dataclass(slots=True)
class Selection:
    """The rows of a path that its context is built from.

    Edits may omit any of these rows. System messages among `kept` are not in the context, as in pi's compactions.

    Attributes:
        compaction: The compaction in force, or `NONE`.
        kept: Rows before the compaction that it keeps.
        rest: Rows after the compaction or reset boundary.
        edits: The edits among these rows.

    """

    compaction: int = NONE
    kept: list[int] = field(default_factory=list)
    rest: list[int] = field(default_factory=list)
    edits: list[int] = field(default_factory=list)


def select(tree: Tree, path: Sequence[int], read: Read) -> Steps[Selection]:
    """Select the rows of a path that its context is built from.

    The last compaction or reset boundary decides.

    Args:
        tree: The tree of the session.
        path: The rows of the path, root first.
        read: Returns the entries of rows.

    """
    kinds = bytearray()
    for start in range(0, len(path), steps.ROWS_A_STEP):
        kinds += bytes(map(tree.kind, path[start : start + steps.ROWS_A_STEP]))
        yield
    compaction, reset = kinds.rfind(_COMPACTION), kinds.rfind(_RESET)
    selection = Selection()
    if compaction > reset:
        selection.compaction = path[compaction]
        first = yield from _first_kept(tree, path, compaction, read)
        yield from _gather(selection.kept, selection.edits, path, kinds, range(first, compaction))
    after = range(max(compaction, reset) + 1, len(path))
    yield from _gather(selection.rest, selection.edits, path, kinds, after)
    return selection


def _gather(
    message_rows: list[int], edits: list[int], path: Sequence[int], kinds: bytearray, indexes: range
) -> Steps[None]:
    for start in range(0, len(indexes), steps.ROWS_A_STEP):
        for at in indexes[start : start + steps.ROWS_A_STEP]:
            if kinds[at] in _MESSAGE_READERS:
                message_rows.append(path[at])
            elif kinds[at] == _CONTEXT_EDIT:
                edits.append(path[at])
        yield


class _Compaction(msgspec.Struct, rename="camel"):
    first_kept_entry_id: Any = None
    system_message: Raw | UnsetType = UNSET


_compaction = msgspec.json.Decoder(_Compaction)


def _first_kept(tree: Tree, path: Sequence[int], compaction: int, read: Read) -> Steps[int]:
    """Return the index on a path of the first kept entry, or of the compaction if it keeps nothing before it."""
    found = payloads.part(_compaction, read([path[compaction]])[0])
    first_kept_id = found.first_kept_entry_id if found is not None else None
    for at in range(compaction):
        if tree.id(path[at]) == first_kept_id:
            return at
        if at % steps.ROWS_A_STEP == 0:
            yield
    return compaction


def _edits(tree: Tree, rows: Sequence[int], read: Read) -> Steps[dict[str, Raw | None]]:
    """Return the last edit of each target, by the target's id."""
    edits: dict[str, Raw | None] = {}
    for batch in steps.batches(tree, rows):
        edits.update(edit for edit in map(messages.edit_of, read(batch)) if edit is not None)
        yield
    return edits


def _note_blobs_of_edits(context: Context, tree: Tree, rows: Sequence[int], read: Read) -> Steps[None]:
    """Add the blob references of edits to the messages that they edit."""
    truncations: dict[str, dict[str, str]] = {}
    for batch in steps.batches(tree, rows):
        for entry in read(batch):
            edit = messages.edit_of(entry)
            if edit is not None and restore_blobs.may_refer_to_blobs(entry):
                found = restore_blobs.truncations_of(entry, below="/replacement")
                if "/content" in found:  # the text became the only block of the content
                    found["/content/0/text"] = found["/content"]
                truncations[edit[0]] = found
        yield
    if truncations:
        context.blobs |= {
            at: context.blobs.get(at, {}) | truncations[entry_id]
            for at, entry_id in enumerate(context.entry_ids)
            if entry_id in truncations
        }


def _add_summary(context: Context, tree: Tree, row: int, read: Read, edits: dict[str, Raw | None]) -> None:
    """Add the summary of a compaction, after the system message that pi's compactions carry."""
    entry_id = tree.id(row) or ""
    if edits.get(entry_id, UNSET) is None:
        return
    (entry,) = read([row])
    found = payloads.part(_compaction, entry)
    if found is not None and found.system_message is not UNSET and not payloads.is_null(found.system_message):
        context.messages.append(found.system_message)
        context.entry_ids.append(entry_id)
    if restore_blobs.may_refer_to_blobs(entry):
        context.blobs[len(context.messages)] = restore_blobs.truncations_of(entry)
    context.messages.append(summaries.compaction_message(entry))
    context.entry_ids.append(entry_id)


def _add_messages(
    context: Context, tree: Tree, rows: Sequence[int], read: Read, edits: dict[str, Raw | None],
    *, excluded_role: str | None = None,
) -> Steps[None]:  # fmt: skip
    """Add the messages of rows, except those of one role: pi's compactions keep no system messages."""
    add_message, add_entry_id = context.messages.append, context.entry_ids.append
    for batch in steps.batches(tree, rows):
        for row, entry in zip(batch, read(batch), strict=True):
            entry_id = tree.id(row) or ""
            message = _MESSAGE_READERS[tree.kind(row)](entry, edits.get(entry_id, UNSET))
            if message is not None and (excluded_role is None or message.role != excluded_role):
                if restore_blobs.may_refer_to_blobs(entry):
                    context.blobs[len(context.messages)] = restore_blobs.truncations_of(
                        entry, below="/message"
                    )
                add_message(message.body)
                add_entry_id(entry_id)
        yield
