"""Passes lines between clients and the agent, and records the sessions on the way.

A line is forwarded as its bytes. The few methods that the proxy takes part in are in `session_methods`. Each loop reads
the next line only when the last one could be passed on, so a peer that does not read stops the other one, and memory
stays bounded.
"""

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from sessiond.acp import jsonrpc
from sessiond.acp.agent_process import AgentProcess
from sessiond.acp.attached_session import AttachedSession
from sessiond.acp.errors import AgentEnded, OnlyObserves, OtherSession
from sessiond.acp.jsonrpc import Envelope, UnreadableLine
from sessiond.acp.recording import SessionRecording
from sessiond.acp.running_session import LATEST, SPOKEN, AcpClient, AgentRequest, QueuedPrompt, RunningSession
from sessiond.acp.sharing import SharedSessions
from sessiond.acp.stored_sessions import RecordedSessions
from sessiond.error_text import TemplatedError

OnResponse = Callable[[Envelope, bytes], None]
Handler = Callable[[AcpClient, Envelope, bytes], Awaitable[bool]]

FLUSH_SECONDS: Final = 5.0
"""Time that the result of a prompt waits for the daemon at most."""
MAX_BEHIND_BYTES: Final = 16 * 1024 * 1024
"""Bytes that an attached client has not read, above which it is detached."""
MAX_WAITING: Final = 100
"""Limit of the prompts that wait for the end of a turn."""
PERMISSION: Final = "session/request_permission"
RESOLVED: Final = "session/permission_resolved"
"""Tells the other clients that one has answered; the name is that of the proposal for `session/attach`."""
QUEUED: Final = "_sessiond/prompt_queued"
"""Tells a client that its prompt waits for the end of the turn, and at which place."""
METHOD_NOT_FOUND: Final = -32601
_OF_THE_EDITOR: Final = (
    "initialize",
    "authenticate",
    "session/new",
    "session/load",
    "session/resume",
    "session/fork",
)
"""Methods of the client that started the agent."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A request to the agent: who is told of the response, and under which id."""

    client: AcpClient | None
    id: Raw
    on_response: OnResponse | None


class _Update(msgspec.Struct, frozen=True, rename="camel"):
    session_id: str
    update: Raw


class _Kind(msgspec.Struct, frozen=True, rename="camel"):
    session_update: str


_update = msgspec.json.Decoder(_Update).decode
_kind = msgspec.json.Decoder(_Kind).decode


class AgentRefused(TemplatedError):
    """Raised when the response to a request of the proxy is an error, which `error` has as it is written."""

    sentence = "The agent answered with the error {error}."

    def __init__(self, error: Raw) -> None:
        super().__init__(error=bytes(error).decode("utf-8", "replace")[:1_000])
        self.error = error


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
        self.editor = editor
        self.store = store
        self.report = report
        self.sessions: dict[str, RunningSession] = {}
        self.replaying: dict[str, AcpClient | None] = {}
        """The agent's sessions that it replays at present, each with the client that sees that; None: no client."""
        self.handlers: dict[str, Handler] = {"session/prompt": self._prompt}
        self.shared: SharedSessions | None = None
        self.attached: dict[str, AttachedSession] = {}
        """The sessions that run in other processes and to which the editor is attached."""
        self._journals = journals
        self._by_agent_id: dict[str, RunningSession] = {}
        self._pending: dict[bytes, _Pending] = {}
        self._prefix = f"sessiond-{secrets.token_hex(4)}"
        self._count = 0
        self._tasks: set[asyncio.Task[None]] = set()

    # --- the loops -------------------------------------------------------------------------------------

    async def run(self) -> int:
        """Pass lines until the editor or the agent ends. Returns the exit status of the proxy."""
        loops = [asyncio.create_task(self.serve(self.editor)), asyncio.create_task(self._read_agent())]
        try:
            await asyncio.wait(loops, return_when=asyncio.FIRST_COMPLETED)
            if loops[1].done() and not loops[0].done():
                return await self._agent_ended()
            return 0
        finally:
            for task in (*loops, *self._tasks):
                task.cancel()
            results = await asyncio.gather(*loops, *self._tasks, return_exceptions=True)
            for it in results:
                if isinstance(it, Exception):
                    self.report(str(it))
            for attached in self.attached.values():
                attached.close()
            await self.agent.stop()
            for session in self.sessions.values():
                await session.recording.close(FLUSH_SECONDS)
            if self.shared is not None:
                self.shared.close()  # only now may another process run the sessions

    async def serve(self, client: AcpClient) -> None:
        """Take the lines of a client until its end. Raises `LineTooLong`."""
        while (line := await client.peer.read()) is not None:
            await self._from_client(client, line)
            await self.agent.peer.drained()

    async def _read_agent(self) -> None:
        while (line := await self.agent.peer.read()) is not None:
            self._from_agent(line)
            await self.editor.peer.drained()

    async def _agent_ended(self) -> int:
        ended = AgentEnded(self.agent.program, await self.agent.ended())
        for pending in list(self._pending.values()):
            if pending.client is not None:
                self.fail(pending.client, pending.id, jsonrpc.INTERNAL_ERROR, str(ended))
        for session in self.sessions.values():
            if session.turn is not None:
                session.recording.failed(jsonrpc.encoded(str(ended)))
        self.report(str(ended))
        await self.editor.peer.drained()
        return 1

    def spawn(self, work: Awaitable[None]) -> None:
        """Do something beside the loops."""

        async def run() -> None:
            await work

        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and (error := task.exception()) is not None:
                self.report(f"A request was not answered: {error!r}")

        task = asyncio.create_task(run())
        self._tasks.add(task)
        task.add_done_callback(done)

    # --- from clients ----------------------------------------------------------------------------------

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
            self._answer(client, envelope, line)
        elif envelope.id is UNSET:
            if envelope.method != "session/cancel" or self._cancels(client, envelope):
                self._to_agent(envelope, line)
        else:
            handler = self.handlers.get(envelope.method)
            if handler is None or not await handler(client, envelope, line):
                self.forward(client, envelope, line)

    def _attached(self, envelope: Envelope) -> AttachedSession | None:
        """Return the session of another process to which a line of the editor goes."""
        if not self.attached:
            return None
        if envelope.method is UNSET:
            key = b"" if envelope.id is UNSET else jsonrpc.key(envelope.id)
            return next((it for it in self.attached.values() if key in it.asked), None)
        if envelope.method in self.handlers and envelope.method != "session/prompt":
            return None
        return self.attached.get(jsonrpc.session_id_of(envelope) or "")

    def _is_own(self, client: AcpClient, envelope: Envelope) -> bool:
        """Return whether an attached client may send a message. If not, a request is refused."""
        if envelope.method is UNSET:
            return True
        session = self.sessions.get(jsonrpc.session_id_of(envelope) or "")
        refusal: TemplatedError | None = None
        if session is None or client not in session.clients or envelope.method in _OF_THE_EDITOR:
            refusal = OtherSession()
        elif client.observes:
            refusal = OnlyObserves()
        if refusal is not None and envelope.id is not UNSET:
            self.fail(client, envelope.id, jsonrpc.INVALID_REQUEST, str(refusal))
        return refusal is None

    def forward(
        self, client: AcpClient, envelope: Envelope, line: bytes, on_response: OnResponse | None = None
    ) -> None:
        """Forward a request of a client.

        Args:
            client: The client.
            envelope: The request.
            line: Its line.
            on_response: Receives the response, and sends one to the client. Default: the response is forwarded.
        """
        assert envelope.id is not UNSET
        if client.is_editor:
            key = jsonrpc.key(envelope.id)
        else:
            own = self._new_id()
            key, line = bytes(own), jsonrpc.with_id(line, own)
        self._pending[key] = _Pending(client, envelope.id, on_response)
        self._to_agent(envelope, line)

    def _to_agent(self, envelope: Envelope, line: bytes) -> None:
        session = self.sessions.get(jsonrpc.session_id_of(envelope) or "")
        if session is not None and session.agent_id != session.id:
            line = jsonrpc.with_session_id(line, session.agent_id)
        self.agent.peer.send(line)

    async def call(self, method: str, params: Any, on_result: Callable[[Raw], None] | None = None) -> Raw:
        """Send a request to the agent, and return its result. Raises `AgentRefused`.

        Args:
            method: The method.
            params: The params.
            on_result: Called with the result before the agent's next line is read.
        """
        response: asyncio.Future[Envelope] = asyncio.get_running_loop().create_future()

        def on_response(envelope: Envelope, _line: bytes) -> None:
            if on_result is not None and envelope.result is not UNSET:
                on_result(envelope.result)
            if not response.done():
                response.set_result(envelope)

        own = self._new_id()
        self._pending[bytes(own)] = _Pending(None, own, on_response)
        self.agent.peer.send(jsonrpc.request(own, method, params))
        envelope = await response
        if envelope.result is UNSET:
            raise AgentRefused(jsonrpc.encoded(None) if envelope.error is UNSET else envelope.error)
        return envelope.result

    def reply(self, client: AcpClient, request_id: Raw, result: Any) -> None:
        """Answer a request of a client."""
        client.peer.send(jsonrpc.response(request_id, result))

    def fail(self, client: AcpClient, request_id: Raw, code: int, message: str) -> None:
        """Answer a request of a client with an error."""
        client.peer.send(jsonrpc.failure(request_id, code, message))

    def deliver(self, client: AcpClient, request_id: Raw, line: bytes) -> None:
        """Send a client the agent's response to its request."""
        client.peer.send(line if client.is_editor else jsonrpc.with_id(line, request_id))

    def _new_id(self) -> Raw:
        self._count += 1
        return jsonrpc.encoded(f"{self._prefix}-{self._count}")

    # --- turns -----------------------------------------------------------------------------------------

    async def _prompt(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        session = self.sessions.get(jsonrpc.session_id_of(envelope) or "")
        if session is None:
            return False
        prompt = QueuedPrompt(client, envelope, line)
        if len(session.waiting) >= MAX_WAITING:
            message = f"{MAX_WAITING} prompts wait for the end of the turn. Wait, or cancel it."
            self.fail(client, prompt.request_id, jsonrpc.INTERNAL_ERROR, message)
        elif session.turn is not None:
            session.waiting.append(prompt)
            queued = {"sessionId": session.id, "position": len(session.waiting)}
            client.peer.send(jsonrpc.notification(QUEUED, queued))
        else:
            await self._begin_turn(session, prompt)
        return True

    async def _begin_turn(self, session: RunningSession, prompt: QueuedPrompt) -> None:
        session.turn, session.replay = prompt, None
        await session.recording.begin()
        assert prompt.envelope.params is not UNSET
        session.recording.prompt(prompt.envelope.params)
        self._show_prompt(session, prompt)
        line = prompt.line
        if session.introduction is not None:
            line = _with_introduction(line, session.introduction)
            session.introduction = None

        def on_response(envelope: Envelope, line: bytes) -> None:
            self.spawn(self._end_turn(session, prompt, envelope, line))

        self.forward(prompt.client, prompt.envelope, line, on_response)

    def _show_prompt(self, session: RunningSession, prompt: QueuedPrompt) -> None:
        """Show the other clients a prompt, which no agent repeats."""
        others = [it for it in session.clients if it is not prompt.client]
        if others:
            for block in jsonrpc.mapping(prompt.envelope.params).get("prompt") or ():
                line = jsonrpc.update(session.id, {"sessionUpdate": "user_message_chunk", "content": block})
                for client in others:
                    self._send_update(session, client, line)

    async def _end_turn(
        self, session: RunningSession, prompt: QueuedPrompt, envelope: Envelope, line: bytes
    ) -> None:
        if envelope.result is not UNSET:
            session.recording.ended(envelope.result)
        else:
            session.recording.failed(jsonrpc.encoded(None) if envelope.error is UNSET else envelope.error)
        for client in session.clients:
            for asked in client.asked.values():
                asked.is_answered = (
                    asked.is_answered or asked.session is session
                )  # a late answer must not fail
        await session.recording.flush(FLUSH_SECONDS)
        self.deliver(prompt.client, prompt.request_id, line)
        session.turn = None
        if session.waiting:
            await self._begin_turn(session, session.waiting.popleft())

    def _cancels(self, client: AcpClient, envelope: Envelope) -> bool:
        """Take a client's prompts out of the queue. Returns whether the agent must be told to cancel, too."""
        session = self.sessions.get(jsonrpc.session_id_of(envelope) or "")
        if session is None:
            return True
        own = [it for it in session.waiting if it.client is client]
        for it in own:
            session.waiting.remove(it)
            self.reply(client, it.request_id, {"stopReason": "cancelled"})
        return not own or (session.turn is not None and session.turn.client is client)

    # --- from the agent --------------------------------------------------------------------------------

    def _from_agent(self, line: bytes) -> None:
        try:
            envelope = jsonrpc.decode(line)
        except UnreadableLine:
            self.editor.peer.send(line)
            return
        if envelope.method is UNSET:
            self._take_response(envelope, line)
        elif envelope.id is not UNSET:
            self._take_request(envelope, line)
        elif envelope.method == "session/update":
            self._take_update(envelope, line)
        else:
            self.editor.peer.send(line)

    def _take_response(self, envelope: Envelope, line: bytes) -> None:
        pending = None if envelope.id is UNSET else self._pending.pop(jsonrpc.key(envelope.id), None)
        if pending is None:
            self.editor.peer.send(line)
        elif pending.on_response is not None:
            pending.on_response(envelope, line)
        elif pending.client is not None:
            self.deliver(pending.client, pending.id, line)

    def _take_update(self, envelope: Envelope, line: bytes) -> None:
        try:
            found = _update(envelope.params if envelope.params is not UNSET else b"")
        except msgspec.DecodeError:
            self.editor.peer.send(line)
            return
        if found.session_id in self.replaying:
            client = self.replaying[found.session_id]
            if client is not None:
                client.peer.send(line)
            return
        session = self._by_agent_id.get(found.session_id)
        if session is None:
            self.editor.peer.send(line)
            return
        kind = _kind_of(found.update)
        if session.replay is None or kind not in SPOKEN:
            session.recording.update(found.update)
        elif session.replay == "hidden":
            return
        if session.agent_id != session.id:
            line = jsonrpc.with_session_id(line, session.id)
        if kind in LATEST:
            session.latest[kind] = line
        for client in list(session.clients):
            self._send_update(session, client, line)

    def _send_update(self, session: RunningSession, client: AcpClient, line: bytes) -> None:
        if client.held is not None:
            client.held.append(line)
            client.held_bytes += len(line)
            if client.held_bytes > MAX_BEHIND_BYTES:
                self.detach(session, client)
            return
        client.peer.send(line)
        if not client.is_editor and client.peer.unread_bytes > MAX_BEHIND_BYTES:
            self.detach(session, client)  # it can attach again, and see what it missed

    def _take_request(self, envelope: Envelope, line: bytes) -> None:
        assert envelope.id is not UNSET
        assert envelope.method is not UNSET
        session = self._by_agent_id.get(jsonrpc.session_id_of(envelope) or "")
        params = Raw(b"null") if envelope.params is UNSET else envelope.params
        if session is not None and session.agent_id != session.id:
            line = jsonrpc.with_session_id(line, session.id)
        asked = AgentRequest(envelope.id, envelope.method, params, line, session)
        clients = [self.editor]
        if session is not None:
            if envelope.method == PERMISSION:
                session.recording.permission(params)
                clients = [it for it in session.clients if not it.observes]
            elif session.turn is not None:
                clients = [session.turn.client]
                if not clients[0].can(envelope.method):
                    message = "The client that sent the prompt cannot do this."
                    self.agent.peer.send(jsonrpc.failure(envelope.id, METHOD_NOT_FOUND, message))
                    return
        for client in clients:
            self.ask(client, asked)

    def ask(self, client: AcpClient, asked: AgentRequest) -> None:
        """Send a client a request of the agent."""
        own = asked.id if client.is_editor else self._new_id()
        asked.clients[client] = own
        client.asked[jsonrpc.key(own)] = asked
        client.peer.send(asked.line if client.is_editor else jsonrpc.with_id(asked.line, own))

    def _answer(self, client: AcpClient, envelope: Envelope, line: bytes) -> None:
        asked = None if envelope.id is UNSET else client.asked.pop(jsonrpc.key(envelope.id), None)
        if asked is None:
            if client.is_editor:
                self.agent.peer.send(line)
            return
        if asked.is_answered:
            return
        asked.is_answered = True
        if asked.method == PERMISSION and asked.session is not None:
            outcome = {} if envelope.result is UNSET else jsonrpc.members(envelope.result)
            asked.session.recording.answered(asked.params, outcome.get("outcome", Raw(b"null")))
            self._withdraw(asked, client)
        self.agent.peer.send(line if client.is_editor else jsonrpc.with_id(line, asked.id))

    def _withdraw(self, asked: AgentRequest, answering: AcpClient) -> None:
        """Tell the other clients that a request was answered."""
        for client, own in asked.clients.items():
            if client is not answering:
                client.peer.send(jsonrpc.notification("$/cancel_request", {"requestId": own}))
                resolved = {"sessionId": asked.session and asked.session.id, "requestId": own}
                client.peer.send(jsonrpc.notification(RESOLVED, resolved))

    # --- sessions --------------------------------------------------------------------------------------

    def register(
        self, session_id: str, cwd: str | None, result: Raw, *, agent_id: str | None = None
    ) -> RunningSession:
        """Record and route a session from now on. Returns it.

        Args:
            session_id: The id under which clients know it.
            cwd: Its folder.
            result: The result of the request that started it.
            agent_id: The agent's id of it, if it is another one.
        """
        found = jsonrpc.members(result)
        found.pop("sessionId", None)
        session = self.sessions.get(session_id)
        if session is None:
            folder = cwd if cwd is not None and cwd.startswith("/") else os.getcwd()  # noqa: PTH109
            recording = SessionRecording(self.store, session_id, folder, self._journals, self.report)
            session = RunningSession(session_id, agent_id or session_id, recording, [self.editor])
            self.sessions[session_id] = session
        self._by_agent_id.pop(session.agent_id, None)
        session.agent_id = agent_id or session_id
        session.result = found
        models = jsonrpc.mapping(found.get("models", Raw(b"{}")))
        if isinstance(model := models.get("currentModelId"), str):
            session.recording.model = model
        self._by_agent_id[session.agent_id] = session
        if self.shared is not None and self.shared.claim(session_id):
            self.spawn(self.shared.listen(session_id))
        return session

    async def unregister(self, session: RunningSession) -> None:
        """End the recording of a session that was closed."""
        self.sessions.pop(session.id, None)
        self._by_agent_id.pop(session.agent_id, None)
        for client in session.clients:
            if not client.is_editor:
                client.peer.close()
        await session.recording.close(FLUSH_SECONDS)
        if self.shared is not None:
            self.shared.release(session.id)

    def detach(self, session: RunningSession, client: AcpClient) -> None:
        """End the connection of an attached client."""
        if client in session.clients:
            session.clients.remove(client)
        client.peer.close()


def _kind_of(update: Raw) -> str:
    try:
        return _kind(update).session_update
    except msgspec.DecodeError:
        return ""


def _with_introduction(line: bytes, introduction: Any) -> bytes:
    """Return the line of a prompt that begins with another content block."""
    members = jsonrpc.members(Raw(line))
    params = jsonrpc.members(members["params"])
    blocks = jsonrpc.value(params.get("prompt", Raw(b"[]")))
    params["prompt"] = jsonrpc.encoded([introduction, *(blocks if isinstance(blocks, list) else [])])
    members["params"] = jsonrpc.encoded(params)
    return bytes(jsonrpc.encoded(members)) + b"\n"
