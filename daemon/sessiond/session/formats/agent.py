"""Reads an agent's message as a turn or a tool result. A message of a role that no provider has becomes user text.

Reading cannot fail. The roles are those of pi and oh-my-pi. The sentences around summaries, commands and files are
defined here (decision 0016).
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.session.content import stop_reasons
from sessiond.session.content.image_links import image_url
from sessiond.session.content.typed_words import OF_BRANCH, OF_COMPACTION
from sessiond.session.formats.conversation import Call, Image, Part, Result, Role, TextPart, Thinking, Turn
from sessiond.session.tree import payloads

OMITTED_IMAGE: Final = "[An image was here that cannot be shown.]"

_NO_ARGUMENTS: Final = Raw(b"{}")

_media_type = re.compile(r"image/[a-z0-9][a-z0-9.+-]*").fullmatch
_base64 = re.compile(r"[A-Za-z0-9+/]+={0,2}").fullmatch
_link = re.compile(r"https?://[!-~]+|gs://[!-~]+").fullmatch


class _Block(msgspec.Struct, rename="camel"):
    type: Any = None
    text: Any = None
    text_signature: Any = None
    thinking: Any = None
    thinking_signature: Any = None
    redacted: Any = None
    data: Any = None
    mime_type: Any = None
    url: Any = None
    source: Any = None
    image: Any = None
    detail: Any = None
    id: Any = None
    name: Any = None
    arguments: Raw | UnsetType = UNSET
    unparsed_arguments: Any = None
    thought_signature: Any = None


class _Message(msgspec.Struct, rename="camel"):
    role: Any = None
    content: list[_Block] | str | None = None
    stop_reason: Any = None
    api: Any = None
    provider: Any = None
    tool_call_id: Any = None
    tool_name: Any = None
    is_error: Any = None
    details: Raw | UnsetType = UNSET
    exclude_from_context: Any = None
    command: Any = None
    code: Any = None
    output: Any = None
    exit_code: Any = None
    cancelled: Any = None
    truncated: Any = None
    full_output_path: Any = None
    summary: Any = None
    files: Any = None
    sections: Any = None


_message = msgspec.json.Decoder(_Message)
_fields = msgspec.json.Decoder(dict[str, Raw])
_blocks = msgspec.json.Decoder(list[Raw])
_block = msgspec.json.Decoder(_Block)


def read_turn(message: bytes | Raw, source: int) -> Turn | Result | str:
    """Return the turn or result of a message, or the reason (`formats.reasons`) why it has none for a provider."""
    found = payloads.part(_message, message) or _decode_leniently(message)
    if found is None:
        return "notAMessage"
    convert = _ROLES.get(found.role) if isinstance(found.role, str) else None
    return "unknownRole" if convert is None else convert(found, source)


def _decode_leniently(message: bytes | Raw) -> _Message | None:
    """Return a message whose content is malformed, with the readable blocks of its content."""
    fields = payloads.part(_fields, message)
    if fields is None:
        return None
    raw = fields.pop("content", Raw(b"null"))
    found = payloads.part(_message, msgspec.json.encode(fields)) or _Message()
    readable = (payloads.part(_block, bytes(each)) for each in payloads.part(_blocks, raw) or ())
    found.content = [block for block in readable if block is not None]
    return found


def _of_user(message: _Message, source: int) -> Turn:
    return _turn("user", message, source)


def _of_custom(message: _Message, source: int) -> Turn:
    turn = _turn("user", message, source)
    turn.as_user_text = True
    return turn


def _of_developer(message: _Message, source: int) -> Turn:
    return _turn("developer", message, source)


def _turn(role: Role, message: _Message, source: int) -> Turn:
    content = message.content
    parts: list[Part] = list(_text_and_images(content))
    return Turn(role, source, parts, plain=isinstance(content, str))


def _of_system(message: _Message, source: int) -> Turn:
    """Return the turn of a system message, whose sections (of pi) are appended to its content."""
    sections = message.sections if isinstance(message.sections, dict) else {}
    texts = [part.text for part in _text_and_images(message.content) if isinstance(part, TextPart)]
    texts += [text for text in sections.values() if isinstance(text, str) and not _is_blank(text)]
    parts: list[Part] = [TextPart("\n\n".join(texts))] if texts else []
    return Turn("system", source, parts, plain=True)


def _of_assistant(message: _Message, source: int) -> Turn:
    content = message.content
    parts: list[Part] = []
    if isinstance(content, str):
        parts += _text_parts(content)
    else:
        for block in content or ():
            parts += _of_block(block)
    return Turn(
        "assistant", source, parts, failed=message.stop_reason in stop_reasons.FAILED,
        api=_text(message.api), provider=_text(message.provider),
    )  # fmt: skip


def _of_result(message: _Message, source: int) -> Result:
    details = message.details
    result = Result(
        source, _text(message.tool_call_id) or "", _text(message.tool_name) or "", _text_and_images(message.content),
        is_error=message.is_error is True,
    )  # fmt: skip
    text_part = result.parts[0] if len(result.parts) == 1 else None
    if details is not UNSET and isinstance(text_part, TextPart) and text_part.text.encode() == bytes(details):
        result.response = details if text_part.text.startswith("{") else None
    return result


def _of_command(message: _Message, source: int) -> Turn | str:
    if message.exclude_from_context is True:
        return "excluded"
    return _as_user(source, [TextPart(_command_text(f"Ran `{_text(message.command) or ''}`", message))])


def _of_python(message: _Message, source: int) -> Turn | str:
    if message.exclude_from_context is True:
        return "excluded"
    return _as_user(
        source, [TextPart(_command_text(f"Ran Python:\n{_fenced(_text(message.code) or '')}", message))]
    )


def _command_text(title: str, message: _Message) -> str:
    output = _text(message.output) or ""
    lines = [title, "No output." if _is_blank(output) else f"Output:\n{_fenced(output)}"]
    if message.cancelled is True:
        lines.append("The command was cancelled.")
    elif isinstance(message.exit_code, int) and message.exit_code not in (0, False):
        lines.append(f"Exit code: {message.exit_code}")
    path = _text(message.full_output_path)
    if message.truncated is True:
        lines.append("The output is truncated." + (f" Full output: {path}" if path else ""))
    return "\n\n".join(lines)


def _fenced(text: str) -> str:
    """Return text between fences that are longer than any fence in it."""
    longest = max(map(len, re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _of_files(message: _Message, source: int) -> Turn:
    parts: list[Part] = []
    for file in message.files if isinstance(message.files, list) else ():
        if not isinstance(file, dict):
            continue
        path, content, image = _text(file.get("path")) or "", _text(file.get("content")), file.get("image")
        if content is not None:
            parts.append(TextPart(f'<file path="{path}">\n{content}\n</file>'))
        if isinstance(image, dict):
            parts.append(_image(image.get("data"), image.get("mimeType")) or TextPart(OMITTED_IMAGE))
    return _as_user(source, parts)


def _of_compaction(message: _Message, source: int) -> Turn:
    summary = [] if _is_blank(_text(message.summary) or "") else [_summary(OF_COMPACTION, message)]
    return _as_user(source, [TextPart(text) for text in summary])


def _of_branch(message: _Message, source: int) -> Turn:
    return _as_user(source, [TextPart(_summary(OF_BRANCH, message))])


def _summary(introduction: str, message: _Message) -> str:
    return f"{introduction}\n\n<summary>\n{_text(message.summary) or ''}\n</summary>"


def _as_user(source: int, parts: Sequence[Part]) -> Turn:
    plain = len(parts) == 1 and isinstance(parts[0], TextPart)
    return Turn("user", source, list(parts), plain=plain, as_user_text=True)


_ROLES: Final[dict[str, Callable[[_Message, int], Turn | Result | str]]] = {
    "user": _of_user,
    "assistant": _of_assistant,
    "toolResult": _of_result,
    "system": _of_system,
    "developer": _of_developer,
    "custom": _of_custom,
    "hookMessage": _of_custom,
    "bashExecution": _of_command,
    "pythonExecution": _of_python,
    "fileMention": _of_files,
    "branchSummary": _of_branch,
    "compactionSummary": _of_compaction,
}


def _text_and_images(content: list[_Block] | str | None) -> list[TextPart | Image]:
    """Return the text and images of a content, without blank text, which providers refuse."""
    if isinstance(content, str):
        return _text_parts(content)
    parts: list[TextPart | Image] = []
    for block in content or ():
        if block.type == "text":
            parts += _text_parts(block.text)
        elif block.type == "image":
            parts.append(_image_of(block))
    return parts


def _of_block(block: _Block) -> list[Part]:
    """Return the part for a block of an assistant's content; none for an unknown block."""
    match block.type:
        case "text":
            return _signed_text(block)
        case "thinking" if block.redacted is True:
            data = _text(block.thinking_signature)
            return [] if data is None else [Thinking("", redacted=data)]
        case "thinking":
            thought = block.thinking if isinstance(block.thinking, str) else ""
            signature = _text(block.thinking_signature)
            return [] if _is_blank(thought) and signature is None else [Thinking(thought, signature)]
        case "redactedThinking":
            data = _text(block.data)
            return [] if data is None else [Thinking("", redacted=data)]
        case "image":
            return [_image_of(block)]
        case "toolCall":
            return [_call_of(block)]
    return []


def _signed_text(block: _Block) -> list[Part]:
    text = block.text
    return (
        [] if not isinstance(text, str) or _is_blank(text) else [TextPart(text, _text(block.text_signature))]
    )


def _call_of(block: _Block) -> Call:
    arguments, unparsed = block.arguments, _text(block.unparsed_arguments)
    text = b"null" if arguments is UNSET else bytes(arguments).strip()
    if not text.startswith(b"{"):
        # A JSON string that contains an object becomes that object. Another value except null becomes {"value": …}.
        inner = _object_in(text)
        arguments = inner if inner is not None else _NO_ARGUMENTS
        if inner is None and text != b"null":
            arguments = Raw(b'{"value":%b}' % text)
    assert arguments is not UNSET
    call_id, name = _text(block.id) or "", _text(block.name) or ""
    return Call(call_id, name, arguments, _text(block.thought_signature), unparsed)


def _object_in(text: bytes) -> Raw | None:
    if not text.startswith(b'"'):
        return None
    inner = msgspec.json.decode(text, type=str).strip().encode()
    return Raw(inner) if inner.startswith(b"{") and payloads.part(_fields, inner) is not None else None


def _image_of(block: _Block) -> TextPart | Image:
    url = image_url({"url": block.url, "source": block.source, "image": block.image})
    return _image(block.data, block.mime_type, url, block.detail) or TextPart(OMITTED_IMAGE)


def _image(data: object, media_type: object, url: object = None, detail: object = None) -> Image | None:
    """Return an image that a provider can read; None if it is neither base64 of a known type nor a link."""
    kind = media_type.lower() if isinstance(media_type, str) else None
    kind = kind if kind is not None and _media_type(kind) else None
    hint = detail if detail in ("auto", "low", "high", "original") else None
    if isinstance(data, str) and data and kind is not None and len(data) % 4 == 0 and _base64(data):
        return Image(kind, data, detail=hint)
    if isinstance(url, str) and _link(url):
        return Image(kind, url=url, detail=hint)
    return None


def _text_parts(text: object) -> list[TextPart | Image]:
    return [TextPart(text)] if isinstance(text, str) and not _is_blank(text) else []


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
