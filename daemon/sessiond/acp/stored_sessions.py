"""The sessions of one agent in the daemon: finds the stored session of an agent's session, and its content.

A session of an agent has one session here, whether this proxy records it or its files are followed: both derive the
id in the same way, and name the same origin (decision 0049).
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

from msgspec import UNSET, UnsetType

from sessiond import config
from sessiond.acp.errors import SessionUnknown
from sessiond.agents.table import AGENTS
from sessiond.client import connect
from sessiond.client.daemon import Daemon
from sessiond.client.daemon_socket import DaemonConnectionError
from sessiond.client.retries import retry_while_unavailable
from sessiond.client.wire import NO_ANSWER, RpcError
from sessiond.paths import UnsafeFolderError, find_locations
from sessiond.protocol import types as t
from sessiond.session.content import fields
from sessiond.session.dialects.import_builder import origin_id, session_ids
from sessiond.session.dialects.recorded import RECORDED_TYPE, recorded_id
from sessiond.session.tree import entries

Entry = dict[str, Any]

UNAVAILABLE: Final = (DaemonConnectionError, *NO_ANSWER, RpcError, UnsafeFolderError, OSError)
"""The errors of a request if the daemon cannot be reached or refuses it."""
_NOT_RECEIVED: Final = ("session/appended", "session/changed", "session/leafMoved", "session/created")
_PAGE: Final = 50
_COPIED: Final = 500
"""Entries of one append of a copy."""
_OF_A_LOG: Final = ("leaf", "label")
"""Types of entries that refer to their own log."""
_SHARED: Final = ("HOME", "TMPDIR", "XDG_CONFIG_HOME")
"""Variables that name the folders where several agents keep their sessions."""


@dataclass(frozen=True, slots=True)
class RecordedAgent:
    """The agent behind the proxy, as its sessions name it.

    Attributes:
        name: Its name in the table of agents, or that of its program.
        dialect: The format of its own files, from which the ids of its sessions here derive.
    """

    name: str
    dialect: str

    def origin(self, native_id: str) -> Entry:
        """Return the entry that names a session of the agent as the origin."""
        data = {"source": self.dialect, "agent": self.name, "sourceId": native_id}
        return {
            "type": "custom", "id": origin_id(self.dialect, native_id), "parentId": None,
            "customType": entries.ORIGIN_TYPE, "data": data,
        }  # fmt: skip

    def mark(self, native_id: str) -> Entry:
        """Return the entry by which an import knows that the session is recorded."""
        return {
            "type": "custom", "id": recorded_id(self.dialect, native_id), "parentId": None,
            "customType": RECORDED_TYPE, "data": {"by": "acp"},
        }  # fmt: skip


class RecordedSessions:
    """The sessions of one agent in the daemon. The connection is made, and made again, on demand."""

    def __init__(self, agent: RecordedAgent) -> None:
        self.agent = agent
        self._stack = AsyncExitStack()
        self._daemon: Daemon | None = None
        self._connecting = asyncio.Lock()

    async def daemon(self) -> Daemon:
        """Return the daemon. Raises one of `UNAVAILABLE`."""
        async with self._connecting:
            if self._daemon is None:
                opening = connect(name="acp", opt_out_notifications=_NOT_RECEIVED)
                self._daemon = await self._stack.enter_async_context(opening)
        return self._daemon

    async def close(self) -> None:
        """End the connection."""
        await self._stack.aclose()

    def is_followed(self) -> bool:
        """Return whether the daemon reads the files of the agent. Blocks."""
        try:
            return self.agent.name in config.read(find_locations().config_file).agents.follow
        except config.InvalidConfigError:
            return False

    async def find(self, native_id: str) -> t.SessionInfo | None:
        """Return the session whose origin is the agent's session with this id. Raises `UNAVAILABLE`."""
        for session_id in session_ids(self.agent.dialect, native_id):
            found = await self._info(session_id)
            if found is not None and self._is_of(found, native_id):
                return found
        return None

    async def require(self, native_id: str) -> t.SessionInfo:
        """Return what `find` does. Raises `SessionUnknown` if there is none, and `UNAVAILABLE`."""
        found = await self.find(native_id)
        if found is None:
            raise SessionUnknown(native_id)
        return found

    async def ensure(self, native_id: str, cwd: str, parent: str | None = None) -> t.SessionInfo:
        """Return the session of an agent's session, which is created if there is none. Raises `UNAVAILABLE`.

        Args:
            native_id: The agent's id.
            cwd: The folder of a new session.
            parent: The id of the session here from which a new one is made.
        """
        if (found := await self._find_and_mark(native_id)) is not None:
            return found
        daemon = await self.daemon()
        refusal: RpcError | None = None
        for session_id in session_ids(self.agent.dialect, native_id):
            try:
                await daemon.create(cwd, id=session_id, parent_session_id=parent)
            except RpcError as error:
                refusal = error
                if error.kind != "alreadyExists":
                    continue
                if (found := await self._find_and_mark(native_id)) is not None:
                    return found  # it was read from the agent's file meanwhile
                if not await self._is_empty(session_id):
                    continue
            await self.append(
                session_id, [self.agent.origin(native_id), self.agent.mark(native_id)], advance=False
            )
            return (await daemon.info(session_id)).session
        raise refusal or SessionUnknown(native_id)

    async def _find_and_mark(self, native_id: str) -> t.SessionInfo | None:
        """Mark the session of an agent's session as recorded, and return it; None if there is none."""
        found = await self.find(native_id)
        if found is not None:
            await self.append(found.session_id, [self.agent.mark(native_id)], advance=False)
        return found

    async def append(
        self, session_id: str, drafts: Sequence[Mapping[str, Any]], *, advance: bool = True
    ) -> None:
        """Append entries, each of which names its parent. Raises `UNAVAILABLE`."""
        daemon = await self.daemon()
        await retry_while_unavailable(lambda: daemon.append(session_id, drafts, advance=advance))

    async def copy(self, source_id: str, native_id: str, cwd: str) -> None:
        """Begin the session of an agent's session with the path of another one. Raises `UNAVAILABLE`.

        Nothing is done if the other one is not stored, or the session exists already.

        Args:
            source_id: The agent's id of the other session.
            native_id: The agent's id of the session.
            cwd: The folder of the session.
        """
        source = await self.find(source_id)
        if source is None or await self.find(native_id) is not None:
            return
        path = [entry for entry in await self.path(source.session_id) if entry.get("type") not in _OF_A_LOG]
        made = await self.ensure(native_id, cwd, parent=source.session_id)
        for start in range(0, len(path), _COPIED):
            drafts = [fields.without(entry, entries.COMMAND_FIELD) for entry in path[start : start + _COPIED]]
            await self.append(made.session_id, drafts)

    async def path(self, session_id: str, leaf_id: str | UnsetType | None = UNSET) -> list[Entry]:
        """Return the entries from the root to an entry, with their images. Raises `UNAVAILABLE`.

        Args:
            session_id: The session.
            leaf_id: The last entry. Default: the leaf.
        """
        daemon = await self.daemon()
        page = await daemon.path(session_id, leaf_id, resolve_blobs=True)
        found = page.entries
        while page.next_cursor is not None:
            page = await daemon.path(session_id, leaf_id, cursor=page.next_cursor, resolve_blobs=True)
            found += page.entries
        return found

    async def page(self, cwd: str | None, cursor: str | None) -> t.ListResult:
        """Return a page of the agent's sessions. Raises `UNAVAILABLE`."""
        daemon = await self.daemon()
        return await daemon.list_sessions(cwd, agent=self.agent.name, cursor=cursor, limit=_PAGE)

    async def written_for_agent(self, session_id: str) -> t.ResumeResult:
        """Write a new session of the agent with the conversation of a session. Raises `UNAVAILABLE`."""
        daemon = await self.daemon()
        leaf = (await daemon.info(session_id)).session.leaf_id
        names = {*_SHARED, *(AGENTS[self.agent.name].variables if self.agent.name in AGENTS else ())}
        env = {name: os.environ[name] for name in names if name in os.environ}
        at = UNSET if leaf is None else leaf
        return await daemon.resume_session(session_id, agent=self.agent.name, env=env, leaf_id=at)

    async def _info(self, session_id: str) -> t.SessionInfo | None:
        daemon = await self.daemon()
        try:
            return (await daemon.info(session_id)).session
        except RpcError as error:
            if error.kind == "sessionNotFound":
                return None
            raise

    async def _is_empty(self, session_id: str) -> bool:
        found = await self._info(session_id)
        return found is not None and found.entry_count == 0

    def _is_of(self, found: t.SessionInfo, native_id: str) -> bool:
        origin = found.origin
        names = (self.agent.name, self.agent.dialect)
        return origin is not None and origin.session_id == native_id and origin.agent in names
