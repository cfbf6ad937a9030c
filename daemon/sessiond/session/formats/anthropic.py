"""Writes Anthropic's Messages API: `system` as a separate field, then messages whose roles alternate.

Beyond its types, the API refuses:

- empty or blank text
- a result that does not directly follow its call
- an image type other than four
- an image in a result that is an error
- thinking at the end of a turn
- white space at the end of the last turn
- call ids with other characters
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw

from sessiond.session.formats.conversation import (
    Call,
    Image,
    Part,
    Reasons,
    Result,
    Role,
    TextPart,
    Thinking,
    Turn,
)
from sessiond.session.formats.fitting import ProviderLimits, fit, without
from sessiond.session.formats.provider_messages import (
    JoinedTurns,
    ProviderMessages,
    add_all,
    join_turns,
    without_system,
)
from sessiond.session.tree.steps import Steps

IMAGE_TYPES: Final = frozenset(("image/jpeg", "image/png", "image/gif", "image/webp"))

_NAME_LENGTH: Final = 128


def write(turns: Sequence[Turn], system: str | None, reasons: Reasons) -> Steps[ProviderMessages]:
    """Return request-ready `messages` and `system`.

    Args:
        turns: The turns in legal order.
        system: The system prompt, or None.
        reasons: Receives the changes.
    """
    output = ProviderMessages(reasons=reasons)
    if system is not None:
        output.system = Raw(msgspec.json.encode(system))
    turns = without_system(output, turns)
    for turn in turns:
        _drop_trailing_thinking(turn, reasons)
    turns = yield from without(turns, _is_unsigned, reasons)
    yield from fit(turns, _LIMITS, reasons)
    messages = yield from join_turns(turns, blocks_of, "assistant", reasons)
    _trim_the_end(messages, reasons)
    yield from add_all(output, messages, _message)
    return output


def _message(message: JoinedTurns) -> dict[str, Any]:
    content: object = message.blocks if message.plain is None else message.plain
    return {"role": message.role, "content": content}


def _drop_trailing_thinking(turn: Turn, reasons: Reasons) -> None:
    """Remove thinking at the end of a turn, which the API refuses."""
    while turn.parts and isinstance(turn.parts[-1], Thinking):
        turn.parts.pop()
        reasons.setdefault(turn.source, "thinkingLeftOut")


def _is_unsigned(part: Part) -> bool:
    return isinstance(part, Thinking) and part.signature is None and part.redacted is None


def _legal_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_NAME_LENGTH]


def _accepts_image(image: Image, role: Role) -> bool:
    if image.data is None:
        return role != "assistant" and image.url is not None and image.url.startswith("https://")
    return role != "assistant" and image.media_type in IMAGE_TYPES


_LIMITS: Final = ProviderLimits(re.compile(r"[A-Za-z0-9_-]{1,64}").fullmatch, _legal_name, _accepts_image)


def blocks_of(turn: Turn) -> list[dict[str, Any]]:
    """Return the content blocks of a turn. Images of a result that is an error follow the results."""
    if turn.role != "results":
        return [_block(part) for part in turn.parts]
    blocks = [_result(result) for result in turn.results]
    for result in turn.results:
        if result.is_error:
            blocks += [_block(part) for part in result.parts if isinstance(part, Image)]
    return blocks


def _block(part: Part) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case Image(data=None):
            return {"type": "image", "source": {"type": "url", "url": part.url}}
        case Image():
            source = {"type": "base64", "media_type": part.media_type, "data": part.data}
            return {"type": "image", "source": source}
        case Thinking(redacted=None):
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case Thinking():
            return {"type": "redacted_thinking", "data": part.redacted}
        case Call():
            arguments = part.arguments if part.unparsed is None else {"arguments": part.unparsed}
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments}


def _result(result: Result) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": result.call_id}
    parts = [part for part in result.parts if isinstance(part, TextPart) or not result.is_error]
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        block["content"] = parts[0].text
    elif parts:
        block["content"] = [_block(part) for part in parts]
    if result.is_error:
        block["is_error"] = True
    return block


def _trim_the_end(messages: list[JoinedTurns], reasons: Reasons) -> None:
    """Remove white space at the end of an assistant message in last place. The API continues that message."""
    if not messages or messages[-1].role != "assistant":
        return
    last = messages[-1].blocks[-1]
    if last["type"] == "text" and last["text"] != last["text"].rstrip():
        last["text"] = last["text"].rstrip()
        reasons.setdefault(messages[-1].sources[-1], "trimmed")
