"""Requests to the agent, of clients and of the proxy, and the delivery of each response to the code that awaits it."""

import asyncio
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msgspec import UNSET, Raw

from sessiond.acp import jsonrpc
from sessiond.acp.errors import AgentRefused
from sessiond.acp.jsonrpc import Envelope
from sessiond.acp.running_session import AcpClient
from sessiond.acp.running_sessions import RunningSessions
from sessiond.acp.streams import LinePeer

OnResponse = Callable[[Envelope, bytes], None]


@dataclass(frozen=True, slots=True)
class _Pending:
    """A request to the agent: the client that receives the response, and the id that it has there."""

    client: AcpClient | None
    id: Raw
    on_response: OnResponse | None


class AgentCalls:
    """The requests that the agent has not answered.

    Args:
        agent: The agent.
        sessions: The sessions that run in it.
    """

    def __init__(self, agent: LinePeer, sessions: RunningSessions) -> None:
        self._agent = agent
        self._sessions = sessions
        self._pending: dict[bytes, _Pending] = {}
        self._prefix = f"sessiond-{secrets.token_hex(4)}"
        self._count = 0

    def new_id(self) -> Raw:
        """Return an id that no request has."""
        self._count += 1
        return jsonrpc.encoded(f"{self._prefix}-{self._count}")

    def notify(self, envelope: Envelope, line: bytes) -> None:
        """Forward a notification of a client."""
        self._agent.send(self._sessions.for_agent(envelope, line))

    def forward(
        self, client: AcpClient, envelope: Envelope, line: bytes, on_response: OnResponse | None = None
    ) -> None:
        """Forward a request of a client.

        Args:
            client: The client.
            envelope: The request.
            line: Its line.
            on_response: Receives the response, and responds to the client. Default: the response is forwarded.
        """
        assert envelope.id is not UNSET
        if client.is_editor:
            key = jsonrpc.key(envelope.id)
        else:
            own = self.new_id()
            key, line = bytes(own), jsonrpc.with_id(line, own)
        self._pending[key] = _Pending(client, envelope.id, on_response)
        self._agent.send(self._sessions.for_agent(envelope, line))

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

        own = self.new_id()
        self._pending[bytes(own)] = _Pending(None, own, on_response)
        self._agent.send(jsonrpc.request(own, method, params))
        envelope = await response
        if envelope.result is UNSET:
            raise AgentRefused(jsonrpc.encoded(None) if envelope.error is UNSET else envelope.error)
        return envelope.result

    def take_response(self, envelope: Envelope, line: bytes) -> bool:
        """Take a response of the agent. Returns False if it answers no request that was sent from here."""
        pending = None if envelope.id is UNSET else self._pending.pop(jsonrpc.key(envelope.id), None)
        if pending is None:
            return False
        if pending.on_response is not None:
            pending.on_response(envelope, line)
        elif pending.client is not None:
            pending.client.deliver(pending.id, line)
        return True

    def fail_all(self, message: str) -> None:
        """Answer the requests of clients with an error: the agent has ended."""
        for pending in list(self._pending.values()):
            if pending.client is not None:
                pending.client.fail(pending.id, jsonrpc.INTERNAL_ERROR, message)
