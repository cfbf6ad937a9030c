"""Brings each session together that differs on two sides whose positions are known. Either may be a bundle."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from sessiond.client.wire import RpcError
from sessiond.protocol import methods as m, types as t
from sessiond.session.union.difference import own_lines
from sessiond.sync.copying import Copying, SyncSide
from sessiond.sync.counterpart import Counterpart
from sessiond.sync.folders import FolderMap, FolderPair, is_inside
from sessiond.sync.merging import Merging, read_keys
from sessiond.sync.options import Progress, SyncOptions
from sessiond.sync.report import SessionProblem, SyncReport

TOGETHER: Final = 6
"""Sessions that are copied at the same time."""
_ATTEMPTS: Final = 3
_FATAL: Final = frozenset(("storageFull", "draining", "overloaded", "unauthenticated"))
"""Error kinds that every other session would meet, too."""


async def bring_together(
    here: Counterpart, there: Counterpart, mine: t.SyncPositionsResult, theirs: t.SyncPositionsResult,
    options: SyncOptions, report: SyncReport, progress: Progress,
) -> None:  # fmt: skip
    """Do what `synchronize` does, with two sides whose positions are known. Either may be a bundle."""
    await _Run(here, there, mine, theirs, options, report).run(progress)


async def _repeated(do: Callable[[], Awaitable[None]]) -> None:
    """Bring one session together, again if a daemon ended meanwhile and `attach` found the next one.

    Lines that are stored are not stored again.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            await do()
        except RpcError as error:
            if error.kind != "outcomeUnknown":
                raise
        else:
            return
    await do()


class _Run:
    """The sync of two stores whose positions are known."""

    def __init__(
        self, here: Counterpart, there: Counterpart, mine: t.SyncPositionsResult, theirs: t.SyncPositionsResult,
        options: SyncOptions, report: SyncReport,
    ) -> None:  # fmt: skip
        back = [FolderPair(pair.target, pair.source) for pair in options.pairs]
        self._to_there = FolderMap(options.pairs, mine.folders, theirs.folders)
        self._here = SyncSide(
            here, FolderMap(back, theirs.folders, mine.folders), report.received, options.pull
        )
        self._there = SyncSide(there, self._to_there, report.sent, options.push)
        self._mine = {session.session_id: session for session in mine.sessions}
        self._theirs = {session.session_id: session for session in theirs.sessions}
        self._options = options
        self._report = report
        self._copying = Copying(report)
        self._merging = Merging(self._here, self._there, report, self._copying)
        self._roots = {folder.cwd: folder.root for folder in mine.folders}

    async def run(self, progress: Progress) -> None:
        work: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        for session_id in sorted(self._mine.keys() | self._theirs.keys()):
            found = self._work(session_id)
            if found is not None:
                work.append((session_id, found))
        slots, done = asyncio.Semaphore(TOGETHER), 0

        async def one(session_id: str, do: Callable[[], Awaitable[None]]) -> None:
            nonlocal done
            async with slots:
                try:
                    await _repeated(do)
                except RpcError as error:
                    if error.kind in _FATAL:
                        raise
                    self._report.problems.append(SessionProblem(session_id, error.message))
                done += 1
                progress(done, len(work))

        try:
            async with asyncio.TaskGroup() as group:
                for session_id, do in work:
                    group.create_task(one(session_id, do))
        except BaseExceptionGroup as several:
            # The others were canceled for the same reason, which the caller needs by its class.
            raise several.exceptions[0] from None

    def _work(self, session_id: str) -> Callable[[], Awaitable[None]] | None:
        """Return what a session needs; None for nothing."""
        mine, theirs = self._mine.get(session_id), self._theirs.get(session_id)
        stored = [
            position for position in (mine, theirs) if position is not None and position.state == "stored"
        ]
        if not stored or not any(map(self._is_chosen, stored)):
            return None
        self._report.session_count += 1
        if len(stored) == 2 and (stored[0].line_count, stored[0].digest) == (
            stored[1].line_count,
            stored[1].digest,
        ):
            self._report.unchanged_count += 1
            return None
        if problem := next((position.problem for position in stored if position.problem), None):
            self._report.problems.append(SessionProblem(session_id, problem))
            return None
        if len(stored) == 2:
            return lambda: self._merging.merge(session_id)
        here_has_it = mine is not None and mine.state == "stored"
        source, target = (self._here, self._there) if here_has_it else (self._there, self._here)
        return self._one_sided(source, target, stored[0], theirs if here_has_it else mine)

    def _is_chosen(self, position: t.SyncPosition) -> bool:
        options = self._options
        if options.session_ids is not None and position.session_id not in options.session_ids:
            return False
        if options.agent is not None and position.agent != options.agent:
            return False
        if not set(options.tags) <= set(position.tags):
            return False
        if options.project is None:
            return True
        if position.cwd is None:
            return False
        folders = {position.cwd, self._here.folders.target_of(position.cwd)}
        return any(
            is_inside(folder, chosen)
            for folder in folders
            for chosen in {options.project, self._to_there.target_of(options.project)}
        )

    def _one_sided(
        self, source: SyncSide, target: SyncSide, stored: t.SyncPosition, gone: t.SyncPosition | None
    ) -> Callable[[], Awaitable[None]] | None:
        """Return what a session needs that only one side has outside of the trash."""
        is_wanted = self._options.undelete and target.is_target
        if gone is not None and gone.is_forgotten is True and (is_wanted or gone.digest != stored.digest):
            return None  # only the person who forgot it can take that back
        if gone is None or (gone.state == "purged" and (is_wanted or gone.digest != stored.digest)):
            return (lambda: self._copying.whole(source, target, stored)) if target.is_target else None
        if is_wanted:
            return lambda: self._restore(target, stored, gone)
        if gone.digest == stored.digest:
            return (lambda: self._trash(source, stored)) if source.is_target else None
        return lambda: self._compare_with_trash(source, target, stored, gone)

    async def _trash(self, side: SyncSide, stored: t.SyncPosition) -> None:
        """Move a session to the trash, because the other side has deleted it with all of its lines."""
        if not self._options.is_dry_run:
            where = "here" if side is self._there else f"on {self._options.name}"
            params = t.DeleteParams(session_id=stored.session_id, note=f"deleted {where}, found by a sync")
            await side.daemon.call(m.DELETE, params)
        self._report.trashed.append(stored.session_id)

    async def _compare_with_trash(
        self, source: SyncSide, target: SyncSide, stored: t.SyncPosition, gone: t.SyncPosition
    ) -> None:
        """Restore a session that the target has in its trash if it lacks lines; else delete it at the source, too."""
        keys = await read_keys(source.daemon, stored.session_id)
        in_trash = await read_keys(target.daemon, stored.session_id, gone.trash_id)
        if not own_lines(keys.keys, in_trash.keys).seqs:
            if source.is_target:
                await self._trash(source, stored)
            return
        if target.is_target:
            await self._restore(target, stored, gone)

    async def _restore(self, target: SyncSide, stored: t.SyncPosition, gone: t.SyncPosition) -> None:
        """Restore a session from the trash of a side, and give it the lines that it lacks."""
        if not self._options.is_dry_run:
            await target.daemon.call(
                m.TRASH_RESTORE, t.RestoreParams(trash_id=gone.trash_id, silently=not self._options.undelete)
            )
            await self._merging.merge(stored.session_id)
        self._report.restored.append(stored.session_id)
