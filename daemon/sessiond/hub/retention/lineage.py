"""Which session was forked from which, by what their headers say: the parent's id, or the path of its file."""

import asyncio
import logging
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from sessiond.hub.errors import Draining
from sessiond.protocol import types as t
from sessiond.store.errors import StorageFailed

log = logging.getLogger(__name__)

FRESH_SECONDS: Final = 1.0
"""For so long nobody looks again whether other programs have made or moved sessions."""

_IN_A_NAME: Final = re.compile(r"_([A-Za-z0-9][A-Za-z0-9_.-]{7,127})\.jsonl\Z")
"""How pi, oh-my-pi and sessiond name the file of a session (decision 0008)."""


class Lineage:
    """Parents and forks of all sessions that there are; `sessions` lists them."""

    def __init__(self, sessions: Callable[[], Awaitable[list[t.SessionInfo]]]) -> None:
        self._sessions = sessions
        self._ids: dict[str, str] = {}  # path -> session
        self._forks: Counter[str] = Counter()
        self._looked_at = -FRESH_SECONDS
        self._looking = asyncio.Lock()

    def forget(self) -> None:
        """A session has come or gone: look again when somebody asks."""
        self._looked_at = -FRESH_SECONDS

    async def of(self, session_id: str, parent: str | None) -> tuple[str | None, int]:
        """The id of the session that `parent` names, if that can be known; how many name `session_id` so."""
        async with self._looking:
            if time.monotonic() - self._looked_at >= FRESH_SECONDS:
                await self._look()
        return (self._id_of(parent) if parent else None), self._forks[session_id]

    async def _look(self) -> None:
        self._looked_at = time.monotonic()  # before the look: what is made meanwhile asks for another one
        try:
            sessions = await self._sessions()
        except (StorageFailed, Draining) as refusal:
            # What was asked has been done, or can be told but for this: what was known must do.
            log.warning("forks cannot be counted now: %s", refusal)
            return
        self._ids = {it.path: it.session_id for it in sessions if it.path is not None}
        parents = (self._id_of(it.parent_session) for it in sessions if it.parent_session)
        self._forks = Counter(name for name in parents if name is not None)

    def _id_of(self, parent: str) -> str | None:
        """A path may be that of a draft which has moved since, or of a file that is gone: its name still tells."""
        if "/" not in parent:
            return parent
        named = _IN_A_NAME.search(parent)
        return self._ids.get(parent) or (named[1] if named else None)
