"""Tells the other daemons of the database what this daemon holds and does, by rows that it renews.

A daemon that has not been seen for `LIVING_SECONDS` holds nothing. Its holds are inserted again after it has lost the
server.
"""

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Final
from uuid import uuid4

from sessiond.store.errors import OutcomeUnknown, StorageFailed
from sessiond.store.postgres.queries import query
from sessiond.store.postgres.requests import Connection, DatabaseRequests

LIVING_SECONDS: Final = 30.0
_RENEW_SECONDS: Final = 5.0


class Presence:
    """The holds and claims of one daemon.

    Args:
        requests: Serves changes.
        owner: Returns the name of the role, which is known after the first connect.
    """

    def __init__(self, requests: DatabaseRequests, owner: Callable[[], str]) -> None:
        self._requests = requests
        self._owner = owner
        self._id = uuid4().hex
        self._held: set[str] = set()
        self._renewed_at = 0.0

    async def renew(self, connection: Connection) -> None:
        """Say that this daemon lives and what it holds, after a connect."""
        await connection.execute(query("seen"), self._id, self._owner())
        await connection.execute(query("hold"), self._owner(), list(self._held), self._id)
        self._renewed_at = time.monotonic()

    async def renew_if_due(self, connection: Connection) -> None:
        """Say that this daemon lives, if that was some seconds ago."""
        if time.monotonic() - self._renewed_at >= _RENEW_SECONDS:
            await self.renew(connection)
            await connection.execute(query("forget_daemons"), self._owner(), "", LIVING_SECONDS)

    async def end(self) -> None:
        """Say that this daemon has ended."""
        await self._requests.change(
            lambda connection: connection.execute(
                query("forget_daemons"), self._owner(), self._id, LIVING_SECONDS
            )
        )

    async def count_others(self) -> int:
        """Return the number of other living daemons."""
        count: int = await self._requests.read(
            lambda connection: connection.fetchval(
                query("count_daemons"), self._owner(), self._id, LIVING_SECONDS
            )
        )
        return count

    async def hold(self, ref: str) -> None:
        """See `base.Store.hold`. If the server cannot be reached, it receives the hold after the next connect."""
        self._held.add(ref)
        with suppress(StorageFailed, OutcomeUnknown):
            await self._requests.change(
                lambda connection: connection.execute(query("hold"), self._owner(), [ref], self._id)
            )

    async def release(self, ref: str) -> bool:
        """See `base.Store.release`. The row of the session is locked, so that one daemon releases at a time."""
        self._held.discard(ref)

        async def work(connection: Connection) -> bool:
            key = await connection.fetchval(query("lock_id"), self._owner(), ref)
            if key is None:
                return False
            await connection.execute(query("release"), key, self._id)
            return bool(await connection.fetch(query("held"), self._owner(), [ref], self._id, LIVING_SECONDS))

        try:
            return await self._requests.change(work)
        except (StorageFailed, OutcomeUnknown):
            return True

    async def held_elsewhere(self, refs: Collection[str]) -> set[str]:
        """See `base.Store.held_elsewhere`."""
        rows = await self._requests.read(
            lambda connection: connection.fetch(
                query("held"), self._owner(), list(refs), self._id, LIVING_SECONDS
            )
        )
        return {row["id"] for row in rows}

    async def claim(self, ref: str, work: str) -> bool:
        """See `base.Store.claim`."""
        found = await self._requests.change(
            lambda connection: connection.fetchval(
                query("claim"), self._owner(), ref, work, self._id, LIVING_SECONDS
            )
        )
        return bool(found)

    async def end_claim(self, ref: str, work: str) -> None:
        """See `base.Store.end_claim`."""
        with suppress(StorageFailed, OutcomeUnknown):
            await self._requests.change(
                lambda connection: connection.execute(query("end_claim"), self._owner(), ref, work, self._id)
            )
