"""The entry to following: loads the follower only when an agent is followed or asked about.

The follower needs the code of imports, which most daemons never need.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from sessiond.agents.agent import Agent, Environ
from sessiond.agents.places import home
from sessiond.agents.table import AGENTS
from sessiond.config import AgentsConfig
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.transfer.exchange import Exchange
from sessiond.protocol import types as t

if TYPE_CHECKING:
    from sessiond.hub.following.follower import AgentFollower
    from sessiond.hub.transfer.source_records import SourceRecords


_CHECK_SECONDS: Final = 0.05
"""The interval at which a search that waits checks whether everything was read."""


class AgentFollowing:
    """Follows the agents that the configuration names. See `AgentFollower` for the arguments."""

    def __init__(
        self, open_sessions: OpenSessions, exchange: Exchange, environ: Environ | None = None
    ) -> None:
        self._open = open_sessions
        self._exchange = exchange
        self.environ = os.environ if environ is None else environ
        """The environment variables that may move the folders of agents."""
        self.user_home = home(self.environ)
        """The home folder below which agents are looked for."""
        self._config = AgentsConfig()
        self._is_wanted = asyncio.Event()
        self._follower: AgentFollower | None = None
        self.changing = asyncio.Lock()
        """Held while a request changes the list of followed agents."""

    def configure(self, config: AgentsConfig) -> None:
        """Follow the agents that the configuration names, and no others."""
        self._config = config
        if self._follower is not None:
            self._follower.configure(config)
        if config.follow:
            self._is_wanted.set()

    async def run(self, created: Callable[[t.SessionInfo], None]) -> None:
        """Follow until canceled. `created` receives each new session."""
        await self._is_wanted.wait()
        follower = await self.follower()
        await follower.run(created)

    async def follower(self) -> "AgentFollower":
        """Return the follower. It is loaded first if necessary."""
        if self._follower is None:
            make = await asyncio.to_thread(_load)
            if self._follower is None:
                self._follower = make(self._open, self._exchange, self.environ)
                self._follower.configure(self._config)
        return self._follower

    async def unread(self, until: float) -> t.UnsearchedTexts:
        """Return how much of the followed agents is not read, once nothing is or at a time of `time.monotonic`."""
        while True:
            left = t.UnsearchedTexts(session_count=len(self._config.follow), size_bytes=0)
            if self._follower is not None:
                left = await self._follower.unread()
            if not left.session_count or time.monotonic() >= until:
                return left
            await asyncio.sleep(_CHECK_SECONDS)

    async def describe(self) -> list[t.AgentInfo]:
        """Return a description of each agent; see `agent_list.describe_all`."""
        follower, records = await self.follower(), await self.records()
        return await asyncio.to_thread(_describe_all, self.agents(), self.environ, records, follower)

    async def records(self) -> "SourceRecords":
        """Return the records of the files that were imported."""
        return (await self._exchange.imports()).records

    @property
    def followed(self) -> tuple[str, ...]:
        """The names of the agents that the configuration names."""
        return tuple(self._config.follow)

    def agents(self) -> list[Agent]:
        """Return all agents with the folders that the configuration adds."""
        return [agent.also_in(self._config.folders.get(agent.name, ())) for agent in AGENTS.values()]

    async def followable(self, environ: Environ | None = None, *, with_files: bool) -> list[str]:
        """Return the names of the agents that can be followed; see `agent_list.followable`.

        Args:
            environ: The environment variables of a client, which may name further folders.
            with_files: Whether to return only agents that have session files.
        """
        agents = [agent.also_in(() if environ is None else agent.folders(environ)) for agent in self.agents()]
        return await asyncio.to_thread(_followable, agents, self.environ, with_files=with_files)

    async def sessions_of(self, name: str) -> dict[str, str]:
        """Return the ids of the sessions that came from files of an agent, each with the path of one of its files."""
        records = await self.records()
        below = await asyncio.to_thread(records.below, self._folders(name))
        return {
            record.session.session_id: path for path, record in below.items() if record.session is not None
        }

    async def read_again(self, paths: Sequence[str]) -> None:
        """Read files as if they were new, if their agents are followed."""
        if not paths:
            return
        records = await self.records()
        await asyncio.to_thread(records.delete, paths)
        if self._follower is not None:
            self._follower.read_again(paths)

    async def drop_records(self, name: str) -> None:
        """Drop the records of the files of an agent, so that they are imported again when it is followed again."""
        records = await self.records()
        await asyncio.to_thread(records.delete_below, self._folders(name))

    def _folders(self, name: str) -> list[str]:
        return next(agent.folders(self.environ) for agent in self.agents() if agent.name == name)


def _describe_all(
    agents: Sequence[Agent], environ: Environ, records: "SourceRecords", follower: "AgentFollower"
) -> list[t.AgentInfo]:
    from sessiond.hub.following.agent_list import describe_all

    return describe_all(agents, environ, records, follower.followed)


def _followable(agents: Sequence[Agent], environ: Environ, *, with_files: bool) -> list[str]:
    from sessiond.hub.following.agent_list import followable

    return followable(agents, environ, with_files=with_files)


def _load() -> "type[AgentFollower]":
    from sessiond.hub.following.follower import AgentFollower

    return AgentFollower
