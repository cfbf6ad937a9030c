"""Converts an agent's messages to request-ready messages of a provider, in steps."""

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Raw

from sessiond.session.context import system_message
from sessiond.session.formats import anthropic, google, openai, openai_responses
from sessiond.session.formats.agent import read_turn
from sessiond.session.formats.conversation import Reasons, Result, TextPart, Turn
from sessiond.session.formats.families import keeps_thinking
from sessiond.session.formats.legal import legal
from sessiond.session.formats.provider_messages import ProviderMessages
from sessiond.session.tree.steps import Steps, clear_lists

Provider: TypeAlias = Literal["openai", "openai-responses", "anthropic", "google"]

SEPARATE_PROMPT: Final = -1
"""The number of a system prompt that is not a message of the context: `RequestData.system_prompt`."""

_MESSAGES_A_STEP: Final = 128
_BYTES_A_STEP: Final = 512 * 1024
_WRITERS: Final[dict[Provider, Callable[[Sequence[Turn], str | None, Reasons], Steps[ProviderMessages]]]] = {
    "openai": openai.write,
    "openai-responses": openai_responses.write,
    "anthropic": anthropic.write,
    "google": google.write,
}


class RequestData(msgspec.Struct, frozen=True):
    """Data on a path besides its messages, as returned by `request_data.request_data`.

    `system_prompt` is that of the last `session_init`. It is used if the context has no system message.
    `unchanged_from` is the number of the first message before which nothing has been compacted or edited since.
    """

    provider: str | None = None
    system_prompt: str | None = None
    unchanged_from: int = 0


def write(format: Provider, messages: Sequence[Raw], request_data: RequestData) -> Steps[ProviderMessages]:
    """Return the messages of a context in `format`, and the reason of each change. Never raises on content."""
    reasons: Reasons = {}
    items = yield from _read_turns(messages, reasons)
    turns = [item for item in items if isinstance(item, Turn)]
    yield
    systems = [turn.source for turn in turns if turn.role == "system"]
    yield
    prompt = _system_prompt([messages[source] for source in systems])
    if prompt is None and request_data.system_prompt is not None:
        prompt = request_data.system_prompt
        items.insert(0, Turn("system", SEPARATE_PROMPT, [TextPart(prompt)], plain=True))
    unchanged_from = max([request_data.unchanged_from, *systems])  # the system prompt is before everything
    keeps = keeps_thinking(format, turns, request_data.provider, unchanged_from)
    yield
    ordered = yield from legal(items, reasons, keeps)
    yield from clear_lists(items, turns)
    output = yield from _WRITERS[format](ordered, prompt, reasons)
    yield from clear_lists(ordered)
    return output


def _system_prompt(messages: Sequence[Raw]) -> str | None:
    """Return the text of the system prompt in force, or None."""
    message = system_message.in_force(messages)
    turn = None if message is None else read_turn(message, SEPARATE_PROMPT)
    text_part = turn.parts[0] if isinstance(turn, Turn) and turn.parts else None
    return text_part.text if isinstance(text_part, TextPart) else None


def _read_turns(messages: Sequence[Raw], reasons: Reasons) -> Steps[list[Turn | Result | None]]:
    items: list[Turn | Result | None] = []
    size = 0
    for number, message in enumerate(messages):
        item = read_turn(message, number)
        if isinstance(item, str):
            reasons[number] = item
            items.append(None)
        else:
            items.append(item)
            if isinstance(item, Turn) and item.as_user_text:
                reasons[number] = "asText"
        size += memoryview(message).nbytes
        if number % _MESSAGES_A_STEP == 0 or size > _BYTES_A_STEP:
            size = 0
            yield
    return items
