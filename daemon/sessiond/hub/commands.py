"""From a request with a `commandId` to the command that lines and the journal of commands know."""

from typing import Any, Final

import msgspec

from sessiond.hub.errors import InvalidRequest
from sessiond.protocol import methods as m, types as t
from sessiond.session.commands import Command, digest_of

_DELIVERY: Final = {"command_id": None, "work_done_token": None}
"""Params that say how a request is sent and answered, not what it does, and what stands for them in a digest."""


def command_of(method: m.Method[Any, Any], params: t.Wire, session_id: str | None = None) -> Command | None:
    """The command that a request is; None when it brought no `commandId`.

    `session_id` is the session whose lines record the command, however the request names it. Raises
    `InvalidRequest` when the request also brings an id for its entry, which makes it repeatable by itself.
    """
    command_id = getattr(params, "command_id", None)
    if command_id is None:
        return None
    if session_id is not None and getattr(params, "id", None) is not None:
        raise InvalidRequest("say either id or commandId: each makes the request repeatable")
    changes: dict[str, str | None] = {
        name: value for name, value in _DELIVERY.items() if hasattr(params, name)
    }
    if session_id is not None:
        changes["session_id"] = session_id
    same: Any = msgspec.structs.replace(params, **changes)
    digest = digest_of(method.name, msgspec.json.encode(same))
    return Command(id=command_id, method=method.name, digest=digest, session_id=session_id or "")
