"""The state of one session that runs in the agent, and of its clients."""

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from msgspec import Raw

from sessiond.acp import jsonrpc
from sessiond.acp.errors import AgentRefused, SessionUnknown
from sessiond.acp.jsonrpc import Envelope
from sessiond.acp.recording import SessionRecording
from sessiond.acp.streams import LinePeer
from sessiond.session.content import fields

SPOKEN: Final = (
    "user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan",
)  # fmt: skip
"""Updates that are part of the conversation."""
LATEST: Final = ("available_commands_update", "current_mode_update", "config_option_update")
"""Updates whose latest one is sent to a client that attaches later."""


@dataclass(eq=False, slots=True)
class AgentRequest:
    """A request of the agent that clients may answer; the first answer counts.

    Attributes:
        id: Its id, as the agent wrote it.
        method: Its method.
        params: Its params.
        line: Its line, as the editor receives it.
        session: Its session, if it names one that runs.
        clients: The clients that received it, with the id under which each did.
        is_answered: Whether the agent has the answer, or needs none any more.
    """

    id: Raw
    method: str
    params: Raw
    line: bytes
    session: "RunningSession | None"
    clients: "dict[AcpClient, Raw]" = field(default_factory=dict)
    is_answered: bool = False


@dataclass(eq=False, slots=True)
class AcpClient:
    """A client of the proxy.

    Attributes:
        peer: Its connection.
        is_editor: Whether it started the proxy. Its ids pass unchanged, and it sees all sessions.
        asked: The requests of the agent that it received, by the key of the id under which it did.
        observes: Whether it only sees the session.
        capabilities: Its abilities for the agent, by their names in ACP. The proxy tells the agent those of the editor.
        held: Lines that wait until it has seen the past; None if it has.
    """

    peer: LinePeer
    is_editor: bool
    asked: dict[bytes, AgentRequest] = field(default_factory=dict)
    observes: bool = False
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    held: list[bytes] | None = None
    held_bytes: int = 0

    def can(self, method: str) -> bool:
        """Return whether the client can answer a request of the agent."""
        if self.is_editor or not method.startswith(("fs/", "terminal/")):
            return True
        if method.startswith("terminal/"):
            return self.capabilities.get("terminal") is True
        names = {"fs/read_text_file": "readTextFile", "fs/write_text_file": "writeTextFile"}
        return fields.mapping(self.capabilities.get("fs")).get(names.get(method, "")) is True

    def reply(self, request_id: Raw, result: Any) -> None:
        """Answer a request of the client."""
        self.peer.send(jsonrpc.response(request_id, result))

    def fail(self, request_id: Raw, code: int, message: str) -> None:
        """Answer a request of the client with an error."""
        self.peer.send(jsonrpc.failure(request_id, code, message))

    def refuse(self, request_id: Raw, error: Exception) -> None:
        """Answer a request of the client with an error that was raised."""
        if isinstance(error, AgentRefused):
            self.peer.send(jsonrpc.failed_response(request_id, error.error))
        else:
            code = jsonrpc.NOT_FOUND if isinstance(error, SessionUnknown) else jsonrpc.INTERNAL_ERROR
            self.fail(request_id, code, str(error))

    def deliver(self, request_id: Raw, line: bytes) -> None:
        """Send the client the agent's response to its request."""
        self.peer.send(line if self.is_editor else jsonrpc.with_id(line, request_id))


@dataclass(frozen=True, slots=True)
class QueuedPrompt:
    """A prompt that runs or waits: its client and its request."""

    client: AcpClient
    envelope: Envelope
    line: bytes


@dataclass(eq=False, slots=True)
class RunningSession:
    """A session that runs in the agent.

    Attributes:
        id: The id under which clients know it.
        agent_id: The agent's id of it, which is another one if the agent could not load it.
        recording: Its recording.
        clients: The clients that see it.
        turn: The prompt that runs.
        waiting: The prompts that wait for the end of the turn.
        introduction: The content block that the next prompt begins with, for an agent that knows no earlier one.
        latest: The lines of the latest updates that describe its state, by kind.
        result: The result of the request that started it, without the id.
        replay: The conversation that arrives before the next prompt, which is a replay: some agents continue it
            after the response; None if it is no replay.
        replayed_at: When the last part of it came, in seconds of the monotonic clock.
    """

    id: str
    agent_id: str
    recording: SessionRecording
    clients: list[AcpClient]
    turn: QueuedPrompt | None = None
    waiting: deque[QueuedPrompt] = field(default_factory=deque)
    introduction: Any = None
    latest: dict[str, bytes] = field(default_factory=dict)
    result: dict[str, Raw] = field(default_factory=dict)
    replay: Literal["shown", "hidden"] | None = None
    replayed_at: float = 0.0

    def begin_replay(self, replay: Literal["shown", "hidden"] | None) -> None:
        """Set whether messages of the agent before the next prompt are a replay."""
        self.replay, self.replayed_at = replay, time.monotonic()
