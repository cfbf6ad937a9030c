"""Appends the new entries of a source that has grown to its session."""

import asyncio
from collections.abc import Container, Sequence
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from sessiond.hub.errors import HubError
from sessiond.hub.session import drafts
from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.entry_placement import Placement
from sessiond.hub.session.live import LiveSession
from sessiond.hub.transfer import our_marks
from sessiond.protocol import types as t
from sessiond.session.dialects import imported_log, recorded
from sessiond.session.dialects.import_builder import Imported, ImportedEntry

ENTRIES_AT_ONCE: Final = 500
"""Limit of entries in one append."""
_ADVANCING: Final = Placement(as_found=True)
_STAYING: Final = Placement(as_found=True, advance=False)


async def append_entries(
    live: LiveSession,
    imported: Imported,
    new: Sequence[ImportedEntry],
    origin: t.Origin,
    *,
    followed_from: str | UnsetType | None = UNSET,
    is_followed: bool = False,
) -> None:
    """Append the new entries of a source.

    The leaf moves to the leaf of the source if it is an imported entry, or the session has none. In a followed session
    it moves if a new entry belongs to the conversation, because the program is there, or if no client has moved it
    since the last append. In a session that `sessiond acp` records, it moves only to new messages. A title and tags
    that a client has set are kept in a followed session.

    Args:
        live: The session.
        imported: The result of reading the source, or a part of it.
        new: Those of its entries that the session lacks.
        origin: The origin of the entries.
        followed_from: The leaf after the last append from a followed source, if it is known.
        is_followed: Whether the program writes the source at present.

    Raises:
        StorageFailed: The entries could not be written. Other errors of an append are raised, too.
    """
    spoken = {it.id for it in imported.entries[1 : imported.conversation_count + 1]}
    leaf = live.tree.pending_leaf_id
    follows = leaf is None or any(it.id == leaf for it in imported.entries)
    if is_followed:
        new = our_marks.kept(live, _spoken_last(new, spoken), imported.dialect)
        follows = leaf is None or leaf == followed_from or any(it.id in spoken for it in new)
    if leaf is not None and recorded.is_recorded(live.tree, imported):
        # Every process of Gemini CLI begins a file of the session again, with only the context.
        follows = any(it.id in spoken and it.type == "message" for it in new)
    there = {it.id for it in imported.entries}
    for start in range(0, len(new), ENTRIES_AT_ONCE):
        some = new[start : start + ENTRIES_AT_ONCE]
        batch = [_draft(it, imported.dialect, there) for it in some]
        is_last = start + ENTRIES_AT_ONCE >= len(new)
        if is_last and follows and some[-1].id != imported.leaf:
            batch.append(msgspec.json.encode({"type": "leaf", "targetId": imported.leaf}))
        await _appended(live, batch, _ADVANCING if follows else _STAYING, origin)


def _spoken_last(new: Sequence[ImportedEntry], spoken: Container[str]) -> list[ImportedEntry]:
    """Order new entries so that the last one belongs to the conversation, unless a label must follow it.

    Most batches then need no line that sets the leaf.
    """
    beside = [it for it in new if it.id not in spoken]
    label = next((place for place, it in enumerate(beside) if it.type == "label"), len(beside))
    return [*beside[:label], *(it for it in new if it.id in spoken), *beside[label:]]


def _draft(it: ImportedEntry, dialect: str, there: Container[str | None]) -> bytes:
    """Return the draft of an entry. An entry that an append would refuse becomes raw data in a custom entry."""
    try:
        draft = drafts.read_draft(0, it.line)
    except HubError as refusal:
        return imported_log.as_preserved(it, dialect, str(refusal))
    if draft.target is not None and draft.target not in there:
        return imported_log.as_preserved(
            it, dialect, f"it points to an entry that is not in the file: {draft.target}"
        )
    return it.line


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
        raise outcome
