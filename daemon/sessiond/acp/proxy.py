"""Passes lines between clients and the agent, and records the sessions on the way.

A line is forwarded as its bytes. The few methods that the proxy takes part in are in `session_methods`. Each loop reads
the next line only when the last one could be passed on, so a peer that does not read stops the other one, and memory
stays bounded.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from msgspec import UNSET

from sessiond.acp import jsonrpc
from sessiond.acp.agent_calls import AgentCalls
from sessiond.acp.agent_process import AgentProcess
from sessiond.acp.agent_requests import AgentRequests
from sessiond.acp.attached_session import AttachedSession
from sessiond.acp.background import BackgroundWork
from sessiond.acp.capabilities import Capabilities
from sessiond.acp.errors import AgentEnded, OnlyObserves, OtherSession
from sessiond.acp.jsonrpc import Envelope, UnreadableLine
from sessiond.acp.running_session import AcpClient
from sessiond.acp.running_sessions import RunningSessions
from sessiond.acp.stored_sessions import RecordedSessions
from sessiond.acp.turns import Turns
from sessiond.acp.updates import take_update
from sessiond.error_text import TemplatedError

Handler = Callable[[AcpClient, Envelope, bytes], Awaitable[bool]]
"""Takes a request of a client with its line. Returns False if the request is to be forwarded."""

_OF_THE_EDITOR: Final = (
    "initialize",
    "authenticate",
    "session/new",
    "session/load",
    "session/resume",
    "session/fork",
)
"""Methods of the client that started the agent."""


class Proxy:
    """One agent and its clients.

    Args:
        agent: The agent.
        editor: The client that started the proxy.
        store: The sessions in the daemon.
        journals: The folder of journals.
        report: Receives a sentence for people.
    """

    def __init__(
        self,
        agent: AgentProcess,
        editor: AcpClient,
        store: RecordedSessions,
        journals: str,
        report: Callable[[str], None],
    ) -> None:
        self.agent = agent
        self.store = store
        self.report = report
        self.background = BackgroundWork(report)
        self.sessions = RunningSessions(editor, store, journals, report, self.background)
        self.calls = AgentCalls(agent.peer, self.sessions)
        self.requests = AgentRequests(agent.peer, editor, self.sessions, self.calls)
        self.turns = Turns(self.sessions, self.calls, self.background)
        self.can = Capabilities()
        """The abilities of the agent itself."""
        self.handlers: dict[str, Handler] = {"session/prompt": self.turns.prompt}
        self.attached: dict[str, AttachedSession] = {}
        """The sessions that run in other processes and to which the editor is attached."""
        self._editor = editor

    async def run(self) -> int:
        """Pass lines until the editor or the agent ends. Returns the exit status of the proxy."""
        loops = [asyncio.create_task(self.serve(self._editor)), asyncio.create_task(self._read_agent())]
        reported: BaseException | None = None
        try:
            await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
            if loops[1].done() and not loops[0].done():
                reported = loops[1].exception()
                return await self._agent_ended(reported)
            return 0
        finally:
            for task in loops:
                task.cancel()
            await self.background.cancel()
            for error in await asyncio.gather(*loops, return_exceptions=True):
                if isinstance(error, Exception) and error is not reported:
                    self.report(str(error))
            for attached in self.attached.values():
                attached.close()
            await self.agent.stop()
            await self.sessions.close()

    async def serve(self, client: AcpClient) -> None:
        """Take the lines of a client until its end. Raises `LineTooLong`."""
        while (line := await client.peer.read()) is not None:
            await self._from_client(client, line)
            await self.agent.peer.drained()

    async def _read_agent(self) -> None:
        while (line := await self.agent.peer.read()) is not None:
            self._from_agent(line)
            await self._editor.peer.drained()

    async def _agent_ended(self, error: BaseException | None) -> int:
        ended = error or AgentEnded(self.agent.program, await self.agent.ended())
        self.calls.fail_all(str(ended))
        for session in self.sessions:
            if session.turn is not None:
                session.recording.failed(jsonrpc.encoded(str(ended)))
        self.report(str(ended))
        await self._editor.peer.drained()
        return 1

    async def _from_client(self, client: AcpClient, line: bytes) -> None:
        try:
            envelope = jsonrpc.decode(line)
        except UnreadableLine as refusal:
            client.peer.send(jsonrpc.failure(None, refusal.code, str(refusal)))
            return
        if not client.is_editor and not self._is_own(client, envelope):
            return
        if client.is_editor and (attached := self._attached(envelope)) is not None:
            attached.take(envelope, line)
        elif envelope.method is UNSET:
            self.requests.answer(client, envelope, line)
        elif envelope.id is UNSET:
            if envelope.method != "session/cancel" or self.turns.cancels(client, envelope):
                self.calls.notify(envelope, line)
        else:
            handler = self.handlers.get(envelope.method)
            if handler is None or not await handler(client, envelope, line):
                self.calls.forward(client, envelope, line)

    def _attached(self, envelope: Envelope) -> AttachedSession | None:
        """Return the session of another process to which a line of the editor goes."""
        if not self.attached:
            return None
        if envelope.method is UNSET:
            key = b"" if envelope.id is UNSET else jsonrpc.key(envelope.id)
            return next((session for session in self.attached.values() if key in session.asked), None)
        if envelope.method in self.handlers and envelope.method != "session/prompt":
            return None
        return self.attached.get(jsonrpc.session_id_of(envelope) or "")

    def _is_own(self, client: AcpClient, envelope: Envelope) -> bool:
        """Return whether an attached client may send a message. If not, a request is refused."""
        if envelope.method is UNSET:
            return True
        session = self.sessions.named_by_client(envelope)
        refusal: TemplatedError | None = None
        if session is None or client not in session.clients or envelope.method in _OF_THE_EDITOR:
            refusal = OtherSession()
        elif client.observes:
            refusal = OnlyObserves()
        if refusal is not None and envelope.id is not UNSET:
            client.fail(envelope.id, jsonrpc.INVALID_REQUEST, str(refusal))
        return refusal is None

    def _from_agent(self, line: bytes) -> None:
        try:
            envelope = jsonrpc.decode(line)
        except UnreadableLine:
            self._editor.peer.send(line)
            return
        if envelope.method is UNSET:
            is_taken = self.calls.take_response(envelope, line)
        elif envelope.id is not UNSET:
            self.requests.take(envelope, line)
            is_taken = True
        else:
            is_taken = envelope.method == "session/update" and take_update(self.sessions, envelope, line)
        if not is_taken:
            self._editor.peer.send(line)
