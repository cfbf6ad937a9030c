"""Records in a session whether the file of its agent is gone, beside the conversation."""

import asyncio
from typing import Final, Literal, TypeAlias

import msgspec

from sessiond.hub import clock
from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.entry_placement import Placement
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.session.tree import entries

State: TypeAlias = Literal["gone", "present"]

_STAYING: Final = Placement(advance=False)


async def append(live: LiveSession, state: State) -> None:
    """Append the state of the agent's file. The leaf does not move.

    Raises `StorageFailed`, and the other errors of an append.
    """
    first = live.tree.id(0) if len(live.tree) else None
    parent = first if first is not None and first.startswith("origin-") else None
    entry = {
        "type": "custom", "parentId": parent, "customType": entries.ORIGIN_STATE_TYPE,
        "data": {"state": state, "timestamp": clock.timestamp()},
    }  # fmt: skip
    ended: asyncio.Future[Outcome | Exception] = asyncio.get_running_loop().create_future()

    def done(outcome: Outcome | Exception) -> None:
        if not ended.done():
            ended.set_result(outcome)

    live.append([msgspec.json.encode(entry)], _STAYING, "synced", t.Origin(kind="daemon"), done)
    outcome = await ended
    if isinstance(outcome, Exception):
        raise outcome
