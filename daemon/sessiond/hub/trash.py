"""What lies in the trash of all stores, and which of it a name means. Nothing is moved here."""

from collections.abc import Sequence
from typing import NamedTuple

from sessiond.store.base import Store, Trashed


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

    async def find(self, name: str, *, shortest: int) -> InTrash | None:
        """What went there last under this id, from this place, or to this one; or the only id that begins so.

        A beginning has at least `shortest` characters. Raises `StorageFailed`.
        """
        everything = await self.list()
        exact = [it for it in everything if name in (it.log.session_id, it.log.origin, it.log.ref)]
        if exact:
            return exact[0]
        near = [it for it in everything if len(name) >= shortest and it.log.session_id.startswith(name)]
        return near[0] if len({it.log.session_id for it in near}) == 1 else None
