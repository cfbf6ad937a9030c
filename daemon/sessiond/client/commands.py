"""The requests that take a `commandId`, so that they can be sent again when their response was lost.

The blocking client uses this module too, so it imports only the standard library.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

METHODS = frozenset(
    (
        "session/create", "session/continue", "session/fork", "session/label", "session/rename", "session/tag",
        "session/branch", "session/compact", "session/configure", "state/update", "state/beginTask",
        "session/move", "session/delete", "session/cleanup", "trash/restore", "trash/purge", "history/add",
        "history/delete", "blob/collect",
    )
)  # fmt: skip
"""Methods whose params have a `commandId`."""

APPEND = "session/append"
"""The method whose entries make it repeatable, if all of them have ids."""

PROVIDER_FIELDS = ("role", "choices", "candidates", "parts")
"""Fields that only messages and responses of providers have, and no entry with a `message`."""

_WITH_ID_OF_ENTRY = frozenset(("state/update", "state/beginTask"))
"""The methods that an `id` in the params makes repeatable as well."""


def new_command_id() -> str:
    """Return a new unique `commandId`."""
    return os.urandom(16).hex()


def repeatable(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the params with a new `commandId`, if the method takes one and the params have no id for it."""
    if method not in METHODS or (method in _WITH_ID_OF_ENTRY and params.get("id") is not None):
        return dict(params)
    known = params.get("commandId")
    return {**params, "commandId": new_command_id() if known is None else known}


def entry_ids(params: Mapping[str, Any]) -> list[str | None]:
    """Return the id of each entry of `session/append`; None for one that the daemon gives an id.

    In a provider's format, only an item with `message`, and with no field of a provider's message, is an entry. The
    `id` of any other item is the provider's own.
    """
    entries = params.get("entries")
    is_ours = params.get("format", "agent") == "agent"
    return [
        entry["id"]
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and (is_ours or _is_entry(entry))
        else None
        for entry in (entries if isinstance(entries, list) else ())
    ]


def is_repeatable(method: str, params: Mapping[str, Any]) -> bool:
    """Return whether a request that writes has the same effect however often it is sent."""
    if method == APPEND:
        ids = entry_ids(params)
        return bool(ids) and None not in ids
    if method not in METHODS:
        return False
    return params.get("commandId") is not None or (
        method in _WITH_ID_OF_ENTRY and params.get("id") is not None
    )


def _is_entry(item: Mapping[str, Any]) -> bool:
    return "message" in item and not any(name in item for name in PROVIDER_FIELDS)
