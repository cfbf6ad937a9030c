"""The interface by which the registry finds sessions on disk by id; the index implements it."""

from typing import Protocol

from sessiond.protocol import types as t


class NearIds(Protocol):
    """The matches of an id: `refs` of the sessions whose ids begin with it, else `alike`, the similar ids."""

    @property
    def refs(self) -> dict[str, str]:
        """The refs of the sessions whose ids begin with the id, by session id."""
        ...

    @property
    def alike(self) -> list[str]:
        """The similar ids; empty if `refs` is not."""
        ...


class SessionLookup(Protocol):
    """Finds sessions on disk by id."""

    async def near(self, beginning: str, *, shortest: int) -> NearIds:
        """Return the matches of an id. A `beginning` with fewer than `shortest` characters only matches a whole id."""

    async def beginning(self, query: str, *, shortest: int, most: int) -> list[t.ListedSession]:
        """Return up to `most` sessions whose id begins with `query`."""
