"""The answers of a store about other daemons if one daemon has it for itself."""

from collections.abc import Collection


class SoleDaemon:
    """The part of a `base.Store` that is about other daemons, for a store without other daemons."""

    @property
    def local(self) -> bool:
        """True: one daemon has the logs for itself."""
        return True

    async def count_other_daemons(self) -> int:
        """Return 0: no other daemon uses the store."""
        return 0

    async def hold(self, ref: str) -> None:
        """Do nothing: no other daemon uses the store."""

    async def release(self, ref: str) -> bool:
        """Return False: no other daemon holds a session."""
        return False

    async def held_elsewhere(self, refs: Collection[str]) -> set[str]:
        """Return the empty set: no other daemon holds a session."""
        return set()

    async def claim(self, ref: str, work: str) -> bool:
        """Return True: no other daemon does any work."""
        return True

    async def end_claim(self, ref: str, work: str) -> None:
        """Do nothing."""
