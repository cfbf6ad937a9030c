"""What lies in the trash of all stores, and which of it a name means. Nothing is moved here."""

from collections.abc import Sequence
from typing import NamedTuple

from sessiond.store.base import Store
from sessiond.store.records import Trashed


class InTrash(NamedTuple):
    """A log in the trash, and the store whose trash it is."""

    store: Store
    log: Trashed


class Trash:
    """The trash of several stores as one."""

    def __init__(self, *stores: Store) -> None:
        self._stores = stores

    async def list(self) -> Sequence[InTrash]:
        """Every log in the trash, those that went there last first. Raises `StorageFailed`."""
        found = [InTrash(store, log) for store in self._stores for log in await store.trashed()]
        return sorted(found, key=lambda it: (it.log.trashed_at, it.log.ref), reverse=True)

    async def find(self, name: str) -> InTrash | None:
        """Return what went there last under this id, from this place, or to this one. Raises `StorageFailed`."""
        return next(
            (it for it in await self.list() if name in (it.log.session_id, it.log.origin, it.log.ref)), None
        )

    async def beginning(self, name: str, *, shortest: int) -> Sequence[InTrash]:
        """Return what lies there under ids that begin with `name`, the last one first.

        Args:
            name: The first characters of an id.
            shortest: How many characters a beginning has at least; with fewer, nothing is returned.

        Raises:
            StorageFailed: The trash cannot be read.
        """
        if len(name) < shortest:
            return []
        return [it for it in await self.list() if it.log.session_id.startswith(name)]
