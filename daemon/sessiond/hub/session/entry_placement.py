"""Turns drafts into rows: assigns ids, parents and timestamps, detects retries, and determines the new leaf.

Bodies are spliced, never re-encoded, so stored bodies equal the sent ones.
"""

from collections.abc import Callable, Collection, Container, Sequence
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from sessiond.hub import clock
from sessiond.hub.errors import (
    CommandReused,
    EntryNotFound,
    IdReused,
    InvalidEntry,
    LeafConflict,
    WouldBreakTree,
)
from sessiond.hub.session import json_equality
from sessiond.hub.session.drafts import Draft, NewMessage, read_draft, read_in_steps
from sessiond.session.compaction import safety
from sessiond.session.tree import command_ids, entries
from sessiond.session.tree.batches import MORE_FOLLOWS
from sessiond.session.tree.command_ids import CommandRecord
from sessiond.session.tree.entries import CommandMark
from sessiond.session.tree.steps import Steps, run
from sessiond.session.tree.tree import NONE, NewRow, Tree

_encode = msgspec.json.Encoder().encode
_POINTERS = frozenset(("leaf", "label"))
_DRAFTS_A_STEP: Final = 50
_LARGE: Final = 256 * 1024
"""A draft with more bytes than this has steps of its own."""
_OURS = frozenset(("type", "id", "parentId", "timestamp", entries.COMMAND_FIELD))


class Placement(msgspec.Struct, frozen=True, gc=False):
    """The place of a batch: see `session/append`."""

    parent_id: str | UnsetType | None = UNSET
    expected_leaf_id: str | UnsetType | None = UNSET
    branch_on_conflict: bool = False
    advance: bool = True
    as_found: bool = False  # entries of another program's session: compactions are not checked
    command: CommandRecord | None = None  # makes the request idempotent: its lines name the command


AT_THE_LEAF: Final = Placement()


class NewIds(msgspec.Struct, frozen=True, gc=False):
    """The ids of new entries whose drafts have none.

    Attributes:
        length: The hex characters of a random id.
        pinned: The ids that an earlier attempt gave to the drafts of this batch. They are used again where they are
            free, because the lines of that attempt may still arrive at the store.
    """

    length: int = clock.SHORT
    pinned: Sequence[str] = ()

    def of(self, tree: Tree, index: int, created: Container[str]) -> str:
        """Return the id for the draft at an index, which is neither in the tree nor in `created`."""
        if index < len(self.pinned):
            entry_id = self.pinned[index]
            if entry_id not in created and tree.any_row(entry_id) is None:
                return entry_id
        return free_id(tree, created, self.length)


SHORT_IDS: Final = NewIds()
LONG_IDS: Final = NewIds(clock.LONG)


def at_the_leaf(command: CommandRecord | None) -> Placement:
    """Return the placement of a command's entries at the leaf."""
    return AT_THE_LEAF if command is None else Placement(command=command)


class Prepared(msgspec.Struct, frozen=True, gc=False):
    """A batch that is ready to be queued: new rows, all ids in the order of the request, the leaf before and after.

    `repeated` is the record of an earlier request with the same command, from its lines. There are no new rows then.
    """

    rows: list[NewRow]
    ids: list[str]
    created: Collection[str]
    former_leaf: str | None
    leaf: str | None
    branched: bool = False
    is_plain: bool = False  # one new entry at the leaf that changes nothing else: the most common batch
    repeated: CommandMark | None = None

    @property
    def duplicate(self) -> bool:
        """Whether the batch creates no entries, because all of them are stored already."""
        return not self.created


def prepare(
    tree: Tree,
    drafts: Sequence[bytes],
    placement: Placement,
    read: Callable[[int], bytes],
    new_ids: NewIds = SHORT_IDS,
) -> Prepared:
    """Turn drafts into rows for `tree`, without changing it.

    Args:
        tree: The tree of the session, with its pending rows.
        drafts: The drafts, as JSON.
        placement: Where the batch goes.
        read: Returns the stored entry of a row.
        new_ids: The ids of new entries.

    Raises:
        HubError: A draft cannot be stored.
    """
    if len(drafts) == 1 and placement is AT_THE_LEAF:
        draft = read_draft(0, drafts[0])
        is_plain = draft.type == "message" or draft.sets_no_property
        if is_plain and draft.parent_id is UNSET and (draft.id is None or tree.any_row(draft.id) is None):
            entry_id = draft.id or new_ids.of(tree, 0, ())
            leaf = tree.pending_leaf_id
            return plain(_row(draft, entry_id, leaf))
    return run(prepare_in_steps(tree, drafts, placement, read, new_ids))


def place_messages(tree: Tree, messages: Sequence[NewMessage], id_length: int = clock.SHORT) -> list[NewRow]:
    """Turn new messages into rows, each below the one before it and the first at the leaf, as `prepare` does."""
    rows: list[NewRow] = []
    timestamp = clock.timestamp().encode()
    parent_id = tree.pending_leaf_id
    quoted_parent = _encode(parent_id)
    for entry_id, message in zip(_free_ids(tree, len(messages), id_length), messages, strict=True):
        quoted_id = b'"%b"' % entry_id.encode()
        line = b'{"type":"message","id":%b,"parentId":%b,"timestamp":"%b","message":%b}\n' % (
            quoted_id, quoted_parent, timestamp, message.body,
        )  # fmt: skip
        rows.append(NewRow(line, "message", entry_id, parent_id, message.role))
        parent_id, quoted_parent = entry_id, quoted_id
    return rows


def place_again(tree: Tree, rows: Sequence[NewRow], id_length: int) -> list[NewRow]:
    """Place the rows of `place_messages` again, at the present leaf. They keep their ids where these are still free."""
    placed: list[NewRow] = []
    parent_id = tree.pending_leaf_id
    for row in rows:
        is_free = tree.any_row(row.id) is None
        entry_id = row.id if is_free else free_id(tree, [other.id for other in (*rows, *placed)], id_length)
        line = (
            _head(b'"message"', entry_id, parent_id)
            + row.line[len(_head(b'"message"', row.id, row.parent_id)) :]
        )
        placed.append(msgspec.structs.replace(row, line=line, id=entry_id, parent_id=parent_id))
        parent_id = entry_id
    return placed


def _head(quoted_type: bytes, entry_id: str, parent_id: str | None) -> bytes:
    """Return the beginning of an entry, up to its parent."""
    return b'{"type":%b,"id":"%b","parentId":%b' % (quoted_type, entry_id.encode(), _encode(parent_id))


def plain(row: NewRow) -> Prepared:
    """Return the batch of one new entry at the leaf that changes nothing else."""
    ids = [row.id]
    return Prepared([row], ids, ids, row.parent_id, row.id, is_plain=True)


def prepare_in_steps(
    tree: Tree,
    drafts: Sequence[bytes],
    placement: Placement,
    read: Callable[[int], bytes],
    new_ids: NewIds = SHORT_IDS,
) -> Steps[Prepared]:
    """Prepare a batch as `prepare` does, in steps. No row may be added to the tree or removed between steps."""
    command = placement.command
    if command is not None and (known := command_ids.find(tree, command, read)) is not None:
        return _repeated(tree, command, known)
    checked, stored = yield from _checked(tree, drafts, read)
    former_leaf = leaf = tree.pending_leaf_id
    parent, branched = leaf, False
    if len(stored) < len(checked) and placement is not AT_THE_LEAF:
        parent, branched = _place(tree, placement, leaf)
    rows: list[NewRow] = []
    ids: list[str] = []
    created: set[str] = set()
    mark = None if command is None else command.of_line(former_leaf)
    for draft in checked:
        if draft.index in stored:
            entry_id = draft.id or ""
        else:
            entry_id = _new_id(tree, draft, created, command, new_ids)
            parent = _parent(tree, draft, created, parent)
            new = _row(draft, entry_id, parent, mark)
            if draft.type == "compaction" and not placement.as_found:
                _check_compaction(tree, rows, new, read)
            rows.append(new)
            created.add(entry_id)
        ids.append(entry_id)
        parent = draft.target if draft.type == "leaf" else entry_id
        if len(ids) % _DRAFTS_A_STEP == 0 or (rows and len(rows[-1].line) > _LARGE):
            yield
    if rows and placement.advance:
        leaf = parent
    elif rows:
        rows.append(_leaf_row(leaf, free_id(tree, created, new_ids.length)))
    return Prepared((yield from _as_one(rows)), ids, created, former_leaf, leaf, branched)


def _checked(
    tree: Tree, drafts: Sequence[bytes], read: Callable[[int], bytes]
) -> Steps[tuple[list[Draft], set[int]]]:
    """Return the parsed drafts, and the indexes of those that are retries of stored entries."""
    checked: list[Draft] = []
    stored: set[int] = set()
    for index, raw in enumerate(drafts):
        if len(raw) > _LARGE:
            draft = yield from read_in_steps(index, raw)
        else:
            draft = read_draft(index, raw)
        checked.append(draft)
        if draft.id is not None and _is_retry(tree, draft, read):
            stored.add(index)
        if index % _DRAFTS_A_STEP == _DRAFTS_A_STEP - 1 or len(raw) > _LARGE:
            yield
    return checked, stored


def _repeated(tree: Tree, command: CommandRecord, known: command_ids.Recorded) -> Prepared:
    """Return the result of a command that was carried out before. Raises `CommandReused` if its digest differs."""
    if known.digest != command.digest:
        raise CommandReused(command.id, known.mark.method)
    former = known.mark.answer.get("previousLeafId")
    leaf = tree.pending_leaf_id
    return Prepared(
        [], known.ids, set(), former if isinstance(former, str) else None, leaf, repeated=known.mark
    )


def _check_compaction(tree: Tree, rows: Sequence[NewRow], new: NewRow, read: Callable[[int], bytes]) -> None:
    """Raise `WouldBreakTree` unless a compaction is safe at its place."""
    found = safety.find_violation(tree, rows, new, read)
    if found is not None:
        raise WouldBreakTree(new.id, found.rule, found.reason)


def _as_one(rows: list[NewRow]) -> Steps[list[NewRow]]:
    """Mark the lines of a batch, so that after a crash the whole batch is present or none of it."""
    for place, row in enumerate(rows[:-1]):
        rows[place] = msgspec.structs.replace(row, line=row.line[:-2] + MORE_FOLLOWS + b"\n")
        if place % _DRAFTS_A_STEP == _DRAFTS_A_STEP - 1 or len(row.line) > _LARGE:
            yield
    return rows


def ended(lines: Sequence[bytes]) -> list[bytes]:
    """Return lines as a separate log: the mark of a continued batch is removed from the last line."""
    *before, last = lines
    last = last.rstrip(b"\n")
    return [*before, (last[: -len(MORE_FOLLOWS)] + b"}" if last.endswith(MORE_FOLLOWS) else last) + b"\n"]


def _place(tree: Tree, placement: Placement, leaf: str | None) -> tuple[str | None, bool]:
    """Return the parent of the first new entry, and whether it becomes a sibling because the leaf has moved."""
    expected = placement.expected_leaf_id
    moved = expected is not UNSET and expected != leaf
    if moved and expected is not UNSET:
        row = NONE if expected is None else tree.any_row(expected)
        if row is None:
            raise EntryNotFound(str(expected))
        if not placement.branch_on_conflict:
            last = len(tree) - 1
            raise LeafConflict(expected, leaf, seq=last, missing=last - max(row, 0))
        leaf = expected
    if placement.parent_id is not UNSET:
        return _existing(tree, set(), placement.parent_id), moved
    return leaf, moved


def _existing(tree: Tree, created: set[str], entry_id: str | None) -> str | None:
    """Return the id of an existing entry, or None. Raises `EntryNotFound`."""
    if entry_id is not None and entry_id not in created and tree.any_row(entry_id) is None:
        raise EntryNotFound(entry_id)
    return entry_id


def free_id(tree: Tree, created: Container[str] = (), length: int = clock.SHORT) -> str:
    """Return a new entry id that is neither in the tree nor in `created`."""
    while True:
        entry_id = clock.entry_id(length)
        if entry_id not in created and tree.any_row(entry_id) is None:
            return entry_id


def _free_ids(tree: Tree, count: int, length: int) -> list[str]:
    """Return different new entry ids that are not in the tree."""
    while True:
        ids = clock.entry_ids(count, length)
        if (count == 1 or len(set(ids)) == count) and not tree.has_any(ids):
            return ids


def _new_id(
    tree: Tree, draft: Draft, created: Container[str], command: CommandRecord | None, new_ids: NewIds
) -> str:
    if draft.id is not None and draft.id in created:
        raise InvalidEntry(draft.index, f"the id {draft.id} stands twice in the batch - at `$.id`")
    if draft.id is None and command is not None:
        return command_ids.new_id(tree, command, draft.index, created)
    return draft.id or new_ids.of(tree, draft.index, created)


def _parent(tree: Tree, draft: Draft, created: set[str], above: str | None) -> str | None:
    """Return the parent of a new entry: its own, its target if it moves the leaf, else the entry above it."""
    parent = above if draft.parent_id is UNSET else _existing(tree, created, draft.parent_id)
    if draft.type not in _POINTERS:
        return parent
    target = _existing(tree, created, draft.target)
    return target if draft.type == "leaf" else parent


def _is_retry(tree: Tree, draft: Draft, read: Callable[[int], bytes]) -> bool:
    """Whether a draft repeats a stored entry. Raises `IdReused` if the stored content differs."""
    row = tree.any_row(draft.id or "")
    if row is None:
        return False
    fields = {name: value for name, value in draft.fields.items() if name != entries.COMMAND_FIELD}
    if draft.type == "leaf":
        fields.pop("parentId", None)  # its parent is always its target
    if not json_equality.contains(read(row), fields, beside=_OURS):
        raise IdReused(draft.id or "", row)
    return True


def _row(draft: Draft, entry_id: str, parent_id: str | None, mark: CommandMark | None = None) -> NewRow:
    head = _head(_encode(draft.type), entry_id, parent_id)
    parts = [head, b',"timestamp":', _encode(draft.timestamp or clock.timestamp())]
    for name, value in draft.fields.items():
        if name not in _OURS:
            parts += (b",", _encode(name), b":", value)
    if mark is not None:
        parts += (b",", _encode(entries.COMMAND_FIELD), b":", _encode(mark))
    parts.append(b"}\n")
    return NewRow(b"".join(parts), draft.type, entry_id, parent_id, draft.role, draft.sets_no_property)


def _leaf_row(target: str | None, entry_id: str) -> NewRow:
    """Return a line that sets the leaf.

    Its parent is its target, so that programs that take the last line as the leaf still read the right path (decision
    0010).
    """
    where = _encode(target)
    line = b'{"type":"leaf","id":"%b","parentId":%b,"timestamp":"%b","targetId":%b}\n' % (
        entry_id.encode(), where, clock.timestamp().encode(), where,
    )  # fmt: skip
    return NewRow(line, "leaf", entry_id, target)
