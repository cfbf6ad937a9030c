"""Records in a session the state and the path of its agent's file, beside the conversation."""

from typing import Final

import msgspec

from sessiond.hub import clock
from sessiond.hub.session.live import LiveSession
from sessiond.hub.transfer.import_appending import append_aside
from sessiond.protocol import types as t
from sessiond.session.listing import info
from sessiond.session.tree import entries, lines
from sessiond.session.tree.origin import FileState

_BY_DAEMON: Final = t.Origin(kind="daemon")


async def append(
    live: LiveSession, state: FileState, path: str | None = None, *, ended: bool = False
) -> None:
    """Append the state of the agent's file. Neither the leaf nor the time of the session's last change moves.

    Args:
        live: The session.
        state: The state.
        path: The file, if the origin of the session names another one until now.
        ended: Whether no process of the agent has the session any more. The next message revokes it.

    Raises:
        StorageFailed: The entry could not be written. Other errors of an append are raised, too.
    """
    data: dict[str, object] = {"state": state, "timestamp": clock.timestamp()}
    if path is not None:
        data["sourcePath"] = lines.valid_text(path)
    if ended:
        data["ended"] = True
    entry = {
        "type": "custom", "parentId": None, "timestamp": info.summarize(live.tree, live.read_rows).updated_at,
        "customType": entries.ORIGIN_STATE_TYPE, "data": data,
    }  # fmt: skip
    await append_aside(live, [msgspec.json.encode(entry)], _BY_DAEMON)
