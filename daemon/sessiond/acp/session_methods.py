"""The methods of sessions that the proxy takes part in: where the agent lacks one, the stored session answers.

If the agent has the method, its request and response pass unchanged. Otherwise a conversation is shown from the stored
entries, and the agent gets it in the way that it understands: as a session in its own format, if one can be written
for it, else quoted in front of the next prompt.
"""

import asyncio
import contextlib
from typing import Final

from msgspec import UNSET

from sessiond.acp import jsonrpc
from sessiond.acp.capabilities import Capabilities, with_added
from sessiond.acp.elsewhere import SessionsElsewhere
from sessiond.acp.errors import AgentRefused, AgentSilent, SessionUnknown
from sessiond.acp.jsonrpc import Envelope
from sessiond.acp.proxy import Proxy
from sessiond.acp.restoring import StoredStarts
from sessiond.acp.running_session import AcpClient
from sessiond.acp.stored_sessions import UNAVAILABLE
from sessiond.session.content import fields

SILENT_SECONDS: Final = 10
"""Seconds after which an agent that has not answered `initialize` is reported. The request goes on."""


class AcpMethods:
    """The methods of one proxy.

    Args:
        proxy: The proxy.
        stored: Starts stored sessions in the agent.
        elsewhere: The sessions that run in other processes.
    """

    def __init__(self, proxy: Proxy, stored: StoredStarts, elsewhere: SessionsElsewhere) -> None:
        self._proxy = proxy
        self._stored = stored
        self._elsewhere = elsewhere
        proxy.handlers |= {
            "session/prompt": elsewhere.prompt,
            "session/attach": elsewhere.attach,
            "session/detach": elsewhere.detach,
            "initialize": self._initialize,
            "session/new": self._new,
            "session/list": self._list,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "session/close": self._close,
        }

    async def _initialize(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        client.capabilities = fields.mapping(jsonrpc.mapping(envelope.params).get("clientCapabilities"))

        answered = asyncio.Event()

        def on_response(found: Envelope, line: bytes) -> None:
            answered.set()
            if found.result is not UNSET:
                self._proxy.can = Capabilities.of(found.result)
                line = jsonrpc.with_result(line, with_added(found.result))
            client.deliver(envelope.request_id, line)

        self._proxy.calls.forward(client, envelope, line, on_response)
        self._proxy.background.start(self._report_silence(answered))
        return True

    async def _report_silence(self, answered: asyncio.Event) -> None:
        """Report if the agent takes long to answer: it may wait for a login, or may be no agent."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SILENT_SECONDS):
                await answered.wait()
            return
        self._proxy.report(str(AgentSilent(self._proxy.agent.program, SILENT_SECONDS)))

    async def _new(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        def on_response(found: Envelope, line: bytes) -> None:
            if found.result is not UNSET and (made := jsonrpc.session_id_in(found.result)) is not None:
                self._proxy.sessions.register(made, jsonrpc.cwd_of(envelope), found.result)
            client.deliver(envelope.request_id, line)

        self._proxy.calls.forward(client, envelope, line, on_response)
        return True

    async def _list(self, client: AcpClient, envelope: Envelope, _line: bytes) -> bool:
        if "list" in self._proxy.can.native:
            return False
        self._proxy.background.start(self._listed(client, envelope))
        return True

    async def _listed(self, client: AcpClient, envelope: Envelope) -> None:
        params = jsonrpc.mapping(envelope.params)
        try:
            page = await self._proxy.store.page(
                fields.text(params.get("cwd")), fields.text(params.get("cursor"))
            )
        except UNAVAILABLE as error:
            client.refuse(envelope.request_id, error)
            return
        rows = [
            {
                "sessionId": session.origin.session_id,
                "cwd": session.cwd,
                "title": session.title,
                "updatedAt": session.updated_at,
            }
            for session in page.sessions
            if session.origin is not None
        ]
        more = {} if page.next_cursor is None else {"nextCursor": page.next_cursor}
        client.reply(envelope.request_id, {"sessions": rows, **more})

    async def _load(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        self._proxy.background.start(self._loaded(client, envelope, line))
        return True

    async def _loaded(self, client: AcpClient, envelope: Envelope, line: bytes) -> None:
        session_id = jsonrpc.session_id_of(envelope)
        if session_id is None:
            self._proxy.calls.forward(client, envelope, line)
        elif await self._elsewhere.attach_to(client, envelope, session_id, "full"):
            return
        elif "load" not in self._proxy.can.native:
            await self._stored.restore(client, envelope, session_id, replays=True)
        else:
            await self._stored.before_load(session_id)
            self._forward_start(client, envelope, line, session_id, replays=True)

    async def _resume(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        self._proxy.background.start(self._resumed(client, envelope, line))
        return True

    async def _resumed(self, client: AcpClient, envelope: Envelope, line: bytes) -> None:
        session_id = jsonrpc.session_id_of(envelope)
        if session_id is None:
            self._proxy.calls.forward(client, envelope, line)
            return
        if await self._elsewhere.attach_to(client, envelope, session_id, "none"):
            return
        if "resume" in self._proxy.can.native:
            self._forward_start(client, envelope, line, session_id, replays=False)
            return
        if "load" in self._proxy.can.native:
            await self._stored.before_load(session_id)
            params = jsonrpc.mapping(envelope.params)
            try:
                session = await self._stored.start_silently("session/load", params, session_id, session_id)
            except AgentRefused:
                await self._stored.restore(client, envelope, session_id, replays=False)
            else:
                client.reply(envelope.request_id, session.result)
            return
        await self._stored.restore(client, envelope, session_id, replays=False)

    def _forward_start(
        self, client: AcpClient, envelope: Envelope, line: bytes, session_id: str, *, replays: bool
    ) -> None:
        """Forward a load or resume. If the agent refuses it, the stored session is used."""
        if replays:
            self._proxy.sessions.replaying[session_id] = client

        def on_response(found: Envelope, line: bytes) -> None:
            self._proxy.sessions.replaying.pop(session_id, None)
            if found.result is UNSET:
                self._proxy.background.start(
                    self._stored.restore(
                        client, envelope, session_id, replays=replays, refusal=found.error, line=line
                    )
                )
                return
            session = self._proxy.sessions.register(session_id, jsonrpc.cwd_of(envelope), found.result)
            session.begin_replay("shown" if replays else None)
            client.deliver(envelope.request_id, line)

        self._proxy.calls.forward(client, envelope, line, on_response)

    async def _fork(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        source = jsonrpc.session_id_of(envelope)
        if source is None:
            return False
        if "fork" not in self._proxy.can.native:
            self._proxy.background.start(self._forked(client, envelope, source))
            return True

        def on_response(found: Envelope, line: bytes) -> None:
            if found.result is not UNSET and (made := jsonrpc.session_id_in(found.result)) is not None:
                session = self._proxy.sessions.register(made, jsonrpc.cwd_of(envelope), found.result)
                session.recording.forked_from = source
            client.deliver(envelope.request_id, line)

        self._proxy.calls.forward(client, envelope, line, on_response)
        return True

    async def _forked(self, client: AcpClient, envelope: Envelope, source: str) -> None:
        running = self._proxy.sessions.get(source)
        params = jsonrpc.mapping(envelope.params)
        try:
            if running is not None and not running.recording.has_begun:  # the session has no messages yet
                fork = await self._stored.start_new({"cwd": running.recording.cwd, **params})
            else:
                stored = await self._proxy.store.require(source)
                path = await self._proxy.store.path(stored.session_id)
                fork = await self._stored.start_copy(stored, path, params, None)
                await self._proxy.store.copy(source, fork.id, fork.recording.cwd)
        except (SessionUnknown, AgentRefused, *UNAVAILABLE) as error:
            client.refuse(envelope.request_id, error)
            return
        client.reply(envelope.request_id, {"sessionId": fork.id, **fork.result})

    async def _close(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        session_id = jsonrpc.session_id_of(envelope) or ""
        session = self._proxy.sessions.get(session_id)
        if session_id in self._proxy.attached:
            return await self._elsewhere.detach(client, envelope, line)
        if session is None:
            return False
        if "close" not in self._proxy.can.native:
            if session.turn is not None:
                cancel = jsonrpc.notification("session/cancel", {"sessionId": session.agent_id})
                self._proxy.agent.peer.send(cancel)
            await self._proxy.sessions.unregister(session)
            client.reply(envelope.request_id, {})
            return True

        def on_response(found: Envelope, line: bytes) -> None:
            if found.result is not UNSET:
                self._proxy.background.start(self._proxy.sessions.unregister(session))
            client.deliver(envelope.request_id, line)

        self._proxy.calls.forward(client, envelope, line, on_response)
        return True
