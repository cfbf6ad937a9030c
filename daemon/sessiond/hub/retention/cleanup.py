"""Cleanup: moves sessions to the trash by a retention policy.

Sessions that are in use, labeled or read-only are skipped and listed in the result. Sessions in the folders of other
programs are never moved. Draft sessions are not considered; they have their own age limit.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from sessiond.hub.caller import Caller
from sessiond.hub.discovery.terminals import Terminals
from sessiond.hub.errors import IncompatibleParams, SessionNotFound, SessionTrashed
from sessiond.hub.idempotency.commands import Commands
from sessiond.hub.index.index import Index
from sessiond.hub.retention.deletion import Deletion
from sessiond.hub.retention.trash_results import deleted_note
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import ReadableSession
from sessiond.hub.session.registry import OpenSessions
from sessiond.protocol import methods as m, types as t
from sessiond.session.listing import retention
from sessiond.session.listing.retention import Policy
from sessiond.session.tree import entries
from sessiond.store.base import Store
from sessiond.store.errors import LogExists, LogReplaced
from sessiond.store.records import Stored

SkipReason: TypeAlias = Literal["open", "labeled", "readOnly"]
OnDeleted: TypeAlias = Callable[[t.DeleteResult, str], None]
"""Receives each session that was moved to the trash, and the note of the daemon."""

_NOTES = {
    "age": "cleanup: older than the maximum age",
    "count": "cleanup: more sessions than the maximum",
    "size": "cleanup: more bytes than the maximum",
}
_CHANGED_MEANWHILE = (SessionNotFound, SessionTrashed, LogExists, LogReplaced)
"""Errors of a session that changed during the cleanup: it is skipped."""


class Cleanup:
    """Applies retention policies to the sessions of `files`; `deletion` moves them to the trash."""

    def __init__(
        self, files: Store, index: Index, opened: OpenSessions, deletion: Deletion, terminals: Terminals,
        commands: Commands,
    ) -> None:  # fmt: skip
        self._files = files
        self._terminals = terminals
        self._index = index
        self._open = opened
        self._deletion = deletion
        self._commands = commands

    async def clean_up(self, params: t.CleanupParams, caller: Caller) -> t.CleanupResult:
        """Move the sessions beyond the limits of a request to the trash, and notify all clients of each.

        A repeated command returns the first result. Raises as `run` does.

        Raises:
            IncompatibleParams: The request has neither `maxAgeMs` nor `maxSessions`.
        """
        max_age = None if params.max_age_ms is None else params.max_age_ms / 1_000
        policy = Policy(max_age, params.max_sessions, frozenset(params.tags or ()))
        if policy.is_unlimited:
            raise IncompatibleParams("at least one of `maxAgeMs` and `maxSessions` is required")
        origin = caller.origin(params.command_id)

        def on_deleted(gone: t.DeleteResult, note: str) -> None:
            caller.announce(m.DELETED, deleted_note(gone, note, origin))

        async def run() -> t.CleanupResult:
            return await self.run(policy, dry_run=params.dry_run, by=caller.client_id, on_deleted=on_deleted)

        command = None if params.dry_run else self._commands.of(m.CLEANUP, params)
        return await self._commands.once(command, t.CleanupResult, run)

    async def run(
        self, policy: Policy, *, dry_run: bool, by: str, on_deleted: OnDeleted, rule: str = ""
    ) -> t.CleanupResult:
        """Move the sessions that are due to the trash.

        Args:
            policy: The limits.
            dry_run: Return the sessions that would be moved, and move none.
            by: The client id, or `daemon`, for the note in the trash.
            on_deleted: Receives each session that was moved.
            rule: The rule of the configuration, for the notes; empty for none.

        Raises:
            StorageFailed: A file could not be read or moved.
            Draining: The daemon shuts down.
        """
        await self._terminals.refresh()
        # The ref of a log is the path of its file; without files it is the id.
        sessions = {listed.path or listed.session_id: listed for listed in await self._index.all_sessions()}
        known = retention.applicable(self._known(sessions, await self._files.list()), policy)
        removed: list[t.CleanedSession] = []
        skipped: list[t.SkippedSession] = []
        for ref, limit in retention.due(known, policy, time.time()):
            session, gone = sessions[ref], None
            try:
                why = await self._skips(ref)
                if why is None and not dry_run:
                    live = await self._open.at_path(ref)
                    why = self._why_skipped(live, live)
                    if why is None:
                        note = f"{_NOTES[limit]}{rule and f' ({rule})'}"
                        gone = await self._deletion.delete(live, by_path=False, note=note, by=by)
                        on_deleted(gone, note)
            except _CHANGED_MEANWHILE:
                continue
            if why is None:
                removed.append(_cleaned(session, limit, gone))
            else:
                skipped.append(t.SkippedSession(session=session, limit=limit, reason=why))
        return t.CleanupResult(
            removed=removed[: t.MAX_REPORTED],
            removed_count=len(removed),
            skipped=skipped[: t.MAX_REPORTED],
            skipped_count=len(skipped),
            truncated=max(len(removed), len(skipped)) > t.MAX_REPORTED,
            kept_count=len(known) - len(removed),
            dry_run=dry_run,
        )

    def _known(
        self, sessions: Mapping[str, t.ListedSession], stored: Sequence[Stored]
    ) -> Iterator[retention.RetentionCandidate]:
        """Yield the candidates for the policy. Their age is that of the file, also for an imported session."""
        for log in stored:
            if not log.draft and self._files.keeps(log.ref) and log.ref in sessions:
                session = sessions[log.ref]
                yield retention.RetentionCandidate(
                    log.ref, log.modified_ns / 1e9, session.tags,
                    agent=None if session.origin is None else session.origin.agent, cwd=session.cwd,
                    size=log.size,
                )  # fmt: skip

    async def _skips(self, ref: str) -> SkipReason | None:
        """Return why the session in a file is skipped, or None."""
        if await self._files.held_elsewhere([ref]):
            return "open"
        async with self._open.open_for_reading(ref) as loaded:
            return self._why_skipped(loaded, self._open.at(ref))

    def _why_skipped(self, loaded: ReadableSession, live: LiveSession | None) -> SkipReason | None:
        tree = loaded.tree
        if live is not None and live.is_in_use:
            return "open"
        if tree.header is not None and tree.header.id in self._terminals.held_by_others(None):
            return "open"
        if tree.labels:
            return "labeled"
        writable = loaded.log.read_only is None and not tree.damaged
        return None if writable and 1 <= tree.version <= entries.CURRENT_VERSION else "readOnly"


def _cleaned(session: t.ListedSession, limit: str, gone: t.DeleteResult | None) -> t.CleanedSession:
    return t.CleanedSession(
        session=session,
        limit=limit,
        trash_id=None if gone is None else gone.trash_id,
        trash_path=None if gone is None else gone.trash_path,
    )
