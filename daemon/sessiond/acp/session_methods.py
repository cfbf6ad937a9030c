"""The methods of sessions that the proxy takes part in: where the agent lacks one, the stored session answers.

If the agent has the method, its request and response pass unchanged. Otherwise a conversation is shown from the stored
entries, and the agent gets it in the way that it understands: as a session in its own format, if one can be written
for it, else quoted in front of the next prompt.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from msgspec import UNSET, Raw

from sessiond.acp import jsonrpc, replay
from sessiond.acp.attached_session import AttachedSession
from sessiond.acp.capabilities import Capabilities, with_added
from sessiond.acp.errors import SessionUnknown
from sessiond.acp.jsonrpc import Envelope
from sessiond.acp.proxy import AgentRefused, Proxy
from sessiond.acp.running_session import AcpClient
from sessiond.acp.stored_sessions import UNAVAILABLE, Entry
from sessiond.agents.agent import Agent
from sessiond.agents.table import AGENTS
from sessiond.protocol import types as t
from sessiond.session.content import fields

_NULL: Final = Raw(b"null")
_ATTEMPTS: Final = 5
"""Attempts to attach to a session whose process may be ending."""


class AcpMethods:
    """The methods of one proxy.

    Args:
        proxy: The proxy.
        recover: Stores what processes that were killed have left.
    """

    def __init__(self, proxy: Proxy, recover: Callable[[], Awaitable[None]]) -> None:
        self._proxy = proxy
        self._agent: Agent | None = AGENTS.get(proxy.store.agent.name)
        self._can = Capabilities()
        self._capabilities: Any = {}
        self._left: dict[str, str | None] = {}
        """Sessions whose process has ended, with their folders: the next prompt starts them here."""
        self._recover = recover
        self._prompt_here = proxy.handlers["session/prompt"]
        proxy.handlers |= {
            "session/prompt": self._prompt,
            "session/attach": self._attach,
            "session/detach": self._detach,
            "initialize": self._initialize,
            "session/new": self._new,
            "session/list": self._list,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/close": self._close,
        }

    async def _initialize(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        self._capabilities = jsonrpc.mapping(envelope.params).get("clientCapabilities") or {}

        def on_response(found: Envelope, line: bytes) -> None:
            if found.result is not UNSET:
                self._can = Capabilities.of(found.result)
                line = jsonrpc.with_result(line, with_added(found.result))
            assert envelope.id is not UNSET
            self._proxy.deliver(client, envelope.id, line)

        self._proxy.forward(client, envelope, line, on_response)
        return True

    async def _new(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        def on_response(found: Envelope, line: bytes) -> None:
            if found.result is not UNSET and (made := _session_id(found.result)) is not None:
                self._proxy.register(made, jsonrpc.cwd_of(envelope), found.result)
            assert envelope.id is not UNSET
            self._proxy.deliver(client, envelope.id, line)

        self._proxy.forward(client, envelope, line, on_response)
        return True

    async def _list(self, client: AcpClient, envelope: Envelope, _line: bytes) -> bool:
        if "list" in self._can.native:
            return False
        self._proxy.spawn(self._listed(client, envelope))
        return True

    async def _listed(self, client: AcpClient, envelope: Envelope) -> None:
        params = jsonrpc.mapping(envelope.params)
        try:
            page = await self._proxy.store.page(
                fields.text(params.get("cwd")), fields.text(params.get("cursor"))
            )
        except UNAVAILABLE as error:
            self._refuse(client, envelope, error)
            return
        rows = [
            {"sessionId": it.origin.session_id, "cwd": it.cwd, "title": it.title, "updatedAt": it.updated_at}
            for it in page.sessions
            if it.origin is not None
        ]
        more = {} if page.next_cursor is None else {"nextCursor": page.next_cursor}
        self._proxy.reply(client, _id(envelope), {"sessions": rows, **more})

    async def _load(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        self._proxy.spawn(self._loaded(client, envelope, line))
        return True

    async def _loaded(self, client: AcpClient, envelope: Envelope, line: bytes) -> None:
        session_id = jsonrpc.session_id_of(envelope)
        if session_id is None:
            self._proxy.forward(client, envelope, line)
        elif await self._runs_elsewhere(client, envelope, session_id, "full"):
            return
        elif "load" not in self._can.native:
            await self._restore(client, envelope, session_id, replays=True)
        else:
            await self._before_load(session_id)
            self._forward_start(client, envelope, line, session_id, replays=True)

    async def _resume(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        self._proxy.spawn(self._resumed(client, envelope, line))
        return True

    async def _resumed(self, client: AcpClient, envelope: Envelope, line: bytes) -> None:
        session_id = jsonrpc.session_id_of(envelope)
        if session_id is None:
            self._proxy.forward(client, envelope, line)
            return
        if await self._runs_elsewhere(client, envelope, session_id, "none"):
            return
        if "resume" in self._can.native:
            self._forward_start(client, envelope, line, session_id, replays=False)
            return
        if "load" in self._can.native:
            await self._before_load(session_id)
            params = jsonrpc.mapping(envelope.params)
            try:
                await self._start_silently("session/load", params, session_id, session_id)
            except AgentRefused:
                await self._restore(client, envelope, session_id, replays=False)
            else:
                self._proxy.reply(client, _id(envelope), self._proxy.sessions[session_id].result)
            return
        await self._restore(client, envelope, session_id, replays=False)

    def _forward_start(
        self, client: AcpClient, envelope: Envelope, line: bytes, session_id: str, *, replays: bool
    ) -> None:
        """Forward a load or resume. If the agent refuses it, the stored session is used."""
        if replays:
            self._proxy.replaying[session_id] = client

        def on_response(found: Envelope, line: bytes) -> None:
            self._proxy.replaying.pop(session_id, None)
            if found.result is UNSET:
                self._proxy.spawn(
                    self._restore(
                        client, envelope, session_id, replays=replays, refusal=found.error, line=line
                    )
                )
                return
            session = self._proxy.register(session_id, jsonrpc.cwd_of(envelope), found.result)
            session.replay = "shown" if replays else None
            self._proxy.deliver(client, _id(envelope), line)

        self._proxy.forward(client, envelope, line, on_response)

    async def _before_load(self, session_id: str) -> None:
        if self._agent is not None and self._agent.before_load is not None:
            await asyncio.to_thread(self._agent.before_load, session_id, os.environ)

    async def _restore(
        self, client: AcpClient, envelope: Envelope, session_id: str, *, replays: bool, refusal: Any = UNSET,
        line: bytes = b"",
    ) -> None:  # fmt: skip
        """Go on with a stored session that the agent cannot load.

        Args:
            client: The client.
            envelope: Its request.
            session_id: The session.
            replays: Whether the client is shown the conversation.
            refusal: The agent's error, if it was asked.
            line: The line of that error.
        """
        try:
            stored = await self._proxy.store.require(session_id)
            path = await self._proxy.store.path(stored.session_id)
            params = jsonrpc.mapping(envelope.params)
            await self._start_copy(stored, path, params, session_id)
        except (SessionUnknown, AgentRefused, *UNAVAILABLE) as error:
            if self._proxy.shared is not None and session_id not in self._proxy.sessions:
                self._proxy.shared.release(session_id)
            if refusal is not UNSET:
                self._proxy.deliver(client, _id(envelope), line)
            else:
                self._refuse(client, envelope, error)
            return
        if replays:
            for update in replay.updates(path):
                client.peer.send(jsonrpc.update(session_id, update))
                await client.peer.drained()
        self._proxy.reply(client, _id(envelope), self._proxy.sessions[session_id].result)

    async def _start_copy(
        self, stored: t.SessionInfo, path: list[Entry], params: Mapping[str, Any], session_id: str | None
    ) -> str:
        """Start a session of the agent that begins with a stored conversation. Returns the agent's id of it.

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
            method = "session/resume" if "resume" in self._can.native else "session/load"
            started = {**params, "sessionId": written}
            try:
                await self._start_silently(method, started, session_id or written, written)
            except AgentRefused as refusal:
                self._proxy.report(f"The agent does not load the session that was written for it: {refusal}")
            else:
                return written
        made: list[str] = []

        def on_result(result: Raw) -> None:
            if (agent_id := _session_id(result)) is not None:
                cwd = fields.text(params.get("cwd"))
                session = self._proxy.register(session_id or agent_id, cwd, result, agent_id=agent_id)
                session.introduction = replay.introduction(path) if path else None
                made.append(agent_id)

        started = {name: it for name, it in params.items() if name != "sessionId"}
        await self._proxy.call("session/new", {"mcpServers": [], "cwd": stored.cwd, **started}, on_result)
        if not made:
            raise AgentRefused(jsonrpc.encoded({"code": jsonrpc.INTERNAL_ERROR, "message": "no sessionId"}))
        return made[0]

    async def _written(self, stored: t.SessionInfo) -> str | None:
        """Write a session in the agent's own format. Returns its id; None if that cannot be done."""
        if self._agent is None or not {"load", "resume"} & self._can.native:
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

    async def _start_silently(
        self, method: str, params: Mapping[str, Any], session_id: str, agent_id: str
    ) -> None:
        """Load or resume a session in the agent, without showing a replay. Raises `AgentRefused`."""
        self._proxy.replaying[agent_id] = None

        def on_result(result: Raw) -> None:
            self._proxy.replaying.pop(agent_id, None)
            folder = fields.text(params.get("cwd"))
            self._proxy.register(session_id, folder, result, agent_id=agent_id).replay = "hidden"

        try:
            await self._proxy.call(method, {"mcpServers": [], **params}, on_result)
        finally:
            self._proxy.replaying.pop(agent_id, None)

    async def _fork(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        source = jsonrpc.session_id_of(envelope)
        if source is None:
            return False
        if "fork" not in self._can.native:
            self._proxy.spawn(self._forked(client, envelope, source))
            return True

        def on_response(found: Envelope, line: bytes) -> None:
            if found.result is not UNSET and (made := _session_id(found.result)) is not None:
                session = self._proxy.register(made, jsonrpc.cwd_of(envelope), found.result)
                session.recording.forked_from = source
            self._proxy.deliver(client, _id(envelope), line)

        self._proxy.forward(client, envelope, line, on_response)
        return True

    async def _forked(self, client: AcpClient, envelope: Envelope, source: str) -> None:
        try:
            stored = await self._proxy.store.require(source)
            path = await self._proxy.store.path(stored.session_id)
            made = await self._start_copy(stored, path, jsonrpc.mapping(envelope.params), None)
            session = self._proxy.sessions[made]
            await self._proxy.store.copy(source, made, session.recording.cwd)
        except (SessionUnknown, AgentRefused, *UNAVAILABLE) as error:
            self._refuse(client, envelope, error)
            return
        self._proxy.reply(client, _id(envelope), {"sessionId": made, **session.result})

    async def _close(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        session_id = jsonrpc.session_id_of(envelope) or ""
        session = self._proxy.sessions.get(session_id)
        if session_id in self._proxy.attached:
            return await self._detach(client, envelope, line)
        if session is None:
            return False
        if "close" not in self._can.native:
            if session.turn is not None:
                cancel = jsonrpc.notification("session/cancel", {"sessionId": session.agent_id})
                self._proxy.agent.peer.send(cancel)
            await self._proxy.unregister(session)
            self._proxy.reply(client, _id(envelope), {})
            return True

        def on_response(found: Envelope, line: bytes) -> None:
            if found.result is not UNSET:
                self._proxy.spawn(self._proxy.unregister(session))
            self._proxy.deliver(client, _id(envelope), line)

        self._proxy.forward(client, envelope, line, on_response)
        return True

    # --- sessions that run in other processes --------------------------------------------------------

    async def _attach(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        policy = fields.text(jsonrpc.mapping(envelope.params).get("historyPolicy")) or "full"
        self._proxy.spawn(self._attached_or_started(client, envelope, line, policy))
        return True

    async def _attached_or_started(
        self, client: AcpClient, envelope: Envelope, line: bytes, policy: str
    ) -> None:
        """Attach to a session. One that runs nowhere is started here."""
        session_id = jsonrpc.session_id_of(envelope)
        if session_id is None:
            self._proxy.fail(client, _id(envelope), jsonrpc.INVALID_PARAMS, "sessionId is missing.")
        elif (session := self._proxy.sessions.get(session_id)) is not None:
            self._proxy.reply(client, _id(envelope), {"sessionId": session_id, **session.result})
        elif not await self._runs_elsewhere(client, envelope, session_id, policy):
            await self._restore(client, envelope, session_id, replays=policy == "full")

    async def _detach(self, client: AcpClient, envelope: Envelope, _line: bytes) -> bool:
        attached = self._proxy.attached.pop(jsonrpc.session_id_of(envelope) or "", None)
        if attached is not None:
            attached.close()
        self._proxy.reply(client, _id(envelope), {})
        return True

    async def _runs_elsewhere(
        self, client: AcpClient, envelope: Envelope, session_id: str, policy: str
    ) -> bool:
        """Attach to a session that runs in another process. Returns False if it runs in none: it is then claimed."""
        role = fields.text(jsonrpc.mapping(envelope.params).get("role"))
        result = await self._attached_to(client, session_id, jsonrpc.cwd_of(envelope), policy, role)
        if result is None:
            return False
        if envelope.method != "session/attach":
            result.pop("sessionId", None)
        self._proxy.reply(client, _id(envelope), result)
        self._proxy.spawn(self._run_attached(self._proxy.attached[session_id]))
        return True

    async def _attached_to(
        self, client: AcpClient, session_id: str, cwd: str | None, policy: str, role: str | None = None
    ) -> dict[str, Raw] | None:
        """Connect to the process that runs a session, and return its result; None if no process runs it."""
        shared = self._proxy.shared
        if shared is None or session_id in self._proxy.sessions:
            return None
        if (former := self._proxy.attached.pop(session_id, None)) is not None:
            former.close()
        for _ in range(_ATTEMPTS):
            if shared.claim(session_id):
                return None
            peer = await shared.connect(session_id)
            if peer is None:
                continue
            attached = AttachedSession(session_id, cwd, peer, client)
            result = await attached.attach(policy, role, self._capabilities)
            if result is not None:
                self._proxy.attached[session_id] = attached
                return result
        return None

    async def _run_attached(self, attached: AttachedSession) -> None:
        await attached.run()
        if self._proxy.attached.get(attached.id) is attached:
            del self._proxy.attached[attached.id]
            self._left[attached.id] = attached.cwd

    async def _prompt(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        session_id = jsonrpc.session_id_of(envelope) or ""
        if session_id not in self._left:
            return await self._prompt_here(client, envelope, line)
        self._proxy.spawn(self._prompt_left(client, envelope, line, session_id))
        return True

    async def _prompt_left(self, client: AcpClient, envelope: Envelope, line: bytes, session_id: str) -> None:
        """Go on with a session whose process has ended: here, or in the process that has done so first."""
        cwd = self._left.pop(session_id)
        try:
            if await self._attached_to(client, session_id, cwd, "none") is not None:
                attached = self._proxy.attached[session_id]
                self._proxy.spawn(self._run_attached(attached))
                attached.take(envelope, line)
                return
            await self._recover()
            stored = await self._proxy.store.require(session_id)
            params = {"sessionId": session_id, "cwd": cwd or stored.cwd}
            native = next((it for it in ("resume", "load") if it in self._can.native), None)
            try:
                if native is None:
                    raise AgentRefused(_NULL)
                if native == "load":
                    await self._before_load(session_id)
                await self._start_silently(f"session/{native}", params, session_id, session_id)
            except AgentRefused:
                path = await self._proxy.store.path(stored.session_id)
                await self._start_copy(stored, path, params, session_id)
        except (SessionUnknown, AgentRefused, *UNAVAILABLE) as error:
            self._left[session_id] = cwd
            self._refuse(client, envelope, error)
            return
        await self._prompt_here(client, envelope, line)

    def _refuse(self, client: AcpClient, envelope: Envelope, error: Exception) -> None:
        if isinstance(error, AgentRefused):
            found = {"jsonrpc": "2.0", "id": _id(envelope), "error": error.error}
            client.peer.send(bytes(jsonrpc.encoded(found)) + b"\n")
            return
        code = jsonrpc.NOT_FOUND if isinstance(error, SessionUnknown) else jsonrpc.INTERNAL_ERROR
        self._proxy.fail(client, _id(envelope), code, str(error))


def _id(envelope: Envelope) -> Raw:
    return _NULL if envelope.id is UNSET else envelope.id


def _session_id(result: Raw) -> str | None:
    return fields.text(jsonrpc.value(jsonrpc.members(result).get("sessionId", _NULL)))
