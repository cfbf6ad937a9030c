"""Starts stored sessions in the agent, which may not be able to load them.

The agent gets the conversation in the way that it understands: as a session in its own format, if one can be written
for it, else quoted in front of the next prompt.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET, Raw

from sessiond.acp import jsonrpc, replay
from sessiond.acp.errors import AgentRefused, SessionUnknown
from sessiond.acp.jsonrpc import Envelope
from sessiond.acp.proxy import Proxy
from sessiond.acp.running_session import AcpClient, RunningSession
from sessiond.acp.stored_sessions import UNAVAILABLE, Entry
from sessiond.agents.agent import Agent
from sessiond.agents.table import AGENTS
from sessiond.protocol import types as t
from sessiond.session.content import fields


class StoredStarts:
    """Starts the stored sessions of one proxy in its agent."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._agent: Agent | None = AGENTS.get(proxy.store.agent.name)

    async def before_load(self, session_id: str) -> None:
        """Prepare the agent for a load: one agent overwrites the file that it loads."""
        if self._agent is not None and self._agent.before_load is not None:
            await asyncio.to_thread(self._agent.before_load, session_id, os.environ)

    async def restore(
        self, client: AcpClient, envelope: Envelope, session_id: str, *, replays: bool, refusal: Any = UNSET,
        line: bytes = b"",
    ) -> None:  # fmt: skip
        """Continue a stored session that the agent cannot load, or a session that runs here already.

        Args:
            client: The client.
            envelope: Its request.
            session_id: The session.
            replays: Whether the client is shown the conversation.
            refusal: The agent's error, if it was asked.
            line: The line of that error.
        """
        session = self._proxy.sessions.get(session_id)
        try:
            stored = await self._proxy.store.find(session_id)
            if stored is None and session is None:
                raise SessionUnknown(session_id)
            path = [] if stored is None else await self._proxy.store.path(stored.session_id)
            if stored is not None and session is None:
                params = jsonrpc.mapping(envelope.params)
                session = await self.start_copy(stored, path, params, session_id)
        except (SessionUnknown, AgentRefused, *UNAVAILABLE) as error:
            self._proxy.sessions.give_up(session_id)
            if refusal is not UNSET:
                client.deliver(envelope.request_id, line)
            else:
                client.refuse(envelope.request_id, error)
            return
        if replays:
            for update in replay.updates(path):
                client.peer.send(jsonrpc.update(session_id, update))
                await client.peer.drained()
        client.reply(envelope.request_id, {} if session is None else session.result)

    async def start_copy(
        self, stored: t.SessionInfo, path: list[Entry], params: Mapping[str, Any], session_id: str | None
    ) -> RunningSession:
        """Start a session of the agent that begins with a stored conversation. Returns it.

        Args:
            stored: The stored session.
            path: Its entries.
            params: The params of the request.
            session_id: The id under which clients know it. Default: the agent's id.

        Raises:
            AgentRefused: The agent refused it.
        """
        written = await self._written(stored)
        if written is not None:
            method = "session/resume" if "resume" in self._proxy.can.native else "session/load"
            started = {**params, "sessionId": written}
            try:
                return await self.start_silently(method, started, session_id or written, written)
            except AgentRefused as refusal:
                self._proxy.report(f"The agent does not load the session that was written for it: {refusal}")
        return await self.start_new({"cwd": stored.cwd, **params}, session_id, path)

    async def start_new(
        self, params: Mapping[str, Any], session_id: str | None = None, path: Sequence[Entry] = ()
    ) -> RunningSession:
        """Start a new session of the agent. Returns it.

        Args:
            params: The params of a request about another session.
            session_id: The id under which clients know it. Default: the agent's id.
            path: The entries that its next prompt quotes.

        Raises:
            AgentRefused: The agent refused it.
        """
        made: list[RunningSession] = []

        def on_result(result: Raw) -> None:
            if (agent_id := jsonrpc.session_id_in(result)) is not None:
                cwd = fields.text(params.get("cwd"))
                session = self._proxy.sessions.register(
                    session_id or agent_id, cwd, result, agent_id=agent_id
                )
                session.introduction = replay.introduction(path) if path else None
                made.append(session)

        started = {name: value for name, value in params.items() if name != "sessionId"}
        await self._proxy.calls.call("session/new", {"mcpServers": [], **started}, on_result)
        if not made:
            raise AgentRefused(jsonrpc.encoded({"code": jsonrpc.INTERNAL_ERROR, "message": "no sessionId"}))
        return made[0]

    async def _written(self, stored: t.SessionInfo) -> str | None:
        """Write a session in the agent's own format. Returns its id; None if that cannot be done."""
        if self._agent is None or not {"load", "resume"} & self._proxy.can.native:
            return None
        try:
            written = await self._proxy.store.written_for_agent(stored.session_id)
        except UNAVAILABLE:
            return None
        if written.import_argv is not None:
            env = {**os.environ, **written.env}
            try:
                importing = await asyncio.create_subprocess_exec(
                    *written.import_argv, cwd=written.cwd, env=env, stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                )  # fmt: skip
            except OSError:
                return None
            if await importing.wait():
                return None
        return written.native_session_id

    async def start_silently(
        self, method: str, params: Mapping[str, Any], session_id: str, agent_id: str
    ) -> RunningSession:
        """Load or resume a session in the agent, without showing a replay. Returns it. Raises `AgentRefused`.

        Args:
            method: `session/load` or `session/resume`.
            params: The params of the request.
            session_id: The id under which clients know the session.
            agent_id: The agent's id of it.
        """
        self._proxy.sessions.replaying[agent_id] = None
        made: list[RunningSession] = []

        def on_result(result: Raw) -> None:
            self._proxy.sessions.replaying.pop(agent_id, None)
            folder = fields.text(params.get("cwd"))
            session = self._proxy.sessions.register(session_id, folder, result, agent_id=agent_id)
            session.begin_replay("hidden")
            made.append(session)

        try:
            await self._proxy.calls.call(method, {"mcpServers": [], **params}, on_result)
        finally:
            self._proxy.sessions.replaying.pop(agent_id, None)
        return made[0]
