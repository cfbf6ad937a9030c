"""Moving old sessions to the trash, as a policy says. What somebody holds on to is spared, and said to be.

Only sessions of our own folders are ever looked at, and no drafts, which have an age of their own.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from sessiond.hub.discovery.terminals import Terminals
from sessiond.hub.errors import SessionNotFound, SessionTrashed
from sessiond.hub.index.index import Index
from sessiond.hub.retention.deletion import Keeping
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.readable import LoadedSession
from sessiond.hub.session.registry import OpenSessions
from sessiond.protocol import types as t
from sessiond.session.listing import retention
from sessiond.session.listing.retention import Policy
from sessiond.session.tree import entries
from sessiond.store.base import Store
from sessiond.store.errors import LogExists, LogReplaced
from sessiond.store.records import Stored

Spared: TypeAlias = Literal["open", "labeled", "readOnly"]
Tell: TypeAlias = Callable[[t.DeleteResult, str], None]
"""Is told of each session that went, and why."""

_REASONS = {
    "age": "cleanup: nothing was written for longer than is kept",
    "count": "cleanup: there were newer ones",
}
_NOT_FOR_US = (SessionNotFound, SessionTrashed, LogExists, LogReplaced)
"""What a session that changes while we look may say: it is left alone."""


class Cleaning:
    """Judges the sessions of `files`; `keeping` moves them."""

    def __init__(
        self, files: Store, index: Index, opened: OpenSessions, keeping: Keeping, terminals: Terminals
    ) -> None:
        self._files = files
        self._terminals = terminals
        self._index = index
        self._open = opened
        self._keeping = keeping

    async def run(self, policy: Policy, *, dry_run: bool, by: str, tell: Tell) -> t.CleanupResult:
        """Move what is due to the trash, or say what would be. Raises `StorageFailed`, `Draining`."""
        await self._terminals.refresh()
        sessions = {it.path: it for it in await self._index.everything() if it.path is not None}
        known = retention.concerned(self._known(sessions, await self._files.list()), policy)
        removed: list[t.CleanedSession] = []
        spared: list[t.SparedSession] = []
        for ref, ground in retention.due(known, policy, time.time()):
            session, trashed = sessions[ref], None
            try:
                why = await self._holds(ref)
                if why is None and not dry_run:
                    live = await self._open.at_path(ref)
                    why = self._why_spared(live, live)
                    if why is None:
                        reason = _REASONS[ground]
                        gone = await self._keeping.delete(live, by_path=False, reason=reason, by=by)
                        trashed = gone.trashed
                        tell(gone, reason)
            except _NOT_FOR_US:
                continue
            if why is None:
                removed.append(t.CleanedSession(session=session, ground=ground, trashed=trashed))
            else:
                spared.append(t.SparedSession(session=session, ground=ground, because=why))
        return t.CleanupResult(
            removed=removed, spared=spared, kept=len(known) - len(removed), dry_run=dry_run
        )

    def _known(
        self, sessions: Mapping[str, t.ListedSession], stored: Sequence[Stored]
    ) -> Iterator[retention.RetentionCandidate]:
        """What the policy is to judge by. An import of old sessions is as new as its files."""
        for it in stored:
            if not it.draft and self._files.keeps(it.ref) and it.ref in sessions:
                yield retention.RetentionCandidate(it.ref, it.modified_ns / 1e9, sessions[it.ref].tags)

    async def _holds(self, ref: str) -> Spared | None:
        """Why the session in a file is to be spared, or None."""
        async with self._open.glance(ref) as loaded:
            return self._why_spared(loaded, self._open.at(ref))

    def _why_spared(self, loaded: LoadedSession, live: LiveSession | None) -> Spared | None:
        tree = loaded.tree
        if live is not None and live.wanted:
            return "open"
        if tree.header is not None and tree.header.id in self._terminals.held_by_others(None):
            return "open"
        if tree.labels:
            return "labeled"
        writable = loaded.log.read_only is None and not tree.damaged
        return None if writable and 1 <= tree.version <= entries.CURRENT_VERSION else "readOnly"
