"""Converts an agent's messages to request-ready messages of a provider, in steps."""

from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Raw

from sessiond.session.context import system_message
from sessiond.session.formats import anthropic, google, openai
from sessiond.session.formats.agent import said
from sessiond.session.formats.conversation import Reasons, Result, TextPart, Turn
from sessiond.session.formats.families import keeps_thinking
from sessiond.session.formats.legal import legal
from sessiond.session.formats.written import Written
from sessiond.session.tree.steps import Steps, clear_lists

Provider: TypeAlias = Literal["openai", "anthropic", "google"]

BESIDE: Final = -1
"""The number of a system prompt that is not a message of the context: `Beside.system_prompt`."""

_MESSAGES_A_STEP: Final = 128
_BYTES_A_STEP: Final = 512 * 1024
_WRITERS: Final[dict[Provider, Callable[[Sequence[Turn], str | None, Reasons], Steps[Written]]]] = {
    "openai": openai.write,
    "anthropic": anthropic.write,
    "google": google.write,
}


class Beside(msgspec.Struct, frozen=True):
    """Data on a path besides its messages, as returned by `beside.beside`.

    `system_prompt` is that of the last `session_init`. It is used if the context has no system message.
    `unchanged_from` is the number of the first message before which nothing has been compacted or edited since.
    """

    provider: str | None = None
    system_prompt: str | None = None
    unchanged_from: int = 0


def write(format: Provider, messages: Sequence[Raw], beside: Beside) -> Steps[Written]:
    """Return the messages of a context in `format`, and what became of each. Never raises on content."""
    reasons: Reasons = {}
    heard = yield from _heard(messages, reasons)
    turns = [each for each in heard if isinstance(each, Turn)]
    yield
    systems = [turn.source for turn in turns if turn.role == "system"]
    yield
    prompt = _system_prompt([messages[source] for source in systems])
    if prompt is None and beside.system_prompt is not None:
        prompt = beside.system_prompt
        heard.insert(0, Turn("system", BESIDE, [TextPart(prompt)], plain=True))
    unchanged_from = max([beside.unchanged_from, *systems])  # the system prompt is before everything
    keeps = keeps_thinking(format, turns, beside.provider, unchanged_from)
    yield
    ordered = yield from legal(heard, reasons, keeps)
    yield from clear_lists(heard, turns)
    written = yield from _WRITERS[format](ordered, prompt, reasons)
    yield from clear_lists(ordered)
    return written


def _system_prompt(messages: Sequence[Raw]) -> str | None:
    """Return the text of the system prompt in force, or None."""
    message = system_message.in_force(messages)
    turn = None if message is None else said(message, BESIDE)
    words = turn.parts[0] if isinstance(turn, Turn) and turn.parts else None
    return words.text if isinstance(words, TextPart) else None


def _heard(messages: Sequence[Raw], reasons: Reasons) -> Steps[list[Turn | Result | None]]:
    heard: list[Turn | Result | None] = []
    size = 0
    for number, message in enumerate(messages):
        each = said(message, number)
        if isinstance(each, str):
            reasons[number] = each
            heard.append(None)
        else:
            heard.append(each)
            if isinstance(each, Turn) and each.told:
                reasons[number] = "asText"
        size += memoryview(message).nbytes
        if number % _MESSAGES_A_STEP == 0 or size > _BYTES_A_STEP:
            size = 0
            yield
    return heard
