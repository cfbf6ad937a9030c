"""The entries of one agent as a chain, in which the parent of each is the previous one.

The chain is optimistic: an append names the leaf that it expects, and a conflict is examined. If other clients append
entries below the agent's last entry that add no message (a compaction, a label), the chain continues below them. If
they append messages or move the leaf, the chain becomes a branch and no longer moves the leaf.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sessiond.client.methods.entries import EntryMethods
from sessiond.client.wire import RpcError
from sessiond.protocol import types as t

_MESSAGE_OR_LEAF_TYPES: Final = frozenset(
    ("message", "custom_message", "branch_summary", "reset_boundary", "leaf")
)


class EntryChain:
    """An agent's position in a session: `leaf_id`, and the log position (`log_id`, `seq`) that it has seen."""

    def __init__(
        self, daemon: EntryMethods, session_id: str, leaf_id: str | None, *, log_id: str | None, seq: int
    ) -> None:
        self.leaf_id = leaf_id
        self.turn_start_id = leaf_id
        """The leaf where the turn began. After it, only the chain has added messages."""
        self.detached = False
        """Whether other clients moved the session's leaf elsewhere during the turn."""
        self._daemon = daemon
        self._session_id = session_id
        self._log_id = log_id
        self._seq = seq

    def begin_turn(self) -> None:
        """Begin a turn at the current leaf."""
        self.turn_start_id = self.leaf_id

    def end_turn(self) -> None:
        """End the turn: the next entry is appended at the leaf of the session."""
        self.detached = False

    def move_to(self, leaf_id: str | None, position: t.After | None = None) -> None:
        """Move to `leaf_id`. Its later descendants are in the log after `position`."""
        self.leaf_id = leaf_id
        if position is not None:
            self._log_id, self._seq = position.log_id, position.seq

    async def append_at_the_leaf(self, drafts: Sequence[Mapping[str, Any]], format: t.Format) -> list[str]:
        """Append at the session's leaf, and return the ids of the entries."""
        return self._appended(await self._daemon.append(self._session_id, drafts, format=format))

    async def extend(self, drafts: Sequence[Mapping[str, Any]], format: t.Format) -> list[str]:
        """Append below the last entry of the chain, and return the ids of the entries."""
        while not self.detached:
            try:
                return self._appended(
                    await self._daemon.append(
                        self._session_id, drafts, format=format, expected_leaf_id=self.leaf_id
                    )
                )
            except RpcError as error:
                if error.kind != "leafConflict":
                    raise
                self.detached = not await self.advance_to(error.details.get("currentLeafId"))
        return self._appended(
            await self._daemon.append(
                self._session_id, drafts, format=format, parent_id=self.leaf_id, advance=False
            )
        )

    async def advance_to(self, leaf_id: str | None) -> bool:
        """Move to the session's leaf if no entry between adds a message or moves it. Returns whether it ends there."""
        if leaf_id == self.leaf_id:
            return True
        above = await self._parents_of_quiet_entries()
        at = leaf_id
        for _ in range(len(above)):
            if at is None or at == self.leaf_id or at not in above:
                break
            at = above[at]
        if at != self.leaf_id:
            return False
        if self.turn_start_id == self.leaf_id:
            self.turn_start_id = leaf_id
        self.leaf_id = leaf_id
        return True

    async def _parents_of_quiet_entries(self) -> dict[str, str | None]:
        """Return the parent id, by id, of each new entry that adds no message and moves no leaf."""
        found: dict[str, str | None] = {}
        after = None if self._log_id is None else t.After(log_id=self._log_id, seq=self._seq)
        page = await self._daemon.entries(self._session_id, after=after)
        while True:
            for entry in page.entries:
                if entry.get("type") not in _MESSAGE_OR_LEAF_TYPES:
                    found[entry["id"]] = entry.get("parentId")
            if page.next_cursor is None:
                return found
            page = await self._daemon.entries(self._session_id, after=after, cursor=page.next_cursor)

    def _appended(self, done: t.AppendResult) -> list[str]:
        last = done.entries[-1]
        self.move_to(last.id, t.After(log_id=done.log_id, seq=last.seq))
        return [entry.id for entry in done.entries]
