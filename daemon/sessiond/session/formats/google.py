"""Writes Google's Gemini API: `systemInstruction` as a separate field, then `contents` whose roles alternate.

Beyond its types, the API refuses a result that does not directly follow its call. Since Gemini 3 it also refuses a
call without the signature of the thought before it.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw

from sessiond.session.formats.conversation import (
    GENERATED_ID_PREFIX,
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

UNSIGNED: Final = "skip_thought_signature_validator"
"""Google's placeholder for the signature of a call that a model of another provider made."""

_NAME_LENGTH: Final = 64
_fits_as_signature = re.compile(r"[A-Za-z0-9+/_-]+={0,2}").fullmatch


def write(turns: Sequence[Turn], system: str | None, reasons: Reasons) -> Steps[ProviderMessages]:
    """Return request-ready `contents` and `systemInstruction`.

    Args:
        turns: The turns in legal order.
        system: The system prompt, or None.
        reasons: Receives the changes.
    """
    output = ProviderMessages(reasons=reasons)
    if system is not None:
        output.system = Raw(msgspec.json.encode({"parts": [{"text": system}]}))
    turns = yield from without(without_system(output, turns), _is_unreadable, reasons)
    yield from fit(turns, _LIMITS, reasons)
    messages = yield from join_turns(turns, _parts, "model", reasons)
    yield from add_all(output, messages, _content)
    return output


def _content(message: JoinedTurns) -> dict[str, Any]:
    return {"role": message.role, "parts": message.blocks}


def _legal_name(name: str) -> str:
    legal = re.sub(r"[^A-Za-z0-9_.:-]", "_", name)[:_NAME_LENGTH]
    return legal if legal[0].isalpha() or legal[0] == "_" else f"_{legal}"[:_NAME_LENGTH]


def _is_unreadable(part: Part) -> bool:
    """Return whether the part is redacted thinking, which only Anthropic has."""
    return isinstance(part, Thinking) and part.redacted is not None


def _accepts_image(image: Image, _role: Role) -> bool:
    return image.data is not None or not (image.url or "").startswith("http://")


_LIMITS: Final = ProviderLimits(bool, _legal_name, _accepts_image, unsent_prefix=GENERATED_ID_PREFIX)


def _parts(turn: Turn) -> list[dict[str, Any]]:
    if turn.role == "results":
        return [{"functionResponse": response_of(result)} for result in turn.results]
    parts = [part_of(part) for part in turn.parts]
    call = next((part for part in parts if "functionCall" in part), None)
    if call is not None and turn.foreign and (turn.api or turn.provider):
        call.setdefault("thoughtSignature", UNSIGNED)
    return parts


def part_of(part: Part) -> dict[str, Any]:
    """Return a part as the API has it."""
    match part:
        case TextPart():
            return _signed({"text": part.text}, part.signature)
        case Image():
            return _image(part)
        case Thinking():
            return _signed({"text": part.text, "thought": True}, part.signature)
        case Call():
            arguments = part.arguments if part.unparsed is None else {"arguments": part.unparsed}
            call: dict[str, Any] = {"name": part.name, "args": arguments}
            return _signed({"functionCall": _with_id(call, part.id)}, part.signature)


def _image(image: Image) -> dict[str, Any]:
    if image.data is not None:
        return {"inlineData": {"mimeType": image.media_type, "data": image.data}}
    link = {"fileUri": image.url}
    return {"fileData": link if image.media_type is None else {"mimeType": image.media_type, **link}}


def response_of(result: Result) -> dict[str, Any]:
    """Return a tool result as the `functionResponse` of the API."""
    text = "\n".join(part.text for part in result.parts if isinstance(part, TextPart))
    body: object = result.response
    if body is None:
        body = {"error" if result.is_error else "output": text}
    response: dict[str, Any] = _with_id({"name": result.name, "response": body}, result.call_id)
    images = [_image(part) for part in result.parts if isinstance(part, Image)]
    if images:
        response["parts"] = images
    return response


def _with_id(body: dict[str, Any], call_id: str) -> dict[str, Any]:
    return body if call_id.startswith(GENERATED_ID_PREFIX) else {"id": call_id, **body}


def _signed(part: dict[str, Any], signature: str | None) -> dict[str, Any]:
    if signature is not None and len(signature) % 4 == 0 and _fits_as_signature(signature):
        part["thoughtSignature"] = signature
    return part
