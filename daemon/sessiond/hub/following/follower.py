"""Follows agents: reads what they write into their sessions here, as soon as it is written.

A watch reports files that are written. A census, at the start and then rarely, finds what the watch did not report.
Files are read one after the other, first those that were just written, then the backlog of a first census in small
portions. Files are opened read-only and never locked. The rules are in decision 0036.
"""

import asyncio
import contextlib
import logging
import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from sessiond.agents.agent import Environ
from sessiond.agents.table import AGENTS
from sessiond.hub.errors import Draining, HubError
from sessiond.hub.following import origin_state
from sessiond.hub.following.agent_list import readable
from sessiond.hub.following.agent_watches import AgentWatches, Report
from sessiond.hub.following.followed_agent import FollowedAgent
from sessiond.hub.following.sources import SourceTail
from sessiond.hub.following.storage import sources_of
from sessiond.hub.following.tails import MIN_FILE_BYTES, fits
from sessiond.hub.session.live import LiveSession
from sessiond.hub.transfer.exchange import Exchange
from sessiond.hub.transfer.foreign_files import GROWING_SECONDS
from sessiond.hub.transfer.import_results import BEING_RECORDED, UNREMARKABLE
from sessiond.hub.transfer.reporting import Reporting
from sessiond.hub.transfer.source_records import SourceRecord
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.protocol import types as t
from sessiond.session.dialects import recorded
from sessiond.store.errors import LogReplaced, StorageFailed

log = logging.getLogger(__name__)

WATCHED_SECONDS: Final = 600.0
"""Interval of the census while the folders are watched."""
WATCH_START_SECONDS: Final = 1.5
"""Time that the first census waits for the watch to begin, so that one census finds all that was written before."""
POLL_SECONDS: Final = 10.0
"""Interval of the census while they cannot be watched."""
RECORDED_SECONDS: Final = 5.0
"""Time after which a file is read again whose turn was being recorded."""
RETRY_SECONDS: Final = 30.0
"""Time after which a file is read again whose import failed for lack of disk space, or the like."""
BUSY_SECONDS: Final = 1.0
"""Time after which a database is read again that was busy."""
MAX_FILES: Final = 50
"""Limit of files of the backlog that are read at once; files that are written meanwhile wait for them."""
MAX_BYTES: Final = 2 * 1024 * 1024
"""Limit of the bytes of these files. A larger file is read alone."""
DUE_STEP_SECONDS: Final = 5.0
"""Files that have become quiet within this time are read again together."""
MAX_TAILS: Final = 32
"""Limit of large files of which only what was added is read; the others are read whole when they are written."""
REST_FACTOR: Final = 10
"""A large file whose format is always read whole is left alone so many times as long as reading it took."""
DELETED: Final = "its session was deleted here; `sessiond import` brings it back"


class FollowHost(Protocol):
    """The part of the hub that the follower calls."""

    async def session(self, session_id: str) -> LiveSession:
        """Open the session with this id."""

    async def ref_of(self, session_id: str) -> str:
        """Return the ref of the session with this id."""

    async def close_unless_in_use(self, live: LiveSession) -> None:
        """Close a session, unless it is in use."""

    def log_moved(self, ref: str) -> None:
        """Update the index: a log was added or removed."""


class AgentFollower:
    """Follows the agents that the configuration names.

    Args:
        host: The hub.
        exchange: Imports the files.
        environ: The environment variables, which may move the folders of agents.
    """

    def __init__(self, host: FollowHost, exchange: Exchange, environ: Environ = os.environ) -> None:
        self._host = host
        self._exchange = exchange
        self._environ = environ
        self._agents: dict[str, FollowedAgent] = {}
        self._work = asyncio.Event()
        self._watches = AgentWatches(environ, self._report)
        self._is_running = False
        self._census_at: dict[str, float] = {}  # when the next census of an agent is due
        self._tails: dict[str, tuple[SourceTail, str]] = {}
        """The tails of large files that were written last, with the ids of their sessions."""
        self._created: Callable[[t.SessionInfo], None] = _ignore

    # --- requests --------------------------------------------------------------------------------------

    def configure(self, names: Sequence[str]) -> None:
        """Follow the agents with these names, and no others."""
        for name in names:
            if name not in AGENTS:
                log.warning("[agents] follow: %r is not an agent; the agents are %s", name, ", ".join(AGENTS))
        names = [it for it in names if it in AGENTS and readable(AGENTS[it])]
        followed = {name: self._agents.get(name) or self._new(name) for name in names}
        if list(followed) != list(self._agents):
            self._agents = followed
            self._census_at = {name: self._census_at.get(name, 0.0) for name in followed}
            if self._is_running:
                self._watch_folders()
            self._work.set()

    def wake(self, name: str, path: str | None) -> bool:
        """Check a file of an agent now, or all its files. Returns whether the agent is followed."""
        followed = self._agents.get(name)
        if followed is None:
            return False
        if path is not None:
            followed.report([path])
        elif followed.containers:
            followed.report(followed.containers)
        else:
            self._census_at[name] = 0.0
        self._work.set()
        return True

    def _new(self, name: str) -> FollowedAgent:
        return FollowedAgent(AGENTS[name], sources_of(AGENTS[name], self._environ))

    def followed(self, name: str) -> FollowedAgent | None:
        """Return the state of a followed agent; None if it is not followed."""
        return self._agents.get(name)

    def backlog(self, names: Sequence[str]) -> tuple[int, int] | None:
        """Return how many files of these agents were read, and of how many; None if none is left.

        Before the first census of an agent, no file is read.
        """
        agents = [it for name in names if (it := self._agents.get(name)) is not None]
        left = sum(len(it.waiting) + len(it.reading) for it in agents)
        if not left and all(it.has_census for it in agents):
            return None
        total = sum(it.queued_count for it in agents)
        return total - left, total

    # --- the loop --------------------------------------------------------------------------------------

    async def run(self, created: Callable[[t.SessionInfo], None]) -> None:
        """Follow until canceled. `created` receives each new session."""
        self._created = created
        self._is_running = True
        self._watch_folders()
        try:
            while True:
                self._work.clear()
                if not await self._step():
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._work.wait(), self._idle_seconds())
        except Draining:
            return
        finally:
            self._is_running = False
            self._watches.close()

    async def _step(self) -> bool:
        """Do one piece of work. Returns False if there is none."""
        now = time.monotonic()
        for followed in list(self._agents.values()):
            if (path := followed.next_written()) is not None:
                await self._take(followed, path)
                return True
            if due := followed.next_due(now, MAX_FILES, MAX_BYTES, small=MIN_FILE_BYTES):
                await self._take_due(followed, due)
                return True
        for name, followed in list(self._agents.items()):
            if self._census_at.get(name, 0.0) <= now:
                await self._take_census(name, followed)
                return True
        for followed in list(self._agents.values()):
            if followed.waiting:
                followed.reading = followed.waiting.take(MAX_FILES, MAX_BYTES)
                try:
                    await self._import(followed, list(followed.reading))
                finally:
                    followed.reading = {}
                return True
        return False

    def _idle_seconds(self) -> float | None:
        due = [at for it in self._agents.values() if (at := it.due.next_at) is not None]
        due += self._census_at.values()
        return None if not due else max(0.0, min(due) - time.monotonic())

    async def _take_census(self, name: str, followed: FollowedAgent) -> None:
        agent = followed.agent
        interval = WATCHED_SECONDS if self._watches.is_watching else POLL_SECONDS
        self._census_at[name] = time.monotonic() + interval  # a report may call for another one meanwhile
        records = None if followed.has_census else (await self._exchange.imports()).records

        # One call, because what 50,000 files fill must be freed on the thread, too: that takes 25 ms.
        def compare() -> list[str]:
            found = followed.sources.census()
            if records is not None:
                followed.recall(records.below(agent.folders(self._environ)), found)
            return followed.compare(found)

        followed.report(await asyncio.to_thread(compare))
        followed.has_census = True
        self._watch_folders()

    # --- the watch -------------------------------------------------------------------------------------

    def _watch_folders(self) -> None:
        """Watch the folders of all followed agents. A census when the watch has begun finds what was written before."""
        if self._watches.watch(self._agents):
            later = time.monotonic() + WATCH_START_SECONDS
            for name, it in self._agents.items():
                if not it.has_census:
                    self._census_at[name] = later

    def _report(self, report: Report) -> None:
        for name, paths in report.written.items():
            if name in self._agents:
                self._agents[name].report(paths)
        for name in (report.begun | report.new_folders) & self._agents.keys():
            self._census_at[name] = 0.0
        self._work.set()

    # --- files -----------------------------------------------------------------------------------------

    async def _take_due(self, followed: FollowedAgent, paths: Sequence[str]) -> None:
        """Read files whole that may have been incomplete."""
        for path in paths:
            self._tails.pop(path, None)
        if len(paths) == 1:
            await self._take(followed, paths[0], is_due=True)
            return
        look_at = followed.sources.look_at
        found = await asyncio.to_thread(lambda: {it: look_at(it) for it in paths})
        ready = [it for it in paths if isinstance(found[it], FileStatus) and it not in followed.rests]
        followed.report(it for it in paths if it not in ready)
        await self._import(followed, ready)

    async def _take(self, followed: FollowedAgent, path: str, *, is_due: bool = False) -> None:
        """Read a source that was reported as written or is due, or record that it is gone."""
        container = followed.sources.container_of(path)
        if container == path:
            await self._take_container(followed, container)
            return
        found = await asyncio.to_thread(followed.sources.look_at, path)
        if isinstance(found, str):
            followed.problems[container or path] = found
        elif found is not None:
            if followed.seen.get(path) == found and path not in followed.gone and not is_due:
                return
            if (until := followed.rests.get(path, 0.0)) > time.monotonic():
                followed.due[path] = until
            elif not await self._append_added(followed, path):
                started = time.monotonic()
                await self._import(followed, [path])
                if found.size >= followed.sources.min_tail_bytes:
                    await self._begin_tail(followed, path, time.monotonic() - started)
        else:
            followed.problems.pop(path, None)
            if followed.seen.pop(path, None) is not None:
                await self._set_gone(followed, path)

    async def _take_container(self, followed: FollowedAgent, path: str) -> None:
        """Find the sources in a database that was reported as written."""
        found = await asyncio.to_thread(followed.sources.changes_in, path)
        if found.problem is None:
            followed.problems.pop(path, None)
        else:
            followed.problems[path] = found.problem
        if found.changed is None:
            self._census_at[followed.agent.name] = 0.0
        else:
            followed.report(found.changed)
        if found.is_passing:
            followed.due[path] = time.monotonic() + BUSY_SECONDS

    async def _append_added(self, followed: FollowedAgent, path: str) -> bool:
        """Append what was added to a large file that was written before. Returns False if it must be read whole."""
        known_tail = self._tails.pop(path, None)
        if known_tail is None:
            return False
        tail, session_id = known_tail
        try:
            added = await asyncio.to_thread(tail.read_added)
            if added is None:
                return False
            live = await self._host.session(session_id)
            if recorded.is_recorded(live.tree, added.imported):
                return False  # the whole file is compared with what was recorded

            def has(entry_id: str) -> bool:
                return live.tree.any_row(entry_id) is not None

            new = [it for it in added.entries if not has(it.id)]
            if not fits(new, added.imported.leaf, has):
                return False
            if new:
                imports = await self._exchange.imports()
                origin = t.Origin(kind="foreign")
                await imports.append_followed(live, added.imported, new, path, origin)
        except Draining:
            raise
        except (HubError, StorageFailed, LogReplaced, OSError, RecursionError) as error:
            log.info("%s is read whole: %s", path, error)
            return False
        self._tails[path] = tail, session_id
        self._note_read(followed, path, added.status)
        return True

    async def _begin_tail(self, followed: FollowedAgent, path: str, seconds: float) -> None:
        """After a large file was read whole: read only what is added from now on, or let some time pass."""
        imports = await self._exchange.imports()
        record = (await asyncio.to_thread(imports.records.find, [path], None)).get(path)
        if (
            record is not None
            and record.session is not None
            and record.session.format in followed.sources.tail_dialects
        ):
            try:
                tail = await asyncio.to_thread(
                    followed.sources.tail, path, record.session.format, record.state
                )
            except OSError:
                return
            if tail is not None:
                self._tails[path] = tail, record.session.session_id
                while len(self._tails) > MAX_TAILS:
                    del self._tails[next(iter(self._tails))]
        else:
            followed.rests[path] = time.monotonic() + REST_FACTOR * seconds

    async def _import(self, followed: FollowedAgent, paths: Sequence[str]) -> None:
        """Import files as they are now."""
        imports = await self._exchange.imports()
        records = await asyncio.to_thread(imports.records.find, paths, None)
        ready = [it for it in paths if not await self._is_deleted_here(followed, it, records.get(it))]
        status = await asyncio.to_thread(lambda: {it: followed.sources.status(it) for it in ready})
        reporting = Reporting(_ignore, self._on_created, t.Origin(kind="foreign"))
        try:
            outcomes = await imports.import_followed(ready, reporting)
        except StorageFailed as error:
            log.warning("cannot follow %s: %s", followed.agent.title, error)
            for path in ready:
                followed.due[path] = time.monotonic() + RETRY_SECONDS
            return
        for path, outcome in zip(ready, outcomes, strict=True):
            self._note(followed, path, status[path], outcome)
            record = records.get(path)
            if record is not None and record.is_gone and isinstance(outcome, t.ImportedSession):
                followed.gone.discard(path)
                await self._append_state(outcome.session_id, "present")

    def _note(
        self,
        followed: FollowedAgent,
        path: str,
        status: FileStatus | None,
        outcome: t.ImportedSession | t.SkippedFile,
    ) -> None:
        """Record the outcome for a file, and when to read it again."""
        if status is not None:
            self._note_read(followed, path, status)
        if isinstance(outcome, t.SkippedFile) and outcome.message == BEING_RECORDED:
            followed.due[path] = time.monotonic() + RECORDED_SECONDS
        if isinstance(outcome, t.SkippedFile) and outcome.message not in UNREMARKABLE:
            followed.problems[path] = outcome.message
        else:
            followed.problems.pop(path, None)

    def _note_read(self, followed: FollowedAgent, path: str, status: FileStatus) -> None:
        """Record that a file was read, and when to read it whole again: when it has been quiet for some time."""
        followed.seen[path] = status
        quiet = time.time() - status.modified_ns / 1e9
        if quiet < GROWING_SECONDS:
            at = time.monotonic() + GROWING_SECONDS - quiet + 0.5
            followed.due[path] = math.ceil(at / DUE_STEP_SECONDS) * DUE_STEP_SECONDS

    async def _is_deleted_here(self, followed: FollowedAgent, path: str, record: SourceRecord | None) -> bool:
        """Return whether the session of a file was moved to the trash. It is then not imported again."""
        if record is None or record.session is None or record.log is None:
            return False
        if await asyncio.to_thread(FileStatus.at, record.log) is not None:
            return False
        try:
            await self._host.ref_of(record.session.session_id)
        except HubError:
            followed.problems[path] = DELETED
            status = await asyncio.to_thread(followed.sources.status, path)
            if status is not None:
                followed.seen[path] = status
            return True
        return False

    async def _set_gone(self, followed: FollowedAgent, path: str) -> None:
        """Record in the session of a file that the agent deleted it."""
        imports = await self._exchange.imports()
        record = (await asyncio.to_thread(imports.records.find, [path], None)).get(path)
        if record is None or record.session is None or record.is_gone:
            return
        if await self._append_state(record.session.session_id, "gone"):
            followed.gone.add(path)
            gone = msgspec.structs.replace(record, is_gone=True)  # the log differs from its status there
            await asyncio.to_thread(imports.records.put, {path: gone}, None)

    async def _append_state(self, session_id: str, state: origin_state.State) -> bool:
        """Append the state of the agent's file to a session. Returns False if the session is not there any more."""
        try:
            live = await self._host.session(session_id)
            await origin_state.append(live, state)
        except (HubError, StorageFailed, LogReplaced) as error:
            log.info("session %s does not record that its file is %s: %s", session_id, state, error)
            return False
        await self._host.close_unless_in_use(live)
        return True

    def _on_created(self, info: t.SessionInfo) -> None:
        if info.path is not None:
            self._host.log_moved(info.path)  # it is found by a search at once
        self._created(info)


def _ignore(_value: object) -> None:
    """Receive something that nobody asked for."""
