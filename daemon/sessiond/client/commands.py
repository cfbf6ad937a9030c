"""Which requests take a `commandId`, so that they can be sent again when their answer was lost.

For the blocking client, too: nothing but the standard library is imported.
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
        "session/branch", "session/compact", "session/configure", "session/updateState", "session/beginTask",
        "session/move", "session/delete", "session/restore", "session/cleanup", "session/purge", "history/add",
        "blob/collect",
    )
)  # fmt: skip
"""Methods whose params have a `commandId`."""

_WITH_ID_OF_ENTRY = frozenset(("session/updateState", "session/beginTask"))
"""Those of them that an `id` in the params makes repeatable, too."""


def new_command_id() -> str:
    """A `commandId` that nobody else uses."""
    return os.urandom(16).hex()


def repeatable(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The params of a request with a `commandId` of its own, if it takes one and has nothing like it."""
    if method not in METHODS or (method in _WITH_ID_OF_ENTRY and params.get("id") is not None):
        return dict(params)
    known = params.get("commandId")
    return {**params, "commandId": new_command_id() if known is None else known}


def is_repeatable(method: str, params: Mapping[str, Any]) -> bool:
    """Whether a request that writes may be sent again, however often it was carried out."""
    named = params.get("commandId") or (method in _WITH_ID_OF_ENTRY and params.get("id"))
    return method in METHODS and bool(named)
