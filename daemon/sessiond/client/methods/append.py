"""The method `session/append`, with ids for entries that have none."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.client.commands import PROVIDER_FIELDS
from sessiond.client.methods.base import TWICE, Methods
from sessiond.protocol import methods as m, types as t
from sessiond.session.formats import from_openai_responses


class AppendMethods(Methods):
    """The request that adds entries."""

    async def append(
        self,
        session_id: str,
        entries: Sequence[Mapping[str, Any]],
        *,
        format: t.Format = "agent",
        parent_id: str | UnsetType | None = UNSET,
        expected_leaf_id: str | UnsetType | None = UNSET,
        on_conflict: Literal["reject", "branch"] = "reject",
        advance: bool = True,
        durability: t.Durability = "synced",
    ) -> t.AppendResult:
        """Add entries to a session: all of them, or none.

        An entry without an id gets one here, so that a repeated request stores no entry twice.

        Args:
            session_id: The whole id of the session.
            entries: The entries, in the order of the log; a message alone becomes an entry of type "message".
            format: The format of the messages in `entries`.
            parent_id: The parent of the first entry; None makes it a root. Default: the session's leaf.
            expected_leaf_id: The leaf that the client knows; None before the first entry.
            on_conflict: If the leaf is not `expected_leaf_id`, "reject" raises `RpcError`, and "branch" appends
                below `expected_leaf_id`.
            advance: Move the session's leaf to the last entry.
            durability: Return when the entries are "written" to the file, or "synced" to the disk.

        Returns:
            The ids and lines of the entries, and the leaf and the last line after them.

        Raises:
            RpcError: The daemon refused the request, and nothing was stored. `kind` is for example
                `leafConflict`, `invalidEntry` or `storageFull`; protocol.md lists them all.
            DisconnectedError: The connection was lost in both attempts.
        """
        params = t.AppendParams(
            session_id=session_id,
            entries=[Raw(msgspec.json.encode(with_entry_id(entry, format))) for entry in entries],
            format=format,
            parent_id=parent_id,
            expected_leaf_id=expected_leaf_id,
            on_conflict=on_conflict,
            advance=advance,
            durability=durability,
        )
        return await self.call(m.APPEND, params, attempts=TWICE)


def with_entry_id(entry: Mapping[str, Any], format: t.Format) -> Mapping[str, Any]:
    """Return the entry with an id. A message or a response of a provider becomes an entry with that message."""
    if ("type" not in entry and "role" in entry) or (format != "agent" and _is_of_provider(entry)):
        entry = {"type": "message", "message": entry}
    if entry.get("id") is not None:
        return entry
    return {"id": secrets.token_hex(4), **{name: value for name, value in entry.items() if name != "id"}}


def _is_of_provider(entry: Mapping[str, Any]) -> bool:
    type = entry.get("type")
    if "message" not in entry and type in from_openai_responses.ITEM_TYPES:
        return True
    fields = PROVIDER_FIELDS if "message" in entry else (*PROVIDER_FIELDS, "output")
    is_message = type in (None, "message", *from_openai_responses.ITEM_TYPES)
    return is_message and any(name in entry for name in fields)
