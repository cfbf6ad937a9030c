"""Several clients on one running session, in the process that runs the session.

The names are those of the proposal for `session/attach` (https://github.com/agentclientprotocol/agent-client-protocol/pull/533):
a client attaches as controller or observer, and `historyPolicy` selects the earlier messages that it is shown.
"""

import asyncio
from typing import Final

from msgspec import UNSET, UnsetType

from sessiond.acp import jsonrpc, replay
from sessiond.acp.errors import LineTooLong
from sessiond.acp.jsonrpc import Envelope, UnreadableLine
from sessiond.acp.proxy import Proxy
from sessiond.acp.running_session import AcpClient, RunningSession
from sessiond.acp.stored_sessions import UNAVAILABLE, Entry
from sessiond.acp.streams import LinePeer
from sessiond.client.wire import RpcError
from sessiond.session.content import fields

ATTACH: Final = "session/attach"
HISTORY_SECONDS: Final = 10.0
"""Time that an attaching client waits for the daemon to store the last entries."""


class Attaching:
    """Takes the clients of the sessions that run in one proxy."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    async def serve(self, session_id: str, peer: LinePeer) -> None:
        """Serve a client on its connection until the connection ends."""
        session = self._proxy.sessions.get(session_id)
        try:
            envelope = await _first(peer)
            if session is None or envelope is None or jsonrpc.session_id_of(envelope) != session_id:
                return
            params = jsonrpc.mapping(envelope.params)
            client = AcpClient(
                peer, is_editor=False, observes=params.get("role") == "observer",
                capabilities=fields.mapping(params.get("clientCapabilities")),
            )  # fmt: skip
            try:
                await self._show(session, client, fields.text(params.get("historyPolicy")) or "full")
                peer.send(jsonrpc.response(envelope.id, {"sessionId": session_id, **session.result}))
                if not client.observes:
                    self._proxy.requests.ask_again(client, session)
                await self._proxy.serve(client)
            finally:
                self._leave(session, client)
        except LineTooLong as error:
            self._proxy.report(str(error))
        finally:
            peer.close()

    async def _show(self, session: RunningSession, client: AcpClient, policy: str) -> None:
        """Show a client the earlier messages, and then all later ones without a gap."""
        recorder_state = session.recording.state()
        client.held = []
        session.clients.append(client)
        if policy == "full":
            for update in replay.updates(await self._path(session, recorder_state.parent_id)):
                client.peer.send(jsonrpc.update(session.id, update))
                await client.peer.drained()
            for update in recorder_state.open_updates:
                client.peer.send(jsonrpc.update(session.id, update))
        for line in session.latest.values():
            client.peer.send(line)
        held, client.held = client.held, None
        for line in held:
            client.peer.send(line)

    async def _path(self, session: RunningSession, leaf_id: str | UnsetType | None) -> list[Entry]:
        store = self._proxy.store
        deadline = asyncio.get_running_loop().time() + HISTORY_SECONDS
        while True:
            try:
                stored = await store.find(session.recording.native_id)
                if stored is None:
                    return []
                return await store.path(stored.session_id, leaf_id)
            except RpcError as error:
                if error.kind != "entryNotFound" or asyncio.get_running_loop().time() > deadline:
                    self._proxy.report(f"An attached client does not see the past: {error}")
                    return []
                await asyncio.sleep(0.02)  # the last entries are being sent to the daemon
            except UNAVAILABLE as error:
                self._proxy.report(f"An attached client does not see the past: {error}")
                return []

    def _leave(self, session: RunningSession, client: AcpClient) -> None:
        if client in session.clients:
            session.clients.remove(client)
        for prompt in [queued for queued in session.waiting if queued.client is client]:
            session.waiting.remove(prompt)
        self._proxy.requests.abandon(client, session)


async def _first(peer: LinePeer) -> Envelope | None:
    line = await peer.read()
    if line is None:
        return None
    try:
        envelope = jsonrpc.decode(line)
    except UnreadableLine:
        return None
    return envelope if envelope.method == ATTACH and envelope.id is not UNSET else None
