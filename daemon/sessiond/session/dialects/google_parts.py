"""Converts parts of Google's Gemini API, as Gemini CLI and Qwen Code store them, to blocks, calls and results.

Unlike `formats.from_google`, nothing is refused: a part without a counterpart becomes a block with its own fields.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from sessiond.session.content import fields, typed_words
from sessiond.session.dialects.messages import timed
from sessiond.session.formats.build import NO_COST

API: Final = "google-generative-ai"
PROVIDER: Final = "google"


@dataclass(frozen=True, slots=True)
class PartCall:
    """A tool call. `id` is made from `name` and the place if the source has none."""

    id: str
    name: str
    arguments: dict[str, Any]
    signature: str | None = None

    def block(self) -> dict[str, Any]:
        """Return the call as a block of an assistant message."""
        signed = {} if self.signature is None else {"thoughtSignature": self.signature}
        return {"type": "toolCall", "id": self.id, "name": self.name, "arguments": self.arguments, **signed}


@dataclass(frozen=True, slots=True)
class PartResult:
    """The result of a tool call."""

    call_id: str
    name: str
    content: list[dict[str, Any]]
    is_error: bool

    def message(self, at: str) -> dict[str, Any]:
        """Return the result as a message."""
        return timed(
            {
                "role": "toolResult", "toolCallId": self.call_id, "toolName": self.name, "content": self.content,
                "isError": self.is_error,
            },
            at,
        )  # fmt: skip


@dataclass(slots=True)
class Content:
    """The parts of one message: blocks in their order, and the calls and results among them."""

    blocks: list[dict[str, Any]] = field(default_factory=list)
    calls: list[PartCall] = field(default_factory=list)
    results: list[PartResult] = field(default_factory=list)

    @property
    def spoken(self) -> list[dict[str, Any]]:
        """The blocks without thinking and calls."""
        return [block for block in self.blocks if block.get("type") not in ("thinking", "toolCall")]

    @property
    def is_injected(self) -> bool:
        """Whether the program wrote it as a message of the user."""
        return typed_words.is_added(self.blocks)


def content_of(value: Any, place: str) -> Content:
    """Return a content: a string, a part, a list of parts, or an object with `parts`.

    Args:
        value: The content.
        place: A text that is unique to the message, for the ids of calls without one.
    """
    found = Content()
    for part in parts_of(value):
        call, result = fields.mapping(part.get("functionCall")), fields.mapping(part.get("functionResponse"))
        if call:
            made = call_of(call, f"{place}-{len(found.calls) + 1}", fields.text(part.get("thoughtSignature")))
            found.calls.append(made)
            found.blocks.append(made.block())
        elif result:
            found.results.append(result_of(result, f"{place}-{len(found.results) + 1}"))
        else:
            found.blocks.append(_block(part))
    return found


def parts_of(value: Any) -> list[dict[str, Any]]:
    """Return the parts of a content. A string becomes a part with a text; an empty string becomes none."""
    if isinstance(value, dict) and isinstance(value.get("parts"), list):
        value = value["parts"]
    found = value if isinstance(value, list) else [value]
    parts = [{"text": part} if isinstance(part, str) else part for part in found]
    return [part for part in parts if isinstance(part, dict) and part and part != {"text": ""}]


def call_of(call: dict[str, Any], fallback_id: str, signature: str | None = None) -> PartCall:
    """Return a call. `fallback_id` is its id if the source has none."""
    return PartCall(
        fields.text(call.get("id")) or fallback_id, fields.text(call.get("name")) or "unknown",
        fields.arguments(fields.first(call, "args", "arguments")), signature,
    )  # fmt: skip


def result_of(response: dict[str, Any], fallback_id: str) -> PartResult:
    """Return the result of a function response. `fallback_id` is the id of its call if the source has none."""
    given = response.get("response")
    is_error = isinstance(given, dict) and "error" in given
    inner = given
    if isinstance(given, dict) and len(given) == 1:
        inner = next((given[name] for name in ("output", "error") if name in given), given)
    text = {"type": "text", "text": fields.as_text(inner)}
    media = [_block(part) for part in parts_of(response.get("parts"))]
    return PartResult(
        fields.text(response.get("id")) or fallback_id, fields.text(response.get("name")) or "unknown",
        [text, *media], is_error,
    )  # fmt: skip


def usage(input: Any, output: Any, thoughts: Any, cached: Any, total: Any) -> dict[str, Any]:
    """Return the usage with the names of pi. In the source, `input` includes the cached tokens.

    For some providers, `output` includes the thoughts. They are added unless `total` is too small for that.
    """
    spoken, thought = fields.number(output), fields.number(thoughts)
    if 0 < fields.number(total) < fields.number(input) + spoken + thought:
        thought = 0
    known = {
        "input": max(0, fields.number(input) - fields.number(cached)),
        "output": spoken + thought, "cacheRead": fields.number(cached), "cacheWrite": 0,
    }  # fmt: skip
    made = {**known, "totalTokens": fields.number(total) or sum(known.values()), "cost": NO_COST}
    return made if thoughts is None else {**made, "reasoningTokens": fields.number(thoughts)}


def _block(part: dict[str, Any]) -> dict[str, Any]:
    text, signature = part.get("text"), fields.text(part.get("thoughtSignature"))
    rest = fields.without(part, "text", "thought", "thoughtSignature")
    if isinstance(text, str):
        if part.get("thought") is True:
            signed = {} if signature is None else {"thinkingSignature": signature}
            return {"type": "thinking", "thinking": text, **signed, **fields.without(rest, "type")}
        signed = {} if signature is None else {"textSignature": signature}
        return {"type": "text", "text": text, **signed, **fields.without(rest, "type")}
    data = fields.mapping(part.get("inlineData"))
    mime_type = fields.as_text(data.get("mimeType"))
    if isinstance(data.get("data"), str) and mime_type.startswith("image/"):
        return {"type": "image", "data": data["data"], "mimeType": mime_type}
    file = fields.mapping(part.get("fileData"))
    if (link := fields.text(file.get("fileUri"))) and fields.as_text(file.get("mimeType")).startswith(
        "image/"
    ):
        return {"type": "image", "source": {"type": "url", "url": link}}
    kind = next((name for name, value in part.items() if isinstance(value, dict)), "part")
    return {"type": kind, **fields.without(part, "type")}
