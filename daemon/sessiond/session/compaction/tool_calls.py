"""Tool calls and their results: which calls a message makes, which one it answers, which may still be answered."""

from typing import Final, NamedTuple

from sessiond.session.content.agent_message import AgentMessage

NOBODY_RUNS: Final = ("aborted", "error")
"""Stop reasons of answers whose calls no agent carries out."""


class MessageToolCalls(NamedTuple):
    """Of a message: ids of the calls it makes, the id of the call it answers, whether results may come."""

    made: tuple[str, ...] = ()
    answered: str | None = None
    awaited: bool = False


NO_CALLS: Final = MessageToolCalls()


def calls_of(message: AgentMessage) -> MessageToolCalls:
    """The calls that a message makes or answers."""
    if message.role == "toolResult" and isinstance(message.tool_call_id, str):
        return MessageToolCalls(answered=message.tool_call_id)
    made = tuple(block.id for block in message.tool_calls if isinstance(block.id, str))
    return MessageToolCalls(made, None, message.stop_reason not in NOBODY_RUNS) if made else NO_CALLS
