"""From drafts to lines: checks what a client sent, gives ids, parents and timestamps, and finds retries.

Bodies are spliced, never re-encoded, so what is stored is what was sent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.hub import clock, safety
from sessiond.hub.errors import EntryNotFound, IdReused, InvalidEntry, LeafConflict
from sessiond.session import entries, lines
from sessiond.session.tree import NONE, NewRow, Tree

MAX_ENTRY_BYTES: Final = 48 * 1024 * 1024
"""One entry must fit into a frame again when it is read."""

_head = msgspec.json.Decoder(entries.DraftHead)
_fields = msgspec.json.Decoder(dict[str, Raw])
_encode = msgspec.json.encode
_KNOWN = frozenset(entries.TYPES)
_POINTERS = frozenset(("leaf", "label"))
_OURS = frozenset(("type", "id", "parentId", "timestamp"))


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a batch goes: see `session/append`."""

    parent_id: str | None | UnsetType = UNSET
    expected_leaf: str | None | UnsetType = UNSET
    branch_on_conflict: bool = False
    advance: bool = True


@dataclass(frozen=True, slots=True)
class Prepared:
    """A batch ready to be queued: new rows, all ids in the order of the request, and the leaf afterwards."""

    rows: tuple[NewRow, ...]
    ids: tuple[str, ...]
    created: frozenset[str]
    leaf: str | None
    branched: bool


def prepare(
    tree: Tree, drafts: Sequence[bytes], placement: Placement, read: Callable[[int], bytes]
) -> Prepared:
    """Turn drafts into rows for `tree`, without changing it. Raises a `HubError` when one cannot be stored."""
    checked = [_check(index, bytes(draft)) for index, draft in enumerate(drafts)]
    leaf = tree.pending_leaf_id
    known = [_stored_before(tree, draft, read) for draft in checked]
    parent, branched = leaf, False
    if not all(known):
        parent, branched = _place(tree, placement, leaf)
    rows: list[NewRow] = []
    ids: list[str] = []
    batch: set[str] = set()
    for index, (draft, stored) in enumerate(zip(checked, known, strict=True)):
        if stored:
            entry_id = str(draft.id)
        else:
            if draft.parent_id is not UNSET:
                parent = draft.parent_id
                if parent is not None and parent not in batch and tree.any_row(parent) is None:
                    raise EntryNotFound(parent)
            entry_id = draft.id or clock.entry_id(
                lambda name: tree.any_row(name) is not None or name in batch
            )  # noqa: B023
            if entry_id in batch:
                raise InvalidEntry(index, f"the id {entry_id} stands twice in the batch")
            if draft.type in _POINTERS:
                target = _target(draft)
                if target is not None and target not in batch and tree.any_row(target) is None:
                    raise EntryNotFound(target)
                parent = target if draft.type == "leaf" else parent
            new = _row(draft, entry_id, parent)
            if draft.type == "compaction":
                safety.check_compaction(safety.steps(tree, rows, parent, read), new.line, entry_id)
            rows.append(new)
            batch.add(entry_id)
        ids.append(entry_id)
        if draft.type != "leaf":
            parent = entry_id
    if rows and not placement.advance:
        rows.append(leaf_row(tree, leaf, taken=batch))
    elif rows:
        leaf = parent
    return Prepared(tuple(rows), tuple(ids), frozenset(batch), leaf, branched)


def leaf_row(tree: Tree, target: str | None, *, taken: frozenset[str] | set[str] = frozenset()) -> NewRow:
    """The line that says where the leaf is. Its parent is its target, so that programs which take the last line
    as the tip still walk the right path (design §3.1)."""
    entry_id = clock.entry_id(lambda name: tree.any_row(name) is not None or name in taken)
    where = _encode(target)
    line = b'{"type":"leaf","id":"%b","parentId":%b,"timestamp":"%b","targetId":%b}\n' % (
        entry_id.encode(), where, clock.timestamp().encode(), where,
    )  # fmt: skip
    return NewRow(line, "leaf", entry_id, target)


@dataclass(frozen=True, slots=True)
class _Draft:
    index: int
    type: str
    id: str | None
    parent_id: str | None | UnsetType
    timestamp: str | None
    role: str | None
    fields: dict[str, Raw]


def _check(index: int, raw: bytes) -> _Draft:
    if len(raw) > MAX_ENTRY_BYTES:
        raise InvalidEntry(
            index, f"it has {len(raw):,} bytes, more than the {MAX_ENTRY_BYTES:,} an entry may have"
        )
    if b"\n" in raw:
        raw = msgspec.json.format(raw, indent=-1)
    try:
        if not raw.isascii():
            raw.decode()
        head = _head.decode(raw)
        role = None
        if head.type in _KNOWN:
            payload = entries.decode_payload(raw)
            if isinstance(payload, entries.MessageEntry):
                role = payload.message.role
        fields = _fields.decode(raw)
    except UnicodeDecodeError:
        raise InvalidEntry(index, "it is not valid UTF-8") from None
    except RecursionError:
        raise InvalidEntry(index, "it is nested too deeply") from None
    except msgspec.DecodeError as error:
        raise InvalidEntry(index, str(error)) from None
    if head.type == "session":
        raise InvalidEntry(index, "`session` is the type of the header; `session/create` writes that")
    if not head.type:
        raise InvalidEntry(index, "its type is empty")
    if head.id is not UNSET and not entries.valid_entry_id(head.id):
        raise InvalidEntry(index, "its id is not 1 to 64 characters of A-Z a-z 0-9 _ -")
    return _Draft(
        index, head.type, None if head.id is UNSET else head.id, head.parent_id,
        None if head.timestamp is UNSET else head.timestamp, role, fields,
    )  # fmt: skip


def _place(tree: Tree, placement: Placement, leaf: str | None) -> tuple[str | None, bool]:
    """The parent of the first new entry, and whether it became a sibling because the leaf had moved."""
    expected = placement.expected_leaf
    moved = expected is not UNSET and expected != leaf
    if moved:
        row = NONE if expected is None else tree.any_row(str(expected))
        if row is None:
            raise EntryNotFound(str(expected))
        if not placement.branch_on_conflict:
            raise LeafConflict(
                None if expected is None else str(expected),
                leaf,
                seq=len(tree) - 1,
                missing=len(tree) - 1 - max(row, 0),
            )
    if placement.parent_id is UNSET:
        return (expected if moved else leaf), moved  # type: ignore[return-value]
    parent = placement.parent_id
    if parent is not None and tree.any_row(str(parent)) is None:
        raise EntryNotFound(str(parent))
    return parent, moved


def _stored_before(tree: Tree, draft: _Draft, read: Callable[[int], bytes]) -> bool:
    """Whether this is a retry of an entry that is stored. Raises `IdReused` when its content is another."""
    row = None if draft.id is None else tree.any_row(draft.id)
    if row is None or draft.id is None:
        return False
    stored = lines.loads(read(row))
    for name, value in draft.fields.items():
        if name not in stored or stored[name] != _loads(value):
            raise IdReused(draft.id, row)
    if any(name not in draft.fields for name in stored if name not in _OURS):
        raise IdReused(draft.id, row)
    return True


def _target(draft: _Draft) -> str | None:
    return msgspec.json.decode(draft.fields["targetId"])  # type: ignore[no-any-return]  # checked by decode_payload


def _loads(value: Raw) -> Any:
    return msgspec.json.decode(value)


def _row(draft: _Draft, entry_id: str, parent_id: str | None) -> NewRow:
    parts = [
        b'{"type":', _encode(draft.type),
        b',"id":"', entry_id.encode(),
        b'","parentId":', _encode(parent_id),
        b',"timestamp":', _encode(draft.timestamp or clock.timestamp()),
    ]  # fmt: skip
    for name, value in draft.fields.items():
        if name not in _OURS:
            parts += (b",", _encode(name), b":", bytes(value))
    parts.append(b"}\n")
    return NewRow(b"".join(parts), draft.type, entry_id, parent_id, draft.role)
