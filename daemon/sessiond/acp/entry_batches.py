"""Sends entries to the daemon: divides them into requests, and renames entries whose id is used."""

from collections.abc import Mapping
from typing import Any, Final

from sessiond.acp.stored_sessions import RecordedSessions
from sessiond.client.wire import RpcError
from sessiond.session.content import fields

Json = dict[str, Any]

MAX_BATCH: Final = 200
MAX_BATCH_BYTES: Final = 8 * 1024 * 1024


async def append_renamed(
    store: RecordedSessions, session_id: str, batch: list[Json], renamed: dict[str, str]
) -> None:
    """Append entries. An entry whose id belongs to another entry gets another id. Raises `UNAVAILABLE`.

    Args:
        store: The sessions in the daemon.
        session_id: The session.
        batch: The entries.
        renamed: The new ids of entries by their former ones, to which new ones are added.
    """
    while True:
        drafts = [_with_names(entry, renamed) for entry in batch]
        try:
            await store.append(session_id, drafts)
        except RpcError as error:
            used = error.details.get("entryId")
            draft = next((entry for entry in batch if renamed.get(entry["id"], entry["id"]) == used), None)
            if error.kind != "idReused" or draft is None or draft["id"] in renamed:
                raise
            own = draft["id"]
            renamed[own] = (
                f"{own[:50]}-{fields.digest(own, str(draft['parentId']))[:8]}"  # the same id in a repetition
            )
        else:
            return


def batch_of(waiting: list[Json]) -> list[Json]:
    """Return the first entries that go into one request."""
    size = 0
    for count, entry in enumerate(waiting[:MAX_BATCH]):
        size += size_of(entry)
        if size > MAX_BATCH_BYTES and count:
            return waiting[:count]
    return waiting[:MAX_BATCH]


def size_of(draft: Json) -> int:
    """Return about how many bytes an entry has."""
    found = draft.get("message") or draft.get("data") or {}
    blocks = found.get("content") if isinstance(found, dict) else None
    texts = [
        block.get("text") or block.get("thinking") or block.get("data") or ""
        for block in blocks or []
        if isinstance(block, dict)
    ]
    return 300 + sum(len(text) for text in texts if isinstance(text, str))


def _with_names(draft: Json, renamed: Mapping[str, str]) -> Json:
    own, parent = draft["id"], draft["parentId"]
    return {**draft, "id": renamed.get(own, own), "parentId": renamed.get(parent, parent)}
