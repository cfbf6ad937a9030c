"""The interface by which open sessions find others on disk by their ids; the index implements it."""

from typing import Protocol

from sessiond.protocol import types as t


class NearIds(Protocol):
    """What an id may mean: the refs of sessions by the ids that begin with it, else ids that are similar."""

    @property
    def refs(self) -> dict[str, str]: ...

    @property
    def alike(self) -> list[str]: ...


class SessionLookup(Protocol):
    """Finds sessions on disk by their ids. The index does."""

    async def near(self, beginning: str, *, shortest: int) -> NearIds:
        """Return the sessions that an id may mean; a beginning shorter than `shortest` must be the whole id."""

    async def beginning(self, query: str, *, shortest: int, most: int) -> list[t.ListedSession]:
        """Return up to `most` sessions whose id begins with `query`."""
