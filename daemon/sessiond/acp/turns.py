"""The turns of a session: one prompt at a time, recorded from the request to the response.

Prompts that arrive meanwhile wait for the end of the turn, because some agents leave a second one unanswered.
"""

import asyncio
import time
from typing import Any, Final

from msgspec import UNSET, Raw

from sessiond.acp import jsonrpc
from sessiond.acp.agent_calls import AgentCalls
from sessiond.acp.background import BackgroundWork
from sessiond.acp.jsonrpc import Envelope
from sessiond.acp.running_session import AcpClient, QueuedPrompt, RunningSession
from sessiond.acp.running_sessions import FLUSH_SECONDS, RunningSessions
from sessiond.acp.updates import show

MAX_WAITING: Final = 100
"""Limit of the prompts that wait for the end of a turn."""
_SILENCE: Final = 0.3
"""Seconds without an update after which a replay has ended."""
_LONGEST_REPLAY: Final = 5.0
QUEUED: Final = "_sessiond/prompt_queued"
"""Tells a client that its prompt waits for the end of the turn, and at which place."""


class Turns:
    """The turns of all sessions of one proxy.

    Args:
        sessions: The sessions.
        calls: The requests to the agent.
        background: The work beside the loops.
    """

    def __init__(self, sessions: RunningSessions, calls: AgentCalls, background: BackgroundWork) -> None:
        self._sessions = sessions
        self._calls = calls
        self._background = background

    async def prompt(self, client: AcpClient, envelope: Envelope, line: bytes) -> bool:
        """Begin a turn, or queue its prompt. Returns False if the session does not run here."""
        session = self._sessions.named_by_client(envelope)
        if session is None:
            return False
        prompt = QueuedPrompt(client, envelope, line)
        if len(session.waiting) >= MAX_WAITING:
            message = f"{MAX_WAITING} prompts wait for the end of the turn. Wait, or cancel it."
            client.fail(envelope.request_id, jsonrpc.INTERNAL_ERROR, message)
        elif session.turn is not None:
            session.waiting.append(prompt)
            queued = {"sessionId": session.id, "position": len(session.waiting)}
            client.peer.send(jsonrpc.notification(QUEUED, queued))
        else:
            await self._begin(session, prompt)
        return True

    def cancels(self, client: AcpClient, envelope: Envelope) -> bool:
        """Take a client's prompts out of the queue. Returns whether the agent must be told to cancel, too."""
        session = self._sessions.named_by_client(envelope)
        if session is None:
            return True
        own = [prompt for prompt in session.waiting if prompt.client is client]
        for prompt in own:
            session.waiting.remove(prompt)
            client.reply(prompt.envelope.request_id, {"stopReason": "cancelled"})
        return not own or (session.turn is not None and session.turn.client is client)

    async def _begin(self, session: RunningSession, prompt: QueuedPrompt) -> None:
        session.turn = prompt
        await _replay_ended(session)
        session.replay = None
        await session.recording.begin()
        session.recording.prompt(Raw(b"{}") if prompt.envelope.params is UNSET else prompt.envelope.params)
        _show_prompt(session, prompt)
        line = prompt.line
        if session.introduction is not None:
            line = _with_introduction(line, session.introduction)
            session.introduction = None

        def on_response(envelope: Envelope, line: bytes) -> None:
            if envelope.result is not UNSET:
                session.recording.ended(envelope.result)
            else:
                session.recording.failed(jsonrpc.encoded(None) if envelope.error is UNSET else envelope.error)
            self._background.start(self._end(session, prompt, line))

        self._calls.forward(prompt.client, prompt.envelope, line, on_response)

    async def _end(self, session: RunningSession, prompt: QueuedPrompt, line: bytes) -> None:
        for client in session.clients:
            for asked in client.asked.values():
                if asked.session is session:
                    asked.is_answered = True  # a late answer must not fail
        await session.recording.flush(FLUSH_SECONDS)
        prompt.client.deliver(prompt.envelope.request_id, line)
        session.turn = None
        if session.waiting:
            await self._begin(session, session.waiting.popleft())


async def _replay_ended(session: RunningSession) -> None:
    """Wait until an agent that continues a replay after the response has been silent, for a limited time.

    The rest of the replay would be recorded as an answer.
    """
    end = time.monotonic() + _LONGEST_REPLAY
    while session.replay is not None:
        left = min(session.replayed_at + _SILENCE, end) - time.monotonic()
        if left <= 0:
            break
        await asyncio.sleep(left)


def _show_prompt(session: RunningSession, prompt: QueuedPrompt) -> None:
    """Show the other clients a prompt, because agents do not repeat prompts."""
    others = [client for client in session.clients if client is not prompt.client]
    if others:
        for block in jsonrpc.mapping(prompt.envelope.params).get("prompt") or ():
            line = jsonrpc.update(session.id, {"sessionUpdate": "user_message_chunk", "content": block})
            for client in others:
                show(session, client, line)


def _with_introduction(line: bytes, introduction: Any) -> bytes:
    """Return the line of a prompt that begins with another content block."""
    members = jsonrpc.members(Raw(line))
    params = jsonrpc.members(members["params"])
    blocks = jsonrpc.value(params.get("prompt", Raw(b"[]")))
    params["prompt"] = jsonrpc.encoded([introduction, *(blocks if isinstance(blocks, list) else [])])
    members["params"] = jsonrpc.encoded(params)
    return bytes(jsonrpc.encoded(members)) + b"\n"
