"""Writes OpenAI's Chat Completions: messages of the roles system, developer, user, assistant and tool.

Beyond its types, the API refuses a call without a directly following result, call ids of more than 40 characters,
images from any role but the user, and tool names with other characters.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

from sessiond.session.formats.conversation import Call, Image, Part, Reasons, Result, Role, TextPart, Turn
from sessiond.session.formats.fitting import ProviderLimits, fit
from sessiond.session.formats.provider_messages import ProviderMessages, sources_of
from sessiond.session.tree.steps import Steps

IMAGES_OF_RESULTS: Final = "Images in the tool results:"

_NAME_LENGTH: Final = 64
_TURNS_A_STEP: Final = 50
_BYTES_A_STEP: Final = 512 * 1024


def write(turns: Sequence[Turn], _system: str | None, reasons: Reasons) -> Steps[ProviderMessages]:
    """Return request-ready `messages` of turns in legal order. System messages stay at their positions."""
    output = ProviderMessages(reasons=reasons)
    yield from fit(turns, _LIMITS, reasons)
    size = 0
    for number, turn in enumerate(turns):
        if turn.role == "results":
            size += _add_results(output, turn)
        else:
            size += output.add(_message(turn), sources_of(turn, reasons))
            if turn.role == "system":
                reasons.setdefault(turn.source, "systemPrompt")
        if number % _TURNS_A_STEP == 0 or size > _BYTES_A_STEP:
            size = 0
            yield
    return output


def legal_name(name: str) -> str:
    """Return the name of a tool with only the characters that OpenAI accepts."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_NAME_LENGTH]


def accepts_link(image: Image) -> bool:
    """Return whether OpenAI can read an image: it has data, or an address of HTTP."""
    return image.data is not None or (image.url or "").startswith("http")


def _accepts_image(image: Image, role: Role) -> bool:
    return role in ("user", "results") and accepts_link(image)


_LIMITS: Final = ProviderLimits(re.compile(r"[!-~]{1,40}").fullmatch, legal_name, _accepts_image)


def _message(turn: Turn) -> dict[str, Any]:
    if turn.role == "user":
        return {"role": "user", "content": _content(turn)}
    texts = _texts(turn.parts)
    calls = [_call(part) for part in turn.parts if isinstance(part, Call)]
    content: object = texts[0] if len(texts) == 1 else [{"type": "text", "text": text} for text in texts]
    message: dict[str, Any] = {"role": turn.role, "content": content or None}
    if calls:
        message["tool_calls"] = calls
    return message


def _content(turn: Turn) -> object:
    if turn.plain and len(turn.parts) == 1 and isinstance(turn.parts[0], TextPart):
        return turn.parts[0].text
    return [_part(part) for part in turn.parts]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Image):
        url = part.url if part.data is None else f"data:{part.media_type};base64,{part.data}"
        image_url = {"url": url} if part.detail is None else {"url": url, "detail": part.detail}
        return {"type": "image_url", "image_url": image_url}
    assert isinstance(part, TextPart), "only an assistant thinks and calls"
    return {"type": "text", "text": part.text}


def _call(call: Call) -> dict[str, Any]:
    function = {"name": call.name, "arguments": arguments_text(call)}
    return {"id": call.id, "type": "function", "function": function}


def arguments_text(call: Call) -> str:
    """Return the arguments of a call as the text that the model wrote."""
    return bytes(call.arguments).decode() if call.unparsed is None else call.unparsed


def _add_results(output: ProviderMessages, turn: Turn) -> int:
    """Add one message for each result, then a user message with all their images.

    Only a user message can have images.

    Returns:
        The size of the messages in bytes.
    """
    size, images, image_url = 0, list[dict[str, Any]](), list[int]()
    for result in turn.results:
        size += output.add(_result(result), [result.source])
        of_result = [_part(part) for part in result.parts if isinstance(part, Image)]
        if of_result:
            images += of_result
            image_url.append(result.source)
            output.reasons.setdefault(result.source, "imageMoved")
    if images:
        opening = {"type": "text", "text": IMAGES_OF_RESULTS}
        size += output.add({"role": "user", "content": [opening, *images]}, image_url)
    return size


def _result(result: Result) -> dict[str, Any]:
    texts = _texts(result.parts)
    parts = [{"type": "text", "text": text} for text in texts]
    content: object = parts if len(texts) > 1 else "".join(texts)
    return {"role": "tool", "tool_call_id": result.call_id, "content": content}


def _texts(parts: Sequence[Part]) -> list[str]:
    return [part.text for part in parts if isinstance(part, TextPart)]
