"""Answers `agent/verify`: checks the sources of agents, and compares doubtful ones with their sessions."""

import asyncio
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sessiond import human
from sessiond.agents.agent import Agent
from sessiond.agents.table import AGENTS
from sessiond.hub.errors import IncompatibleParams
from sessiond.hub.execution.child_process import run_in_child_process
from sessiond.hub.execution.progress import ReportPercentage
from sessiond.hub.following.service import AgentFollowing
from sessiond.hub.following.storage import sources_of
from sessiond.hub.transfer.foreign_files import GROWING_SECONDS
from sessiond.hub.transfer.source_records import SourceRecord
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.hub.transfer.spool import Spool
from sessiond.hub.verification import sources
from sessiond.hub.verification.comparing import Pair, SourceComparison, compare
from sessiond.hub.verification.sources import CheckedSources, Gap
from sessiond.protocol import types as t
from sessiond.protocol.findings import shell_word
from sessiond.session.tree.lines import valid_text
from sessiond.store.base import Store
from sessiond.store.records import Stored

MAX_GAPS: Final = 1_000
"""Limit of the gaps that a result lists."""
_BATCH_FILES: Final = 200
_BATCH_BYTES: Final = 32 * 1024 * 1024
"""Sources that one child process compares. Its start costs as much as some megabytes."""
_ADVICE: Final[Mapping[str, str]] = {
    "unread": "A followed agent is read within a minute. To read it now: sessiond import {path}",
    "refused": "sessiond agents says what to do.",
    "behind": "The daemon reads it within seconds. Verify again, or read it now: sessiond import {path}",
    "noSession": "To store it again: sessiond import {path}",
    "incomplete": "To add the entries: sessiond import {path}",
    "different": "Both are kept: the file is unchanged, and so is the session. sessiond doctor checks the session.",
    "unreadable": "sessiond doctor checks the files of the agent and the session.",
}


@dataclass(frozen=True, slots=True)
class VerifiedSources:
    """The sources of one agent, their status, the size of their files or databases, and what checking them found."""

    agent: Agent
    status: Mapping[str, FileStatus]
    size_bytes: int
    checked: CheckedSources


class SourceVerification:
    """Verifies that what agents wrote is here.

    Args:
        following: The agents.
        files: The store of sessions on disk.
        is_forgotten: Returns whether a session was forgotten, by its id. Blocks.
    """

    def __init__(self, following: AgentFollowing, files: Store, is_forgotten: Callable[[str], bool]) -> None:
        self._following = following
        self._files = files
        self._is_forgotten = is_forgotten

    async def verify(self, params: t.AgentVerifyParams, report: ReportPercentage) -> t.AgentVerifyResult:
        """Return the gaps.

        Raises:
            IncompatibleParams: An agent is not known.
            StorageFailed: The store cannot be listed.
        """
        names = self._following.followed if params.agents is None else params.agents
        for name in names:
            if name not in AGENTS:
                raise IncompatibleParams(f"there is no agent {name!r:.80}")
        verified = await self.examine(names, report, deep=params.deep)
        return _result(verified, deep=params.deep)

    async def examine(
        self,
        names: Collection[str],
        report: ReportPercentage,
        *,
        deep: bool,
        changed_before_ns: int | None = None,
    ) -> "list[VerifiedSources]":
        """Check the sources of agents, and compare those that may not be whole.

        Args:
            names: The names of the agents.
            report: Receives progress.
            deep: Whether to compare all sources.
            changed_before_ns: If it is not None, only sources that were not changed since this time, in nanoseconds
                since 1970.

        Raises:
            StorageFailed: The store cannot be listed.
        """
        report("Listing sessions", 0)
        logs = {log.session_id: log for log in await self._files.list()}
        trashed = {log.session_id for log in await self._files.trashed()}
        verified: list[VerifiedSources] = []
        for agent in self._following.agents():
            if agent.name in names:
                report(f"Listing the files of {agent.title}", 0)
                verified.append(await self._check(agent, logs, trashed, changed_before_ns))
        to_compare = [
            (one, path, session_id)
            for one in verified
            for path, session_id in (one.checked.suspects | (one.checked.whole if deep else {})).items()
        ]
        compared = 0
        for batch in _batches(to_compare):
            report(f"Comparing {compared + 1:,} of {len(to_compare):,}", 100 * compared // len(to_compare))
            pairs = [Pair(path, logs[session_id].ref) for _, path, session_id in batch]
            results = {result.path: result for result in await self._compared(pairs)}
            for one, path, session_id in batch:
                _take(one, session_id, results[path])
            compared += len(batch)
        return verified

    async def _check(
        self, agent: Agent, logs: Mapping[str, Stored], trashed: set[str], changed_before_ns: int | None
    ) -> "VerifiedSources":
        environ, records = self._following.environ, await self._following.records()

        def check() -> VerifiedSources:
            places = sources_of(agent, environ)
            status = places.census().sources
            if changed_before_ns is not None:
                status = {path: one for path, one in status.items() if one.modified_ns < changed_before_ns}
            below: Mapping[str, SourceRecord] = records.below(agent.folders(environ))
            return VerifiedSources(
                agent,
                status,
                places.size_of(status),
                sources.check(status, below, logs, trashed, self._files.measured, self._is_forgotten),
            )

        return await asyncio.to_thread(check)

    async def _compared(self, pairs: Sequence[Pair]) -> list[SourceComparison]:
        spool = Spool(self._files.blobs.folder_for_files())
        if not self._files.local:  # only this process has the connection of the store
            return await asyncio.to_thread(compare, pairs, self._files, spool)
        try:
            return await run_in_child_process(compare, pairs, self._files, spool)
        finally:
            await asyncio.to_thread(spool.clear)  # a process that was killed could not


def _batches(
    items: Sequence[tuple[VerifiedSources, str, str]],
) -> Iterator[Sequence[tuple[VerifiedSources, str, str]]]:
    """Yield the items in batches that one child process compares."""
    first = size = 0
    for number, (one, path, _) in enumerate(items):
        size += one.status[path].size
        if size >= _BATCH_BYTES or number + 1 - first >= _BATCH_FILES:
            yield items[first : number + 1]
            first, size = number + 1, 0
    if items[first:]:
        yield items[first:]


def _take(one: VerifiedSources, session_id: str, result: SourceComparison) -> None:
    """Add the result of a comparison to those of its agent."""
    found, path = one.checked, result.path
    found.entry_count += result.entry_count
    found.suspects.pop(path, None)
    if result.is_whole:
        found.whole[path] = session_id
        return
    found.whole.pop(path, None)
    if result.failure is not None:
        found.gaps.append(Gap(path, "unreadable", f"it cannot be compared: {result.failure}", session_id))
    if result.missing_count:
        is_recent = time.time() - one.status[path].modified_ns / 1e9 < GROWING_SECONDS
        lacks = human.count(result.missing_count, "entry", "entries")
        message = f"session {session_id} lacks {lacks}: {', '.join(result.missing)}"
        found.gaps.append(Gap(path, "behind" if is_recent else "incomplete", message, session_id))
    if result.different_count:
        differ = human.count(result.different_count, "entry", "entries")
        message = f"session {session_id} has {differ} with other content: {', '.join(result.different)}"
        found.gaps.append(Gap(path, "different", message, session_id))


def _result(verified: Sequence[VerifiedSources], *, deep: bool) -> t.AgentVerifyResult:
    agents = [
        t.AgentVerification(
            agent=one.agent.name, file_count=len(one.status), size_bytes=one.size_bytes,
            whole_count=len(one.checked.whole), empty_count=len(one.checked.empty),
            deleted_count=len(one.checked.deleted), left_out_count=len(one.checked.left_out),
            entry_count=one.checked.entry_count if deep else None,
        )
        for one in verified
    ]  # fmt: skip
    gaps = [
        t.VerifiedGap(
            agent=one.agent.name, path=valid_text(gap.path), kind=gap.kind, message=valid_text(gap.message),
            advice=_ADVICE[gap.kind].format(path=shell_word(gap.path)), session_id=gap.session_id,
        )
        for one in verified
        for gap in one.checked.gaps
    ]  # fmt: skip
    return t.AgentVerifyResult(agents=agents, gaps=gaps[:MAX_GAPS], gap_count=len(gaps), deep=deep)
