"""The parents and forks of sessions, from their headers, which name the parent by its id or by its path."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from sessiond.hub.errors import Draining
from sessiond.protocol import types as t
from sessiond.session.tree.parents import parent_of
from sessiond.store.errors import StorageFailed

log = logging.getLogger(__name__)

FRESH_SECONDS: Final = 1.0
"""Seconds after which the list of the sessions is read again, to find the changes of other programs."""


class Lineage:
    """Finds the parent and counts the forks of a session; `sessions` returns all sessions."""

    def __init__(self, sessions: Callable[[], Awaitable[Sequence[t.SessionSummary]]]) -> None:
        self._sessions = sessions
        self._ids: dict[str, str] = {}  # path -> session
        self._forks: Counter[str] = Counter()
        self._read_at = -FRESH_SECONDS
        self._reading = asyncio.Lock()

    def forget(self) -> None:
        """Discard the list of sessions, because a session was added or removed. The next query reads it again."""
        self._read_at = -FRESH_SECONDS

    async def of(self, session_id: str, parent: str | None) -> tuple[str | None, int]:
        """Return the parent of a session and the number of its forks.

        Args:
            session_id: The session.
            parent: The parent as the header names it: an id or a path.

        Returns:
            The id of the parent, None if it has none or it cannot be determined; and the number of sessions that
            name `session_id` as their parent. If the sessions cannot be listed, the last known number.
        """
        async with self._reading:
            if time.monotonic() - self._read_at >= FRESH_SECONDS:
                await self._read()
        return self._id_of(parent), self._forks[session_id]

    async def _read(self) -> None:
        self._read_at = time.monotonic()  # set first, so that a `forget` while the list is read is not lost
        try:
            sessions = await self._sessions()
        except (StorageFailed, Draining) as refusal:
            # The request itself has succeeded, so it does not fail for this: the last known list is used.
            log.warning("Cannot count the forks: %s", refusal)
            return
        self._ids = {session.path: session.session_id for session in sessions if session.path is not None}
        parents = (self._id_of(session.parent_path or session.parent_session_id) for session in sessions)
        self._forks = Counter(name for name in parents if name is not None)

    def _id_of(self, named: str | None) -> str | None:
        """Return the id of a parent that is named by its id or path; None if the path does not show it.

        If no session has that path, because the file was moved or removed, the id is taken from the file name.
        """
        parent = parent_of(named)
        return self._ids.get(parent.path or "") or parent.session_id
