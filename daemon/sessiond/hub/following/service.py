"""The entry to following: loads the follower only when an agent is followed or asked about.

The follower needs the code of imports, which most daemons never need.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sessiond.agents.agent import Environ
from sessiond.agents.table import AGENTS
from sessiond.hub.transfer.exchange import Exchange
from sessiond.protocol import types as t

if TYPE_CHECKING:
    from sessiond.hub.following.follower import AgentFollower, FollowHost
    from sessiond.hub.transfer.source_records import SourceRecords


class AgentFollowing:
    """Follows the agents that the configuration names. See `AgentFollower` for the arguments."""

    def __init__(self, host: "FollowHost", exchange: Exchange, environ: Environ | None = None) -> None:
        self._host = host
        self._exchange = exchange
        self._environ = os.environ if environ is None else environ
        self._names: Sequence[str] = ()
        self._is_wanted = asyncio.Event()
        self._follower: AgentFollower | None = None
        self.changing = asyncio.Lock()
        """Held while a request changes the list of followed agents."""

    def configure(self, names: Sequence[str]) -> None:
        """Follow the agents with these names, and no others."""
        self._names = names
        if self._follower is not None:
            self._follower.configure(names)
        if names:
            self._is_wanted.set()

    async def run(self, created: Callable[[t.SessionInfo], None]) -> None:
        """Follow until canceled. `created` receives each new session."""
        await self._is_wanted.wait()
        follower = await self.follower()
        await follower.run(created)

    async def follower(self) -> "AgentFollower":
        """Return the follower. It is loaded first if need be."""
        if self._follower is None:
            make = await asyncio.to_thread(_load)
            if self._follower is None:
                self._follower = make(self._host, self._exchange, self._environ)
                self._follower.configure(self._names)
        return self._follower

    async def describe(self) -> list[t.AgentInfo]:
        """Return a description of each agent; see `agent_list.describe_all`."""
        follower, records = await self.follower(), (await self._exchange.imports()).records
        return await asyncio.to_thread(_describe_all, self._environ, records, follower)

    async def followable(self, *, with_files: bool) -> list[str]:
        """Return the names of the agents that can be followed; see `agent_list.followable`."""
        return await asyncio.to_thread(_followable, self._environ, with_files=with_files)

    async def sessions_of(self, name: str) -> dict[str, str]:
        """Return the ids of the sessions that came from files of an agent, each with the path of one of its files."""
        records = (await self._exchange.imports()).records
        below = await asyncio.to_thread(records.below, AGENTS[name].folders(self._environ))
        return {it.session.session_id: path for path, it in below.items() if it.session is not None}

    async def drop_records(self, name: str) -> None:
        """Drop the records of the files of an agent, so that they are imported again when it is followed again."""
        records = (await self._exchange.imports()).records
        await asyncio.to_thread(records.delete_below, AGENTS[name].folders(self._environ))


def _describe_all(environ: Environ, records: "SourceRecords", follower: "AgentFollower") -> list[t.AgentInfo]:
    from sessiond.hub.following.agent_list import describe_all

    return describe_all(environ, records, follower.followed)


def _followable(environ: Environ, *, with_files: bool) -> list[str]:
    from sessiond.hub.following.agent_list import followable

    return followable(environ, with_files=with_files)


def _load() -> "type[AgentFollower]":
    from sessiond.hub.following.follower import AgentFollower

    return AgentFollower
