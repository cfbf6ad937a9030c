"""The trash of all stores: lists its logs and finds them by name, without moving any."""

from collections.abc import Sequence
from typing import NamedTuple

from sessiond.hub.session_info import path_of
from sessiond.store.base import Store
from sessiond.store.records import Trashed


class InTrash(NamedTuple):
    """A log in the trash, and the store that trashed it."""

    store: Store
    log: Trashed
    ephemeral: bool

    @property
    def path(self) -> str | None:
        """The path of the log in the trash; None if the log is in memory or in a database."""
        return path_of(self.log.ref)


class Trash:
    """The combined trash of the store of sessions and of that of ephemeral sessions."""

    def __init__(self, stored: Store, memory: Store) -> None:
        self._stored = stored
        self._memory = memory

    async def list(self) -> Sequence[InTrash]:
        """Return every log in the trash, the most recently trashed first. Raises `StorageFailed`."""
        found = [
            InTrash(store, log, store is self._memory)
            for store in (self._stored, self._memory)
            for log in await store.trashed()
        ]
        return sorted(found, key=lambda trashed: (trashed.log.trashed_at, trashed.log.ref), reverse=True)

    async def find(self, name: str) -> InTrash | None:
        """Return the most recently trashed log with this session id, original ref or ref in the trash.

        Raises `StorageFailed`.
        """
        return next(
            (
                trashed
                for trashed in await self.list()
                if name in (trashed.log.session_id, trashed.log.origin, trashed.log.ref)
            ),
            None,
        )

    async def deleted_as(self, trash_id: str) -> InTrash | None:
        """Return the log with this id in the trash. The id is compared only. Raises `StorageFailed`."""
        return next((trashed for trashed in await self.list() if trashed.log.trash_id == trash_id), None)

    async def last_deleted(self, session_id: str) -> InTrash | None:
        """Return the most recently trashed log with this session id. Raises `StorageFailed`."""
        return next((trashed for trashed in await self.list() if trashed.log.session_id == session_id), None)

    async def beginning(self, name: str, *, shortest: int) -> Sequence[InTrash]:
        """Return the trashed logs whose session id begins with `name`, the most recently trashed first.

        Args:
            name: The first characters of an id.
            shortest: The minimum number of characters; a shorter `name` returns nothing.

        Raises:
            StorageFailed: The trash cannot be read.
        """
        if len(name) < shortest:
            return []
        return [trashed for trashed in await self.list() if trashed.log.session_id.startswith(name)]
