"""Sessions that run in other processes: how the editor of this one attaches to them, and continues when they end."""

from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import Raw

from sessiond.acp import jsonrpc
from sessiond.acp.attached_session import AttachedSession
from sessiond.acp.errors import AgentRefused, SessionUnknown
from sessiond.acp.jsonrpc import Envelope
from sessiond.acp.proxy import Proxy
from sessiond.acp.restoring import StoredStarts
from sessiond.acp.running_session import AcpClient
from sessiond.acp.stored_sessions import UNAVAILABLE
from sessiond.session.content import fields

_ATTEMPTS: Final = 5
"""Attempts to attach to a session whose process may be ending."""


class SessionsElsewhere:
    """The sessions of other processes that the editor of one proxy sees.

    Args:
        proxy: The proxy.
        stored: Starts stored sessions in the agent.
        recover: Stores what processes that were killed have left.
    """

    def __init__(self, proxy: Proxy, stored: StoredStarts, recover: Callable[[], Awaitable[None]]) -> None:
        self._proxy = proxy
        self._stored = stored
        self._recover = recover
        self._left: dict[str, str | None] = {}
        """Sessions whose process has ended, with their folders. The next prompt starts them in this process."""

    async def attach(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        """Take `session/attach`."""
        policy = fields.text(jsonrpc.mapping(envelope.params).get("historyPolicy")) or "full"
        self._proxy.background.start(self._attached_or_started(client, envelope, line, policy))
        return True

    async def _attached_or_started(
        self, client: AcpClient, envelope: Envelope, line: bytes, policy: str
    ) -> None:
        """Attach to a session. A session that runs in no process is started here."""
        session_id = jsonrpc.session_id_of(envelope)
        if session_id is None:
            client.fail(envelope.request_id, jsonrpc.INVALID_PARAMS, "sessionId is missing.")
        elif (session := self._proxy.sessions.get(session_id)) is not None:
            client.reply(envelope.request_id, {"sessionId": session_id, **session.result})
        elif not await self.attach_to(client, envelope, session_id, policy):
            await self._stored.restore(client, envelope, session_id, replays=policy == "full")

    async def detach(self, client: AcpClient, envelope: Envelope, _line: bytes) -> bool:
        """Take `session/detach`, or the close of a session that runs elsewhere."""
        attached = self._proxy.attached.pop(jsonrpc.session_id_of(envelope) or "", None)
        if attached is not None:
            attached.close()
        client.reply(envelope.request_id, {})
        return True

    async def attach_to(self, client: AcpClient, envelope: Envelope, session_id: str, policy: str) -> bool:
        """Attach to a session that runs in another process. If none runs it, claims it and returns False."""
        role = fields.text(jsonrpc.mapping(envelope.params).get("role"))
        result = await self._attached_to(client, session_id, jsonrpc.cwd_of(envelope), policy, role)
        if result is None:
            return False
        if envelope.method != "session/attach":
            result.pop("sessionId", None)
        client.reply(envelope.request_id, result)
        self._proxy.background.start(self._run_attached(self._proxy.attached[session_id]))
        return True

    async def _attached_to(
        self, client: AcpClient, session_id: str, cwd: str | None, policy: str, role: str | None = None
    ) -> dict[str, Raw] | None:
        """Connect to the process that runs a session, and return its result; None if no process runs it."""
        shared = self._proxy.sessions.shared
        if shared is None or self._proxy.sessions.get(session_id) is not None:
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
            result = await attached.attach(policy, role, client.capabilities)
            if result is not None:
                self._proxy.attached[session_id] = attached
                return result
        return None

    async def _run_attached(self, attached: AttachedSession) -> None:
        await attached.run()
        if self._proxy.attached.get(attached.id) is attached:
            del self._proxy.attached[attached.id]
            self._left[attached.id] = attached.cwd

    async def prompt(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        """Take `session/prompt`. A session whose process has ended continues here."""
        session_id = jsonrpc.session_id_of(envelope) or ""
        if session_id not in self._left:
            return await self._proxy.turns.prompt(client, envelope, line)
        self._proxy.background.start(self._prompt_left(client, envelope, line, session_id))
        return True

    async def _prompt_left(self, client: AcpClient, envelope: Envelope, line: bytes, session_id: str) -> None:
        """Continue a session whose process has ended: here, or in another process that continues it already."""
        cwd = self._left.pop(session_id)
        try:
            if await self._attached_to(client, session_id, cwd, "none") is not None:
                attached = self._proxy.attached[session_id]
                self._proxy.background.start(self._run_attached(attached))
                attached.take(envelope, line)
                return
            await self._recover()
            stored = await self._proxy.store.require(session_id)
            params = {"sessionId": session_id, "cwd": cwd or stored.cwd}
            native = next((method for method in ("resume", "load") if method in self._proxy.can.native), None)
            try:
                if native is None:
                    raise AgentRefused(jsonrpc.encoded(None))
                if native == "load":
                    await self._stored.before_load(session_id)
                await self._stored.start_silently(f"session/{native}", params, session_id, session_id)
            except AgentRefused:
                path = await self._proxy.store.path(stored.session_id)
                await self._stored.start_copy(stored, path, params, session_id)
        except (SessionUnknown, AgentRefused, *UNAVAILABLE) as error:
            self._left[session_id] = cwd
            client.refuse(envelope.request_id, error)
            return
        await self._proxy.turns.prompt(client, envelope, line)
