"""Extracts tool calls and their results from messages."""

from typing import Final, NamedTuple

from sessiond.session.content import stop_reasons
from sessiond.session.content.agent_message import AgentMessage


class MessageToolCalls(NamedTuple):
    """The tool calls of a message.

    Attributes:
        call_ids: The ids of the calls that it makes.
        result_of: The id of the call whose result it is, or None.
        awaits_results: Whether results of its calls may follow.

    """

    call_ids: tuple[str, ...] = ()
    result_of: str | None = None
    awaits_results: bool = False


NO_CALLS: Final = MessageToolCalls()


def calls_of(message: AgentMessage) -> MessageToolCalls:
    """Return the calls that a message makes or answers."""
    if message.role == "toolResult" and isinstance(message.tool_call_id, str):
        return MessageToolCalls(result_of=message.tool_call_id)
    call_ids = tuple(block.id for block in message.tool_calls if isinstance(block.id, str))
    return (
        MessageToolCalls(call_ids, None, message.stop_reason not in stop_reasons.FAILED)
        if call_ids
        else NO_CALLS
    )
