"""Follows agents: reads what they write into their sessions here, as soon as they write it.

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
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from sessiond.agents.agent import Environ
from sessiond.agents.table import AGENTS
from sessiond.config import AgentsConfig
from sessiond.hub.errors import Draining, HubError
from sessiond.hub.following import file_states
from sessiond.hub.following.agent_list import readable
from sessiond.hub.following.agent_watches import AgentWatches, Report
from sessiond.hub.following.exclusions import Exclusions
from sessiond.hub.following.followed_agent import FollowedAgent
from sessiond.hub.following.session_ends import SessionEnds
from sessiond.hub.following.storage import sources_of
from sessiond.hub.following.tail_appending import Tails
from sessiond.hub.following.tails import MIN_FILE_BYTES
from sessiond.hub.following.unread import unread_in, unreported
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.transfer import fork_history, memory_limit
from sessiond.hub.transfer.exchange import Exchange
from sessiond.hub.transfer.foreign_files import GROWING_SECONDS
from sessiond.hub.transfer.import_results import BEING_RECORDED, EXCLUDED, UNREMARKABLE
from sessiond.hub.transfer.reporting import Reporting
from sessiond.hub.transfer.source_records import SourceRecord
from sessiond.hub.transfer.source_state import FileStatus, unread
from sessiond.hub.transfer.unchanged import IMPORTER
from sessiond.protocol import types as t
from sessiond.session.tree import lines
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
"""Limit of files of the backlog in one read; files that are written meanwhile wait for the end of the read."""
MAX_BYTES: Final = 2 * 1024 * 1024
"""Limit of the bytes of these files. A larger file is read alone."""
DUE_STEP_SECONDS: Final = 5.0
"""Files that have become quiet within this time are read again together."""
REST_FACTOR: Final = 10
"""A large file whose format is always read whole is not read again for this multiple of its reading time."""
FAILED: Final = "reading it failed: "
DELETED: Final = "its session was deleted here; `sessiond import` brings it back"
_MAX_DESCRIBED: Final = 300


class AgentFollower:
    """Follows the agents that the configuration names.

    Args:
        open_sessions: The open sessions.
        exchange: Imports the files.
        environ: The environment variables, which may move the folders of agents.
    """

    def __init__(
        self, open_sessions: OpenSessions, exchange: Exchange, environ: Environ = os.environ
    ) -> None:
        self._open = open_sessions
        self._exchange = exchange
        self._environ = environ
        self._agents: dict[str, FollowedAgent] = {}
        self._folders: Mapping[str, tuple[str, ...]] = {}
        """The folders that the configuration adds, by the name of an agent."""
        self._exclude: tuple[str, ...] = ()
        self._exclusions = Exclusions()
        self._work = asyncio.Event()
        self._watches = AgentWatches(environ, self._report)
        self._is_running = False
        self._census_at: dict[str, float] = {}  # the time of the next census of each agent
        self._tails = Tails(open_sessions, exchange, lambda path, cwd: self._exclusions.covers(path, cwd))
        self._session_ends = SessionEnds(open_sessions, exchange, self._take_alone, self._work.set)
        self._created: Callable[[t.SessionInfo], None] = _ignore

    # --- requests --------------------------------------------------------------------------------------

    def configure(self, config: AgentsConfig) -> None:
        """Follow the agents that the configuration names, in the folders that it adds, and no others."""
        for name in config.follow:
            if name not in AGENTS:
                log.warning("[agents] follow: %r is not an agent; the agents are %s", name, ", ".join(AGENTS))
        before, self._folders = self._folders, config.folders
        if config.exclude != self._exclude:
            self._exclude, self._exclusions = config.exclude, Exclusions(config.exclude)
            self._agents = {}  # their files are compared with the patterns anew
        followed: dict[str, FollowedAgent] = {}
        for name in (name for name in config.follow if name in AGENTS and readable(AGENTS[name])):
            known = self._agents.get(name) if before.get(name) == config.folders.get(name) else None
            followed[name] = known or self._new(name)
        if list(followed.items()) != list(self._agents.items()):
            new = [name for name, agent in followed.items() if agent is not self._agents.get(name)]
            self._census_at = {name: at for name, at in self._census_at.items() if name not in new}
            self._agents = followed
            self._session_ends.follow(followed)
            self._census_at = {name: self._census_at.get(name, 0.0) for name in followed}
            if self._is_running:
                self._watch_folders()
            self._work.set()

    def wake(self, params: t.AgentWakeParams) -> bool:
        """Check a file of an agent now, or all its files. Returns whether the agent is followed."""
        name = params.agent
        followed = self._agents.get(name)
        if followed is None:
            return False
        self._session_ends.note_hook(followed, params)
        if params.path is not None:
            followed.report([params.path])
        elif followed.containers:
            followed.report(followed.containers)
        else:
            self._census_at[name] = 0.0
        self._work.set()
        return True

    def read_again(self, paths: Sequence[str]) -> None:
        """Read files as if they were new."""
        for followed in self._agents.values():
            known = [path for path in paths if followed.seen.pop(path, None) is not None]
            followed.report(known)
        self._work.set()

    def _new(self, name: str) -> FollowedAgent:
        agent = AGENTS[name].also_in(self._folders.get(name, ()))
        return FollowedAgent(agent, sources_of(agent, self._environ))

    def followed(self, name: str) -> FollowedAgent | None:
        """Return the state of a followed agent; None if it is not followed."""
        return self._agents.get(name)

    def backlog(self, names: Sequence[str]) -> tuple[int, int] | None:
        """Return the number of read files of these agents, and of all; None if all are read.

        Before the first census of an agent, no file is read.
        """
        agents = [agent for name in names if (agent := self._agents.get(name)) is not None]
        left = sum(len(agent.waiting) + len(agent.reading) for agent in agents if agent.failure is None)
        if not left and all(agent.has_census or agent.failure is not None for agent in agents):
            return None
        total = sum(agent.queued_count for agent in agents)
        return total - left, total

    async def unread(self) -> t.UnsearchedTexts:
        """Look for new lines and files of the agents, and return the unread amount."""
        for name, followed in list(self._agents.items()):
            if not followed.has_census:
                continue
            files, is_census_due = await asyncio.to_thread(unreported, followed, self._environ)
            followed.report(files)
            if is_census_due:
                followed.is_census_due = True
                self._census_at[name] = 0.0
            if files or is_census_due:
                self._work.set()
        return unread_in(self._agents.values())

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
                        async with asyncio.timeout(self._idle_seconds()):
                            await self._work.wait()
        except Draining:
            return
        finally:
            self._is_running = False
            self._watches.close()
            self._session_ends.close()

    async def _step(self) -> bool:
        """Do one piece of work. Returns False if there is no work.

        An agent whose work fails is left alone for some time, and then a census is taken. The others are followed.
        """
        now = time.monotonic()
        ends = self._session_ends
        for work in (
            self._take_next, ends.find_processes, ends.record_end, self._take_census_if_due,
            self._take_backlog, self._settle,
        ):  # fmt: skip
            for followed in list(self._agents.values()):
                if followed.paused_until > now:
                    continue
                try:
                    if await work(followed, now):
                        return True
                except Draining:
                    raise
                except Exception as error:  # an agent must not end the following of the others
                    log.exception("%s cannot be followed", followed.agent.title)
                    followed.fail(_described(error), now)
                    self._census_at[followed.agent.name] = followed.paused_until
                    return True
        return False

    async def _take_next(self, followed: FollowedAgent, now: float) -> bool:
        """Read a file that was written, or those that are due. Returns False if there is none."""
        if (path := followed.next_written()) is not None:
            followed.taken = path
            try:
                await self._take_alone(followed, path)
            finally:
                followed.taken = None
            return True
        if due := followed.next_due(now, MAX_FILES, MAX_BYTES, small=MIN_FILE_BYTES):
            await self._take_due(followed, due)
            return True
        return False

    async def _take_census_if_due(self, followed: FollowedAgent, now: float) -> bool:
        if self._census_at.get(followed.agent.name, 0.0) > now:
            return False
        await self._take_census(followed.agent.name, followed)
        followed.recover()
        return True

    async def _take_backlog(self, followed: FollowedAgent, _now: float) -> bool:
        """Read files of the backlog. Returns False if there are none."""
        if not followed.waiting:
            return False
        followed.reading = followed.waiting.take(MAX_FILES, MAX_BYTES)
        try:
            added = [
                path
                for path, status in followed.reading.items()
                if status.size >= MIN_FILE_BYTES
                and path not in followed.gone
                and await self._append_added(followed, path)
            ]
            await self._import(followed, [path for path in followed.reading if path not in added])
        finally:
            followed.reading = {}
        return True

    def _idle_seconds(self) -> float | None:
        due = [
            max(at, agent.paused_until)
            for agent in self._agents.values()
            if (at := agent.due.next_at) is not None
        ]
        due += self._census_at.values()
        return None if not due else max(0.0, min(due) - time.monotonic())

    async def _take_census(self, name: str, followed: FollowedAgent) -> None:
        agent = followed.agent
        interval = WATCHED_SECONDS if self._watches.is_watching else POLL_SECONDS
        self._census_at[name] = time.monotonic() + interval  # a report may call for another one meanwhile
        records = None if followed.has_census else (await self._exchange.imports()).records

        # One call, because what 50,000 files fill must be freed on the thread, too: that takes 25 ms.
        def compare() -> list[str]:
            began = time.time_ns()
            found = followed.sources.census()
            followed.looked_at_ns, followed.is_census_due = began, False
            if records is not None:
                known = records.below(agent.folders(self._environ))
                followed.recall(known, found, self._exclusions.covers)
            return followed.compare(found)

        followed.report(await asyncio.to_thread(compare))
        followed.has_census = True
        self._watch_folders()

    # --- the watch -------------------------------------------------------------------------------------

    def _watch_folders(self) -> None:
        """Watch the folders of all followed agents. A census when the watch has begun finds what was written before."""
        if self._watches.watch(self._agents):
            later = time.monotonic() + WATCH_START_SECONDS
            for name, agent in self._agents.items():
                if not agent.has_census:
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
            self._tails.forget(path)
        if len(paths) == 1:
            await self._take_alone(followed, paths[0], is_due=True)
            return
        look_at = followed.sources.look_at
        found = await asyncio.to_thread(lambda: {path: look_at(path) for path in paths})
        ready = [path for path in paths if isinstance(found[path], FileStatus) and path not in followed.rests]
        followed.report(path for path in paths if path not in ready)
        await self._import(followed, ready)

    async def _take_alone(self, followed: FollowedAgent, path: str, *, is_due: bool = False) -> None:
        """Do what `_take` does. An error of this source is its problem, and stops no other."""
        try:
            await self._take(followed, path, is_due=is_due)
        except Draining:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the other sources are read
            await self._note_failure(followed, path, error)

    async def _take(self, followed: FollowedAgent, path: str, *, is_due: bool = False) -> None:
        """Read a source that was reported as written or is due, or determine its new place."""
        container = followed.sources.container_of(path)
        if container == path:
            await self._take_container(followed, container)
            return
        found = await asyncio.to_thread(followed.sources.look_at, path)
        if isinstance(found, str):
            followed.problems[container or path] = found
        elif found is not None:
            await self._take_present(followed, path, found, is_due=is_due)
        else:
            followed.problems.pop(path, None)
            self._tails.forget(path)
            if followed.seen.pop(path, None) is not None:
                followed.unsettled.add(path)
                self._census_at[followed.agent.name] = 0.0  # the file may be at another place

    async def _take_present(
        self, followed: FollowedAgent, path: str, found: FileStatus, *, is_due: bool
    ) -> None:
        """Read a source that exists, unless it is as it was read last, or is not to be read."""
        if (cwd := followed.excluded.get(path)) is not None:
            if await asyncio.to_thread(self._exclusions.covers, path, cwd):
                followed.seen[path] = found
                return
            del followed.excluded[path]
        if path in followed.lacking and not is_due:
            is_due = await asyncio.to_thread(followed.is_complete_now, path)
        if followed.seen.get(path) == found and not is_due:
            return
        if (until := followed.rests.get(path, 0.0)) > time.monotonic():
            followed.due[path] = until
        elif is_due or path in followed.gone or not await self._append_added(followed, path):
            started = time.monotonic()
            await self._import(followed, [path])
            if found.size >= followed.sources.min_tail_bytes:
                seconds = time.monotonic() - started
                if not await self._tails.begin(followed, path, is_read_now=True):
                    followed.rests[path] = time.monotonic() + REST_FACTOR * seconds

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
        """Append what was added to a large file that was read before. Returns False if it must be read whole."""
        status = await self._tails.append_added(followed, path)
        if status is None:
            return False
        self._note_read(followed, path, status)
        return True

    async def _import(self, followed: FollowedAgent, paths: Sequence[str]) -> None:
        """Import files as they are now. An error of one file becomes its problem, and does not stop the others."""
        try:
            await self._import_together(followed, paths)
        except Draining:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the other files are read
            if len(paths) == 1:
                await self._note_failure(followed, paths[0], error)
                return
            log.info("%d files of %s are read one by one: %r", len(paths), followed.agent.title, error)
            for path in paths:
                await self._import(followed, [path])

    async def _import_together(self, followed: FollowedAgent, paths: Sequence[str]) -> None:
        imports = await self._exchange.imports()
        records = await asyncio.to_thread(imports.records.find, paths, None)
        ready = [path for path in paths if not await self._is_deleted_here(followed, path, records.get(path))]
        status = await asyncio.to_thread(lambda: {path: followed.sources.status(path) for path in ready})
        reporting = Reporting(_ignore, self._on_created, t.Origin(kind="foreign"))
        try:
            outcomes = await imports.import_followed(ready, reporting, self._exclusions.covers)
        except StorageFailed as error:
            log.warning("cannot follow %s: %s", followed.agent.title, error)
            for path in ready:
                followed.due[path] = time.monotonic() + RETRY_SECONDS
            return
        for path, outcome in zip(ready, outcomes, strict=True):
            if isinstance(outcome, t.SkippedFile) and outcome.message == EXCLUDED:
                found = (await asyncio.to_thread(imports.records.find, [path], None)).get(path)
                followed.excluded[path] = "" if found is None else found.cwd
            if absent := imports.missing_files.get(path):
                followed.lacking[path] = absent
            else:
                followed.lacking.pop(path, None)
            self._note(followed, path, status[path], outcome)
            record = records.get(path)
            if isinstance(outcome, t.ImportedSession) and file_states.may_differ(
                followed.agent, path, record, outcome
            ):
                followed.unsettled.add(path)

    def _note(
        self,
        followed: FollowedAgent,
        path: str,
        status: FileStatus | None,
        outcome: t.ImportedSession | t.SkippedFile,
    ) -> None:
        """Record the outcome for a file, and when to read it again."""
        is_refused = isinstance(outcome, t.SkippedFile)
        if status is not None and not (is_refused and memory_limit.reason_to_refuse(status.size)):
            self._note_read(followed, path, status)
        if isinstance(outcome, t.ImportedSession):
            if outcome.status == "created":
                for fork in followed.forks:
                    followed.due[fork] = time.monotonic()
            followed.forks.discard(path)
            if fork_history.lacking(outcome) is not None:
                followed.forks.add(path)
        if isinstance(outcome, t.SkippedFile) and outcome.message == BEING_RECORDED:
            followed.due[path] = time.monotonic() + RECORDED_SECONDS
        if isinstance(outcome, t.SkippedFile) and outcome.message not in UNREMARKABLE:
            followed.problems[path] = outcome.message
        else:
            followed.problems.pop(path, None)

    async def _note_failure(self, followed: FollowedAgent, path: str, error: Exception) -> None:
        """Record that a file cannot be read because of an unexpected error, also for `doctor`."""
        reason = f"{FAILED}{_described(error)}"
        if followed.problems.get(path) != reason:
            log.error("%s cannot be read", lines.valid_text(path), exc_info=error)
        followed.problems[path] = reason
        followed.due[path] = time.monotonic() + WATCHED_SECONDS
        status = await asyncio.to_thread(followed.sources.status, path)
        if status is None:
            return
        followed.seen[path] = status
        records = (await self._exchange.imports()).records
        before = (await asyncio.to_thread(records.find, [path], None)).get(path)
        skipped = t.SkippedFile(path=lines.valid_text(path), message=reason)
        record = SourceRecord(IMPORTER, unread(status), skipped=skipped)
        if before is not None and before.session is not None:
            record = msgspec.structs.replace(before, state=record.state, skipped=skipped)
        await asyncio.to_thread(records.put, {path: record}, None)

    def _note_read(self, followed: FollowedAgent, path: str, status: FileStatus) -> None:
        """Record that a file was read, and when to read it whole again: when it has been quiet for some time."""
        followed.seen[path] = status
        self._session_ends.note_read(followed, path, status)
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
            await self._open.ref_of(record.session.session_id)
        except HubError:
            if not await self._exchange.is_forgotten(record.session.session_id):
                followed.problems[path] = DELETED
            status = await asyncio.to_thread(followed.sources.status, path)
            if status is not None:
                followed.seen[path] = status
            return True
        return False

    async def _settle(self, followed: FollowedAgent, _now: float) -> bool:
        """Record the state of an unsettled file in its session, after all existing files were read.

        Returns False if there is none.
        """
        if not followed.unsettled:
            return False
        path = followed.unsettled.pop()
        records = (await self._exchange.imports()).records
        files = await asyncio.to_thread(file_states.files_beside, path, records, followed.sources.status)
        if files:
            try:
                live = await self._open.session(files[path].session_id)
                await file_states.settle(live, followed.agent, files)
            except (HubError, StorageFailed, LogReplaced) as error:
                log.info("the session of %s does not record its state: %s", path, error)
                return True
            await self._open.close_unless_in_use(live)
            await asyncio.to_thread(records.put, file_states.changed_records(files), None)
            followed.gone.difference_update(files)
            followed.gone.update(path for path, file in files.items() if file.status is None)
        return True

    def _on_created(self, info: t.SessionInfo) -> None:
        if info.path is not None:
            self._open.log_moved(info.path)  # a search finds it immediately
        self._created(info)


def _described(error: Exception) -> str:
    described: str = lines.valid_text(f"{type(error).__name__}: {error}"[:_MAX_DESCRIBED])
    return described


def _ignore(_value: object) -> None:
    """Ignore a report that no request needs."""
