"""Writes OpenAI's Responses API: input items, which are messages, function calls and outputs of functions.

Each call and each result is an item of its own. Beyond its types, the API refuses a call without an output, an output
without a call, call ids of more than 64 characters, and names of functions with other characters. Reasoning is left
out: the API accepts an item of reasoning only together with the items that the model made after it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from sessiond.session.formats.conversation import Call, Image, Part, Reasons, Result, Role, TextPart, Turn
from sessiond.session.formats.fitting import ProviderLimits, fit
from sessiond.session.formats.openai import accepts_link, arguments_text, legal_name
from sessiond.session.formats.provider_messages import ProviderMessages
from sessiond.session.tree.steps import Steps

_ITEM_ID_SEPARATOR: Final = "|"
"""pi and oh-my-pi store the id of a call and the id of its item in one text: `call_1|fc_1`."""
_TURNS_A_STEP: Final = 50
_BYTES_A_STEP: Final = 512 * 1024


def write(turns: Sequence[Turn], _system: str | None, reasons: Reasons) -> Steps[ProviderMessages]:
    """Return request-ready `input` items of turns in legal order. System messages stay at their positions."""
    output = ProviderMessages(reasons=reasons)
    yield from fit(turns, _LIMITS, reasons)
    size = 0
    for number, turn in enumerate(turns):
        for item, source in _items(turn):
            size += output.add(item, [source])
        if turn.role == "system":
            reasons.setdefault(turn.source, "systemPrompt")
        if number % _TURNS_A_STEP == 0 or size > _BYTES_A_STEP:
            size = 0
            yield
    return output


def _accepts_image(image: Image, role: Role) -> bool:
    return role in ("user", "results") and accepts_link(image)


def _call_id(stored_id: str) -> str:
    return stored_id.partition(_ITEM_ID_SEPARATOR)[0]


_LIMITS: Final = ProviderLimits(
    re.compile(r"[!-~]{1,64}").fullmatch, legal_name, _accepts_image, own_id=_call_id
)


def _items(turn: Turn) -> Iterator[tuple[dict[str, Any], int]]:
    """Return the items of a turn, each with the number of the message that it was made from."""
    if turn.role == "results":
        for result in turn.results:
            yield _output(result), result.source
    elif turn.role == "assistant":
        # The content of an assistant's message is a text: its parts of output cannot be sent without ids of the API.
        for part in turn.parts:
            if isinstance(part, TextPart):
                yield {"role": "assistant", "content": part.text}, turn.source
        for part in turn.parts:
            if isinstance(part, Call):
                yield _call(part), turn.source if part.source is None else part.source
    else:
        yield {"role": turn.role, "content": _content(turn)}, turn.source


def _content(turn: Turn) -> object:
    if turn.plain and len(turn.parts) == 1 and isinstance(turn.parts[0], TextPart):
        return turn.parts[0].text
    return [_part(part) for part in turn.parts]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Image):
        url = part.url if part.data is None else f"data:{part.media_type};base64,{part.data}"
        return {"type": "input_image", "image_url": url, "detail": part.detail or "auto"}
    assert isinstance(part, TextPart), "only an assistant thinks and calls"
    return {"type": "input_text", "text": part.text}


def _call(call: Call) -> dict[str, Any]:
    return {
        "type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments_text(call),
    }  # fmt: skip


def _output(result: Result) -> dict[str, Any]:
    text = result.parts[0] if len(result.parts) == 1 else None
    output: object = [_part(part) for part in result.parts]
    if isinstance(text, TextPart):
        output = text.text
    return {"type": "function_call_output", "call_id": result.call_id, "output": output or ""}
