"""Appends the new entries of a source that has grown to its session."""

import asyncio
from collections.abc import Container, Sequence
from typing import Final

import msgspec

from sessiond.hub.errors import HubError
from sessiond.hub.session import drafts
from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.entry_placement import Placement
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.session.dialects import imported_log
from sessiond.session.dialects.import_builder import Imported, ImportedEntry

ENTRIES_AT_ONCE: Final = 500
"""Limit of entries in one append."""
_ADVANCING: Final = Placement(as_found=True)
_STAYING: Final = Placement(as_found=True, advance=False)


async def append_entries(
    live: LiveSession, imported: Imported, new: Sequence[ImportedEntry], origin: t.Origin
) -> None:
    """Append the new entries of a source. The leaf moves if it is still an imported entry, or the session has none.

    Raises `StorageFailed`, and the other errors of an append.
    """
    leaf = live.tree.pending_leaf_id
    follows = leaf is None or any(it.id == leaf for it in imported.entries)
    there = {it.id for it in imported.entries}
    for start in range(0, len(new), ENTRIES_AT_ONCE):
        some = new[start : start + ENTRIES_AT_ONCE]
        batch = [_draft(it, imported.dialect, there) for it in some]
        is_last = start + ENTRIES_AT_ONCE >= len(new)
        if is_last and follows and some[-1].id != imported.leaf:
            batch.append(msgspec.json.encode({"type": "leaf", "targetId": imported.leaf}))
        await _appended(live, batch, _ADVANCING if follows else _STAYING, origin)


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
