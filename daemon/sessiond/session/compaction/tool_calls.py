"""Extracts tool calls and their results from messages."""

from typing import Final, NamedTuple

from sessiond.session.content.agent_message import AgentMessage

NOBODY_RUNS: Final = ("aborted", "error")
"""Stop reasons of assistant messages whose calls no agent executes."""


class MessageToolCalls(NamedTuple):
    """The tool calls of a message.

    Attributes:
        made: The ids of the calls that it makes.
        answered: The id of the call whose result it is, or None.
        awaited: Whether results of its calls may follow.

    """

    made: tuple[str, ...] = ()
    answered: str | None = None
    awaited: bool = False


NO_CALLS: Final = MessageToolCalls()


def calls_of(message: AgentMessage) -> MessageToolCalls:
    """Return the calls that a message makes or answers."""
    if message.role == "toolResult" and isinstance(message.tool_call_id, str):
        return MessageToolCalls(answered=message.tool_call_id)
    made = tuple(block.id for block in message.tool_calls if isinstance(block.id, str))
    return MessageToolCalls(made, None, message.stop_reason not in NOBODY_RUNS) if made else NO_CALLS
