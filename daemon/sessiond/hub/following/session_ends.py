"""Records in a session that no process of its agent has it any more, also if the process was killed.

The processes of a session are known from files and locks of the agent (`agents.session_processes`), which are read
when the session was written, and by hooks, which name the process that ran them. An end is recorded only if something
shows it: a watched process ended, or the agent names a process that does not run.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from sessiond.agents.session_processes import NamedProcess
from sessiond.hub.discovery.processes import running_process
from sessiond.hub.errors import HubError
from sessiond.hub.following.followed_agent import FollowedAgent
from sessiond.hub.following.process_watch import ProcessWatch
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.transfer import database_sources, origin_state
from sessiond.hub.transfer.exchange import Exchange
from sessiond.hub.transfer.leading_file import is_origin
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.protocol import types as t
from sessiond.session.listing.lifecycle import lifecycle_and_model
from sessiond.store.errors import LogReplaced, StorageFailed
from sessiond.store.records import Process

log = logging.getLogger(__name__)

FRESH_SECONDS: Final = 3600.0
"""The processes of a source are looked for if it was written within this time. Later, it counts as ended anyway."""
_MAX_ENDS: Final = 1000
"""Limit of the ended sources that are remembered, for lines that are read later."""


class SessionEnds:
    """The processes of the sessions of followed agents, and the ends of these sessions.

    Args:
        open_sessions: The open sessions.
        exchange: The records of sources.
        read: Reads what was written to a source.
        work: Has `record_end` and `find_processes` called.
    """

    def __init__(
        self,
        open_sessions: OpenSessions,
        exchange: Exchange,
        read: Callable[[FollowedAgent, str], Awaitable[None]],
        work: Callable[[], None],
    ) -> None:
        self._open = open_sessions
        self._exchange = exchange
        self._read = read
        self._work = work
        self._watch = ProcessWatch(self._note_end)
        self._agents: dict[str, FollowedAgent] = {}  # by watched source
        self._ends: dict[str, int] = {}  # the last ends, oldest first, as in `FollowedAgent.ended`
        self._unnamed: dict[str, int] = {}
        """The last sources that were written after their end, oldest first, and that end: the process that has them
        is not the one that was named.
        """

    def follow(self, agents: Mapping[str, FollowedAgent]) -> None:
        """Watch the sources of these agents, by name, and no others any more."""
        for path, before in list(self._agents.items()):
            followed = agents.get(before.agent.name)
            if followed is None:
                self._drop(path)
            else:
                self._agents[path] = followed

    def note_read(self, followed: FollowedAgent, path: str, status: FileStatus) -> None:
        """Note that a source was read with this status."""
        ended_ns = self._ends.pop(path, None)
        if ended_ns is not None and status.modified_ns <= ended_ns:
            followed.ended[path] = ended_ns  # a line that was read may have revoked the end
            return
        if ended_ns is not None:
            _remember(self._unnamed, path, ended_ns)
        if (
            followed.agent.processes is not None
            and path not in self._watch
            and time.time_ns() - status.modified_ns < FRESH_SECONDS * 1e9
        ):
            followed.unwatched.setdefault(path, False)

    def note_hook(self, followed: FollowedAgent, params: t.AgentWakeParams) -> None:
        """Note the process, or the end, of the session that a hook reports."""
        paths = [] if params.path is None else [params.path]
        if not paths and params.session_id is not None:
            paths = [
                database_sources.source_of(container, params.session_id) for container in followed.containers
            ]
        process = None
        if params.pid is not None and params.start_time is not None:
            process = running_process(params.pid, params.start_time)
        for path in paths:
            if params.ended:
                self._drop(path)
                followed.ended[path] = time.time_ns()
            elif process is not None:
                self._add(followed, path, [process])

    async def find_processes(self, followed: FollowedAgent, _now: float) -> bool:
        """Look for the processes of a source that was written, or whose processes ended. False if there is none."""
        if not followed.unwatched:
            return False
        path = next(iter(followed.unwatched))
        had_process = followed.unwatched.pop(path)
        if path in self._watch:
            return True
        named, running = await asyncio.to_thread(_processes, followed, path)
        self._add(followed, path, running)
        if running:
            self._unnamed.pop(path, None)
        elif had_process or (named and path not in self._unnamed):
            self._unnamed.pop(path, None)
            followed.ended[path] = time.time_ns()
        # A process may have left one session for another.
        beside = {other: self._agents[other] for other in self._watch.beside(path)}
        for other in await asyncio.to_thread(_left, beside):
            self._drop(other)
            beside[other].ended[other] = time.time_ns()
        return True

    async def record_end(self, followed: FollowedAgent, _now: float) -> bool:
        """Read what the agent wrote last to a source, and record its end. Returns False if no source has ended."""
        if not followed.ended:
            return False
        path = next(iter(followed.ended))
        ended_ns = followed.ended.pop(path)
        await self._read(followed, path)
        _remember(self._ends, path, ended_ns)
        records = (await self._exchange.imports()).records
        record = (await asyncio.to_thread(records.find, [path], None)).get(path)
        if record is None or record.session is None:
            return True  # it is recorded when it is read
        try:
            live = await self._open.session(record.session.session_id)
            if is_origin(path, live.tree) and _seems_at_work(live):
                await origin_state.append(live, live.tree.origin_state, ended=True)
        except (HubError, StorageFailed, LogReplaced) as error:
            log.info("the session of %s does not record its end: %s", path, error)
        else:
            await self._open.close_unless_in_use(live)
        return True

    def close(self) -> None:
        """Watch no process any more."""
        self._watch.close()
        self._agents.clear()

    def _add(self, followed: FollowedAgent, path: str, processes: list[Process]) -> None:
        self._watch.add(path, processes)
        if path in self._watch:
            self._agents[path] = followed

    def _drop(self, path: str) -> None:
        self._watch.drop(path)
        self._agents.pop(path, None)

    def _note_end(self, path: str) -> None:
        self._agents.pop(path).unwatched[path] = True
        self._work()


def _remember(known: dict[str, int], path: str, ended_ns: int) -> None:
    """Add a source to the last ones, and forget the oldest one if there are too many."""
    known.pop(path, None)
    known[path] = ended_ns
    if len(known) > _MAX_ENDS:
        del known[next(iter(known))]


def _seems_at_work(live: LiveSession) -> bool:
    """Return whether a list shows the agent of a session as one that works, or waits for a person."""
    tree = live.tree
    if tree.has_ended or tree.origin is None:
        return False
    lifecycle, _ = lifecycle_and_model(tree, live.read_rows)
    return lifecycle == "interrupted" or (lifecycle in ("complete", "empty") and not tree.origin.automated)


def _left(agents: Mapping[str, FollowedAgent]) -> list[str]:
    """Return the sources that, by the files of their agents, no running process has any more. Blocks."""
    return [
        path for path, agent in agents.items() if agent.agent.processes and not _processes(agent, path)[1]
    ]


def _processes(followed: FollowedAgent, path: str) -> tuple[list[NamedProcess], list[Process]]:
    """Return the processes that the agent names for a source, and the running ones. Blocks."""
    find = followed.agent.processes
    named = [] if find is None else find(path)
    found = [running_process(process.pid, process.start_time) for process in named]
    return named, [process for process in found if process is not None]
