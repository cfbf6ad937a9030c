"""The entries of one agent as a chain: each hangs on the one before it, whoever else writes to the session.

Optimistic: an append says which leaf it expects, and a conflict is looked at. It follows what others add below the
agent's last entry as long as that says nothing to a model (a compaction, a label); where others speak or move the
leaf, the chain becomes a branch and leaves the session's leaf alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sessiond.client.methods.entries import EntryMethods
from sessiond.client.wire import RpcError
from sessiond.protocol import types as t

_SPEAKS_OR_MOVES: Final = frozenset(("message", "custom_message", "branch_summary", "reset_boundary", "leaf"))


class Chain:
    """Where an agent stands in a session, `leaf_id`, and up to which line `seq` of the log `log_id` it knows it."""

    def __init__(
        self, daemon: EntryMethods, session_id: str, leaf_id: str | None, *, log_id: str | None, seq: int
    ) -> None:
        self.leaf_id = leaf_id
        self.began_at = leaf_id
        """Where a turn began: behind it nothing was said but by the chain."""
        self.detached = False
        """Whether the session's leaf went elsewhere while the chain grew."""
        self._daemon = daemon
        self._session_id = session_id
        self._log_id = log_id
        self._seq = seq

    def begin(self) -> None:
        """A turn begins here."""
        self.began_at = self.leaf_id

    def end(self) -> None:
        """The turn has ended: the next entry goes to the leaf of the session again."""
        self.detached = False

    def stand_at(self, leaf_id: str | None, position: t.After | None = None) -> None:
        """Go on from here; what hangs on it will come behind `position`."""
        self.leaf_id = leaf_id
        if position is not None:
            self._log_id, self._seq = position.log_id, position.seq

    async def append_at_the_leaf(self, drafts: Sequence[Mapping[str, Any]], format: t.Format) -> list[str]:
        """Append where the session's leaf is, whoever has put it there. The entries' ids."""
        return self._grown(await self._daemon.append(self._session_id, drafts, format=format))

    async def extend(self, drafts: Sequence[Mapping[str, Any]], format: t.Format) -> list[str]:
        """Append behind the last entry of the chain. The entries' ids."""
        while not self.detached:
            try:
                return self._grown(
                    await self._daemon.append(
                        self._session_id, drafts, format=format, expected_leaf=self.leaf_id
                    )
                )
            except RpcError as error:
                if error.kind != "leafConflict":
                    raise
                self.detached = not await self.follow_to(error.data.get("currentLeaf"))
        return self._grown(
            await self._daemon.append(
                self._session_id, drafts, format=format, parent_id=self.leaf_id, advance=False
            )
        )

    async def follow_to(self, leaf_id: str | None) -> bool:
        """Go along to the session's leaf, if nothing between says anything. Returns whether we stand there."""
        if leaf_id == self.leaf_id:
            return True
        above = await self._quiet_ones()
        at = leaf_id
        for _ in range(len(above)):
            if at is None or at == self.leaf_id or at not in above:
                break
            at = above[at]
        if at != self.leaf_id:
            return False
        if self.began_at == self.leaf_id:
            self.began_at = leaf_id
        self.leaf_id = leaf_id
        return True

    async def _quiet_ones(self) -> dict[str, str | None]:
        """The parents of the entries that have come since and say nothing."""
        found: dict[str, str | None] = {}
        after = None if self._log_id is None else t.After(log_id=self._log_id, seq=self._seq)
        page = await self._daemon.entries(self._session_id, after=after)
        while True:
            for entry in page.entries:
                if entry.get("type") not in _SPEAKS_OR_MOVES:
                    found[entry["id"]] = entry.get("parentId")
            if page.next_cursor is None:
                return found
            page = await self._daemon.entries(self._session_id, after=after, cursor=page.next_cursor)

    def _grown(self, done: t.AppendResult) -> list[str]:
        last = done.entries[-1]
        self.stand_at(last.id, t.After(log_id=done.log_id, seq=last.seq))
        return [entry.id for entry in done.entries]
