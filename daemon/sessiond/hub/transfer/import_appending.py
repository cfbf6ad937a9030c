"""Appends the new entries of a source that has grown to its session."""

import asyncio
import contextlib
from collections.abc import Container, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from sessiond.hub.errors import HubError, LeafConflict
from sessiond.hub.session import drafts
from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.entry_placement import Placement
from sessiond.hub.session.live import LiveSession
from sessiond.hub.transfer import our_marks
from sessiond.hub.transfer.leading_file import FileRole
from sessiond.hub.transfer.leaf_owner import OF_IMPORT, is_above
from sessiond.protocol import types as t
from sessiond.session.content import fields
from sessiond.session.dialects import imported_log, recorded
from sessiond.session.dialects.import_builder import Imported, ImportedEntry
from sessiond.session.listing import info
from sessiond.session.tree.codes import KIND
from sessiond.session.tree.tree import Tree

ENTRIES_AT_ONCE: Final = 500
"""Limit of entries in one append."""
BYTES_AT_ONCE: Final = 4 * 1024 * 1024
"""The bytes of entries after which an append has no further one."""
_WITHOUT_WORK: Final = frozenset(KIND[kind] for kind in ("session_info", "label", "leaf"))
_ATTEMPTS: Final = 3
_ADVANCING: Final = Placement(as_found=True)
_STAYING: Final = Placement(as_found=True, advance=False)


async def append_entries(
    live: LiveSession,
    imported: Imported,
    new: Sequence[ImportedEntry],
    origin: t.Origin,
    *,
    role: FileRole,
    followed_from: str | UnsetType | None = UNSET,
    is_followed: bool = False,
) -> None:
    """Append the new entries of a source.

    The leaf moves to the leaf of the source if it is an imported entry, or the session has none. In a followed session
    it moves if a new entry belongs to the conversation, because the program is there, or if no client has moved it
    since the last append. A state of NOVA replaces the one before, unless work was done here since. In a session that
    `sessiond acp` records, it moves only to new messages. Of several files of a session, only the one that leads moves
    it. A title and tags that a client has set are kept in a followed session.

    Args:
        live: The session.
        imported: The result of reading the source, or a part of it.
        new: Those of its entries that the session lacks.
        origin: The origin of the entries.
        role: The relation of the source to the session.
        followed_from: The leaf after the last append from a followed source, if it is known.
        is_followed: Whether the program writes the source at present.

    Raises:
        StorageFailed: The entries could not be written. Other errors of an append are raised, too.
    """
    is_large = len(new) > ENTRIES_AT_ONCE  # then a thread does what would delay other requests
    prepared = await asyncio.to_thread(_prepared, imported, new) if is_large else _prepared(imported, new)
    spoken, there = prepared.spoken, prepared.there
    if is_followed:
        new = our_marks.kept(live, prepared.spoken_last, prepared.setting, imported.dialect)
    follows = _moves_leaf(
        live.tree, imported, new, spoken, role=role, followed_from=followed_from, is_followed=is_followed
    )
    if (
        not new and follows and live.tree.pending_leaf_id != imported.leaf
    ):  # the source has an earlier state again
        await _appended(live, [_leaf_at(live, imported)], _ADVANCING, origin)
    start = 0
    while start < len(new):
        if is_large:
            some, batch = await asyncio.to_thread(
                _next_drafts, new, start, imported.dialect, there, live.tree
            )
        else:
            some, batch = _next_drafts(new, start, imported.dialect, there, live.tree)
        start += len(some)
        is_last = start == len(new)
        if is_last and follows and some[-1].id != imported.leaf:
            batch.append(_leaf_at(live, imported))
        if follows:
            await _appended(live, batch, _ADVANCING, origin)
        elif role.is_other:
            await append_aside(live, batch, origin)
        else:
            await _appended(live, batch, _STAYING, origin)


def _moves_leaf(
    tree: Tree,
    imported: Imported,
    new: Sequence[ImportedEntry],
    spoken: Container[str],
    *,
    role: FileRole,
    followed_from: str | UnsetType | None,
    is_followed: bool,
) -> bool:
    """Return whether the leaf moves to that of the source, by the rules of `append_entries`.

    `spoken` has the ids of the conversation's entries.
    """
    leaf = tree.pending_leaf_id
    if leaf is None:
        follows = True
    elif is_followed:
        follows = leaf == followed_from or any(entry.id in spoken for entry in new)
    else:
        follows = any(entry.id == leaf for entry in imported.entries)
    if imported.is_state:
        follows = _follows_state(tree, leaf, imported.dialect)
    if leaf is not None and recorded.is_recorded(tree, imported):
        # Every process of Gemini CLI begins a file of the session again, with only the context.
        follows = any(entry.id in spoken and entry.type == "message" for entry in new)
    if role.is_other:
        follows = role.leads and (follows or not tree.count_messages())
    # Messages that a file has lost are not reverted.
    return follows and not (imported.is_cut and is_above(tree, imported.leaf, leaf))


def _next_drafts(
    new: Sequence[ImportedEntry], start: int, dialect: str, there: Container[str], tree: Tree
) -> tuple[Sequence[ImportedEntry], list[bytes]]:
    """Return the next entries that are appended together, and their drafts."""
    batch: list[bytes] = []
    size = 0
    for entry in new[start : start + ENTRIES_AT_ONCE]:
        batch.append(_draft(entry, dialect, there, tree))
        size += len(batch[-1])
        if size > BYTES_AT_ONCE:
            break
    return new[start : start + len(batch)], batch


async def append_aside(live: LiveSession, batch: Sequence[bytes], origin: t.Origin) -> None:
    """Append entries that change neither the leaf nor the time of the session's last change, by which lists are sorted.

    Raises as an append does.
    """
    for _ in range(_ATTEMPTS):
        leaf = live.tree.pending_leaf_id
        if leaf is None:
            break
        at = info.summarize(live.tree, live.read_rows).updated_at
        pointer = msgspec.json.encode({"type": "leaf", "targetId": leaf, "timestamp": at})
        placement = Placement(as_found=True, expected_leaf_id=leaf)
        with contextlib.suppress(LeafConflict):  # a client moves it at the same time
            await _appended(live, [*batch, pointer], placement, origin)
            return
    await _appended(live, batch, _STAYING, origin)


def replaces_state(tree: Tree, imported: Imported) -> bool:
    """Return whether an imported state becomes the one of its session."""
    leaf = tree.pending_leaf_id
    return leaf != imported.leaf and _follows_state(tree, leaf, imported.dialect)


def _follows_state(tree: Tree, leaf: str | None, dialect: str) -> bool:
    """Return whether nothing was said or done here since the last state was imported."""
    row = None if leaf is None else tree.any_row(leaf)
    while row is not None and row >= 0:
        if (tree.id(row) or "").startswith(f"{dialect}-"):
            return True
        if tree.kind(row) not in _WITHOUT_WORK:
            return False
        row = tree.parent(row)
    return True


def _leaf_at(live: LiveSession, imported: Imported) -> bytes:
    """Return the line that sets the leaf. Its id shows that no client moved the leaf (`leaf_owner`)."""
    name = f"{OF_IMPORT}{fields.digest(imported.leaf or '', str(len(live.tree)))}"
    # As in a new log: the session was not changed by its program when it was read.
    pointer = {"type": "leaf", "id": name, "targetId": imported.leaf, "timestamp": imported.timestamp}
    return msgspec.json.encode(pointer)


class _Prepared(NamedTuple):
    """The results of a loop over all entries, which may be thousands.

    Attributes:
        spoken: The ids of the entries of the conversation.
        there: The ids of all entries.
        spoken_last: The new entries in an order in which the last one belongs to the conversation, unless a label must
            follow it. Most batches then need no line that sets the leaf.
        setting: The places of those that set a title or tags.
    """

    spoken: set[str]
    there: set[str]
    spoken_last: list[ImportedEntry]
    setting: list[int]


def _prepared(imported: Imported, new: Sequence[ImportedEntry]) -> _Prepared:
    spoken = {entry.id for entry in imported.entries[1 : imported.conversation_count + 1]}
    beside = [entry for entry in new if entry.id not in spoken]
    label = next((place for place, entry in enumerate(beside) if entry.type == "label"), len(beside))
    ordered = [*beside[:label], *(entry for entry in new if entry.id in spoken), *beside[label:]]
    there = {entry.id for entry in imported.entries}
    return _Prepared(spoken, there, ordered, our_marks.setting(ordered))


def _draft(entry: ImportedEntry, dialect: str, there: Container[str], tree: Tree) -> bytes:
    """Return the draft of an entry. An entry that an append would refuse becomes raw data in a custom entry."""
    line = imported_log.with_usage(entry, dialect)
    try:
        draft = drafts.read_draft(0, line)
    except HubError as refusal:
        return imported_log.as_preserved(entry, dialect, str(refusal))
    if draft.target is not None and draft.target not in there and tree.any_row(draft.target) is None:
        return imported_log.as_preserved(
            entry, dialect, f"it points to an entry that is not in the file: {draft.target}"
        )
    return line


async def _appended(
    live: LiveSession, batch: Sequence[bytes], placement: Placement, origin: t.Origin
) -> None:
    ended: asyncio.Future[Outcome | Exception] = asyncio.get_running_loop().create_future()

    def done(outcome: Outcome | Exception) -> None:
        if not ended.done():
            ended.set_result(outcome)

    live.append(batch, placement, "synced", origin, done)
    outcome = await ended
    if isinstance(outcome, Exception):
        try:
            raise outcome
        finally:
            del outcome, ended  # the error would hold its own frames until a garbage collection
