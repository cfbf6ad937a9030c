"""The sessions that run in the agent of one proxy, by the ids under which clients and the agent know them."""

import os
from collections.abc import Callable, Iterator

from msgspec import Raw

from sessiond.acp import jsonrpc
from sessiond.acp.background import BackgroundWork
from sessiond.acp.jsonrpc import Envelope
from sessiond.acp.recording import SessionRecording
from sessiond.acp.running_session import AcpClient, RunningSession
from sessiond.acp.sharing import SharedSessions
from sessiond.acp.stored_sessions import RecordedSessions

FLUSH_SECONDS = 5.0
"""Time that the end of a turn or of a session waits for the daemon at most."""


class RunningSessions:
    """The sessions of one proxy.

    Args:
        editor: The client that started the proxy, which sees all sessions.
        store: The sessions in the daemon.
        journals: The folder of journals.
        report: Receives a sentence for people.
        background: The work beside the loops.
    """

    def __init__(
        self,
        editor: AcpClient,
        store: RecordedSessions,
        journals: str,
        report: Callable[[str], None],
        background: BackgroundWork,
    ) -> None:
        self.replaying: dict[str, AcpClient | None] = {}
        """The agent's sessions that it replays at present, each with the client that sees that; None for no client."""
        self.shared: SharedSessions | None = None
        self._editor = editor
        self._store = store
        self._journals = journals
        self._report = report
        self._background = background
        self._by_id: dict[str, RunningSession] = {}
        self._by_agent_id: dict[str, RunningSession] = {}

    def __iter__(self) -> Iterator[RunningSession]:
        return iter(list(self._by_id.values()))

    def get(self, session_id: str) -> RunningSession | None:
        """Return the session that clients know by an id, or None."""
        return self._by_id.get(session_id)

    def named_by_client(self, envelope: Envelope) -> RunningSession | None:
        """Return the session that a message of a client names, or None."""
        return self._by_id.get(jsonrpc.session_id_of(envelope) or "")

    def of_agent(self, agent_id: str) -> RunningSession | None:
        """Return the session that the agent knows by an id, or None."""
        return self._by_agent_id.get(agent_id)

    def for_agent(self, envelope: Envelope, line: bytes) -> bytes:
        """Return the line of a client with the id by which the agent knows the session."""
        session = self.named_by_client(envelope)
        if session is None or session.agent_id == session.id:
            return line
        return jsonrpc.with_session_id(line, session.agent_id)

    def register(
        self, session_id: str, cwd: str | None, result: Raw, *, agent_id: str | None = None
    ) -> RunningSession:
        """Record and route a session from now on. Returns it.

        Args:
            session_id: The id under which clients know it.
            cwd: Its folder.
            result: The result of the request that started it.
            agent_id: The agent's id of the session, if it differs.
        """
        found = jsonrpc.members(result)
        found.pop("sessionId", None)
        session = self._by_id.get(session_id)
        if session is None:
            folder = cwd if cwd is not None and cwd.startswith("/") else os.getcwd()  # noqa: PTH109
            recording = SessionRecording(self._store, session_id, folder, self._journals, self._report)
            session = RunningSession(session_id, agent_id or session_id, recording, [self._editor])
            self._by_id[session_id] = session
        self._by_agent_id.pop(session.agent_id, None)
        session.agent_id = agent_id or session_id
        session.result = found
        models = jsonrpc.mapping(found.get("models", Raw(b"{}")))
        if isinstance(model := models.get("currentModelId"), str):
            session.recording.model = model
        self._by_agent_id[session.agent_id] = session
        if self.shared is not None and self.shared.claim(session_id):
            self._background.start(self.shared.listen(session_id))
        return session

    async def unregister(self, session: RunningSession) -> None:
        """End the recording of a session that was closed."""
        self._by_id.pop(session.id, None)
        self._by_agent_id.pop(session.agent_id, None)
        for client in session.clients:
            if not client.is_editor:
                client.peer.close()
        await session.recording.close(FLUSH_SECONDS)
        if self.shared is not None:
            self.shared.release(session.id)

    def give_up(self, session_id: str) -> None:
        """Let other processes run a session that could not be started here."""
        if self.shared is not None and session_id not in self._by_id:
            self.shared.release(session_id)

    async def close(self) -> None:
        """End all recordings. After that, another process may run the sessions."""
        for session in self:
            await session.recording.close(FLUSH_SECONDS)
        if self.shared is not None:
            self.shared.close()
