"""Requests of the agent: which clients receive one, and whose answer counts.

A permission is asked of all clients of the session, and the first answer counts. Any other request of a turn goes to
the client whose prompt it serves.
"""

from typing import Final

from msgspec import UNSET, Raw

from sessiond.acp import jsonrpc
from sessiond.acp.agent_calls import AgentCalls
from sessiond.acp.jsonrpc import Envelope
from sessiond.acp.running_session import AcpClient, AgentRequest, RunningSession
from sessiond.acp.running_sessions import RunningSessions
from sessiond.acp.streams import LinePeer

PERMISSION: Final = "session/request_permission"
RESOLVED: Final = "session/permission_resolved"
"""Informs the other clients that a client has answered; the proposal for `session/attach` has this name."""


class AgentRequests:
    """The requests of one agent.

    Args:
        agent: The agent.
        editor: The client that receives the requests that concern no running session.
        sessions: The sessions.
        calls: The requests to the agent. Their ids are also used for requests to attached clients.
    """

    def __init__(
        self, agent: LinePeer, editor: AcpClient, sessions: RunningSessions, calls: AgentCalls
    ) -> None:
        self._agent = agent
        self._editor = editor
        self._sessions = sessions
        self._calls = calls

    def take(self, envelope: Envelope, line: bytes) -> None:
        """Send a request of the agent to the clients that may answer it."""
        assert envelope.id is not UNSET
        assert envelope.method is not UNSET
        session = self._sessions.of_agent(jsonrpc.session_id_of(envelope) or "")
        params = Raw(b"null") if envelope.params is UNSET else envelope.params
        if session is not None and session.agent_id != session.id:
            line = jsonrpc.with_session_id(line, session.id)
        asked = AgentRequest(envelope.id, envelope.method, params, line, session)
        clients = [self._editor]
        if session is not None:
            if envelope.method == PERMISSION:
                session.recording.permission(params)
                clients = [client for client in session.clients if not client.observes]
            elif session.turn is not None:
                clients = [session.turn.client]
                if not clients[0].can(envelope.method):
                    message = "The client that sent the prompt cannot do this."
                    self._agent.send(jsonrpc.failure(envelope.id, jsonrpc.METHOD_NOT_FOUND, message))
                    return
        for client in clients:
            self._ask(client, asked)

    def ask_again(self, client: AcpClient, session: RunningSession) -> None:
        """Send a client that has attached the requests for permissions that no client has answered."""
        unanswered = {
            asked
            for other in session.clients
            for asked in other.asked.values()
            if asked.session is session and asked.method == PERMISSION and not asked.is_answered
        }
        for asked in unanswered - {*client.asked.values()}:
            self._ask(client, asked)

    def answer(self, client: AcpClient, envelope: Envelope, line: bytes) -> None:
        """Take a response of a client: the first one to a request goes to the agent."""
        asked = None if envelope.id is UNSET else client.asked.pop(jsonrpc.key(envelope.id), None)
        if asked is None:
            if client.is_editor:
                self._agent.send(line)
            return
        if asked.is_answered:
            return
        asked.is_answered = True
        if asked.method == PERMISSION and asked.session is not None:
            outcome = {} if envelope.result is UNSET else jsonrpc.members(envelope.result)
            asked.session.recording.answered(asked.params, outcome.get("outcome", Raw(b"null")))
            _withdraw(asked, client)
        self._agent.send(line if client.is_editor else jsonrpc.with_id(line, asked.id))

    def abandon(self, client: AcpClient, session: RunningSession) -> None:
        """Answer requests with an error if only a client that has disconnected could have answered them."""
        for asked in client.asked.values():
            others = [other for other in asked.clients if other is not client and other in session.clients]
            if not asked.is_answered and not others:
                asked.is_answered = True
                message = "The client that was asked has gone."
                self._agent.send(jsonrpc.failure(asked.id, jsonrpc.INTERNAL_ERROR, message))

    def _ask(self, client: AcpClient, asked: AgentRequest) -> None:
        own = asked.id if client.is_editor else self._calls.new_id()
        asked.clients[client] = own
        client.asked[jsonrpc.key(own)] = asked
        client.peer.send(asked.line if client.is_editor else jsonrpc.with_id(asked.line, own))


def _withdraw(asked: AgentRequest, answering: AcpClient) -> None:
    """Tell the other clients that a request was answered."""
    for client, own in asked.clients.items():
        if client is not answering:
            client.peer.send(jsonrpc.notification("$/cancel_request", {"requestId": own}))
            resolved = {"sessionId": asked.session and asked.session.id, "requestId": own}
            client.peer.send(jsonrpc.notification(RESOLVED, resolved))
