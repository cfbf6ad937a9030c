"""The interface by which the registry finds sessions on disk by id; the index implements it."""

from collections.abc import Sequence
from typing import Protocol

from sessiond.protocol import types as t


class IdMatches(Protocol):
    """The matches of an id: `refs` of the sessions whose ids begin with it, else `similar_ids`, the similar ids."""

    @property
    def refs(self) -> dict[str, str]:
        """The refs of the sessions whose ids begin with the id, by session id."""
        ...

    @property
    def of_agents(self) -> Sequence[str]:
        """The ids here of sessions that an agent knows by the id."""
        ...

    @property
    def similar_ids(self) -> list[str]:
        """The similar ids; empty if `refs` is not."""
        ...


class SessionLookup(Protocol):
    """Finds sessions on disk by id."""

    async def find_by_id(self, prefix: str, *, min_prefix: int) -> IdMatches:
        """Return the matches of an id. A `prefix` with fewer than `min_prefix` characters only matches a whole id."""

    async def find_by_prefix(self, query: str, *, min_prefix: int, limit: int) -> list[t.ListedSession]:
        """Return up to `limit` sessions whose id begins with `query`."""
