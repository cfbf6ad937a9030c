"""Converts one entry to a heading, a few facts and safe HTML.

Tool calls, results and thinking are folded (`details`). Images are shown only if their type cannot contain script.
"""

import re
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

from sessiond.export import markup
from sessiond.session.content import attachments, fields, preview

_IMAGE_TYPES: Final = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_BASE64: Final = re.compile(r"[A-Za-z0-9+/\s]*+={0,2}\s*+")
_SUMMARY_CHARACTERS: Final = 160
_MAX_INLINE_CHARACTERS: Final = 120
_MAX_ID_CHARACTERS: Final = 256
"""Characters of the id of a tool call. A longer one connects nothing."""
_EDIT_ARGUMENTS: Final = (("oldText", "newText"), ("old_string", "new_string"), ("old_text", "new_text"))
"""Names that tools use for the text that an edit removes, and for the text that it inserts."""


@dataclass(frozen=True, slots=True)
class Body:
    """The displayed form of one entry. An entry without `html` is one line between others."""

    heading: str
    html: str = ""
    facts: list[str] = field(default_factory=list)
    call_ids: list[str] = field(default_factory=list)
    """The ids of the tool calls in `html`, in order; empty for a call without an id."""
    result_of: str | None = None
    """The id of the tool call that a result answers."""


def body_of(entry: dict[str, Any]) -> Body:
    """Return the displayed form of an entry."""
    match fields.type_of(entry):
        case "message":
            return _message_body(fields.mapping(entry.get("message")))
        case "custom_message":
            return Body(_short(entry.get("customType")) or "Note", _content_html(entry.get("content")))
        case "compaction":
            before = fields.number(entry.get("tokensBefore"))
            facts = [f"replaces {before:,.0f} tokens"] if before else []
            return Body("Compaction", _summary_html(entry), facts)
        case "branch_summary":
            return Body("Summary of an abandoned branch", _summary_html(entry))
        case "custom" if (attached := attachments.attachment_of(entry)) is not None:
            facts = [f"{attached.size_bytes:,} bytes"]
            text = "" if attached.head is None else markup.plain(attached.head)
            html = _folded("result", _output_summary(attached.name), text) if text else ""
            return Body("File beside the transcript", html, facts)
        case "custom":
            return Body(_short(entry.get("customType")) or "Custom", _data_html(entry.get("data")))
    heading = fields.type_of(entry).replace("_", " ").capitalize() or "Entry"
    return Body(heading, "" if preview.text_of(entry) else _data_html(fields.payload_of(entry)))


def attached_html(entry: dict[str, Any]) -> str:
    """Return the beginning of a file that the agent wrote beside an entry, folded; empty for a file without text."""
    attached = attachments.attachment_of(entry)
    if attached is None or not attached.head:
        return ""
    text = attached.head[: attachments.SHOWN_CHARS]
    html = markup.plain(text)
    if len(text.encode("utf-8", "replace")) < attached.size_bytes:
        html += f"<p class=odd>The beginning of {attached.size_bytes:,} bytes.</p>"
    return _folded("result", f"{escape(attached.title)}, {attached.size_bytes:,} bytes", html)


def _message_body(message: dict[str, Any]) -> Body:
    role = fields.as_text(message.get("role"))
    match role:
        case "user" | "system" | "developer" | "custom":
            return Body(role.capitalize(), _content_html(message.get("content")))
        case "assistant":
            return _assistant_body(message)
        case "toolResult":
            return _tool_result_body(message)
        case "bashExecution" | "pythonExecution":
            return _execution_body(message, "bash" if role == "bashExecution" else "python")
        case "branchSummary" | "compactionSummary":
            return Body("Summary", _summary_html(message))
    rest = fields.without(message, "role", "content", "timestamp")
    return Body(_short(role) or "Message", _content_html(message.get("content")) + _data_html(rest))


def _assistant_body(message: dict[str, Any]) -> Body:
    facts = [_short(message.get("model"))]
    usage = fields.mapping(message.get("usage"))
    for name, word in (("input", "in"), ("cacheRead", "cached"), ("output", "out")):
        if (count := fields.number(usage.get(name))) > 0:
            facts.append(f"{count:,.0f} {word}")
    if (cost := fields.number(fields.mapping(usage.get("cost")).get("total"))) > 0:
        facts.append(f"${cost:.4f}")
    stopped = fields.text(message.get("stopReason"))
    if stopped not in (None, "stop", "toolUse"):
        facts.append(_short(stopped))
    blocks = _blocks(message.get("content"))
    html = "".join(map(_block_html, blocks))
    if error := fields.text(message.get("errorMessage")):
        html += f"<div class=failed>{markup.plain(error)}</div>"
    call_ids = [_call_id(block.get("id")) for block in blocks if block.get("type") == "toolCall"]
    return Body("Assistant", html, [fact for fact in facts if fact], call_ids)


def _tool_result_body(message: dict[str, Any]) -> Body:
    tool, failed = _short(message.get("toolName")) or "a tool", message.get("isError") is True
    content = message.get("content")
    summary = preview.one_line(preview.text_of_content(content), _SUMMARY_CHARACTERS)
    blocks = _blocks(content)
    content_html = "".join(_result_block_html(block) for block in blocks)
    html = _folded("result failed" if failed else "result", _output_summary(summary), content_html)
    facts = ["failed"] if failed else []
    if lines := sum(_line_count(fields.as_text(block.get("text"))) for block in blocks):
        facts.append(f"{lines:,} line{'' if lines == 1 else 's'}")
    return Body(f"Result of {tool}", html, facts, result_of=_call_id(message.get("toolCallId")) or None)


def _result_block_html(block: dict[str, Any]) -> str:
    if block.get("type") == "text":
        return markup.plain(fields.as_text(block.get("text")))
    return _block_html(block)


def _line_count(text: str) -> int:
    text = text.rstrip("\n")
    return text.count("\n") + 1 if text else 0


def _call_id(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= _MAX_ID_CHARACTERS else ""


def _execution_body(message: dict[str, Any], language: str) -> Body:
    text = fields.as_text(message.get("command")) or fields.as_text(message.get("code"))
    status = message.get("exitCode")
    facts = [] if status in (None, 0) else [f"exit status {_short(fields.as_text(status))}"]
    content_html = markup.plain(fields.as_text(message.get("output")))
    output = preview.one_line(fields.as_text(message.get("output")), _SUMMARY_CHARACTERS)
    return Body(
        "Command",
        markup.code(text, language) + _folded("result", _output_summary(output), content_html),
        facts,
    )


def _output_summary(text: str) -> str:
    return f"<code>{escape(text)}</code>" if text else "Nothing"


def _summary_html(value: dict[str, Any]) -> str:
    return markup.markdown(fields.as_text(value.get("summary")))


def _content_html(content: Any) -> str:
    return "".join(_block_html(block) for block in _blocks(content))


def _blocks(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        {"type": "text", "text": block} if isinstance(block, str) else fields.mapping(block)
        for block in fields.items(content)
    ]


def _block_html(block: dict[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return markup.markdown(fields.as_text(block.get("text")))
        case "thinking":
            text = fields.text(block.get("thinking"))
            return "" if text is None else _folded("thinking", "Thinking", markup.markdown(text))
        case "toolCall":
            return _tool_call_html(fields.as_text(block.get("name")), fields.mapping(block.get("arguments")))
        case "image":
            return _image_html(block)
    return f"<p class=odd>A block of type {escape(_short(block.get('type')) or 'unknown')}</p>{_data_html(block)}"


def _tool_call_html(tool: str, arguments: dict[str, Any]) -> str:
    description = preview.one_line(
        preview.text_of_content([{"type": "toolCall", "arguments": arguments}])[9:], _SUMMARY_CHARACTERS
    )
    summary = f"<b>{escape(_short(tool) or 'tool')}</b> <code>{escape(description)}</code>"
    file = next(
        (text for name in ("path", "file_path", "filePath") if (text := fields.text(arguments.get(name)))),
        None,
    )
    parts: list[str] = []
    for name, value in arguments.items():
        if not any(name == new and old in arguments for old, new in _EDIT_ARGUMENTS):
            parts.append(_argument_html(name, value, arguments, file))
    return _folded("call", summary, f"<dl>{''.join(parts)}</dl>" if parts else "<p>No arguments.</p>")


def _argument_html(name: str, value: Any, arguments: dict[str, Any], file: str | None) -> str:
    after = next((arguments[new] for old, new in _EDIT_ARGUMENTS if name == old and new in arguments), None)
    if after is not None:
        name, value_html = "change", _edit_html(fields.as_text(value), fields.as_text(after))
    elif not isinstance(value, str):
        value_html = markup.code(fields.dumps(value).decode(), "json")
    elif "\n" not in value and len(value) <= _MAX_INLINE_CHARACTERS and name != "command":
        value_html = f"<code>{escape(preview.clean(value))}</code>"
    else:
        value_html = markup.code(
            value, "bash" if name == "command" else None, file=file if name == "content" else None
        )
    return f"<dt>{escape(_short(name))}</dt><dd>{value_html}</dd>"


def _edit_html(before: str, after: str) -> str:
    def lines(text: str, tag: str, sign: str) -> str:
        return (
            "".join(f"<{tag}>{sign} {escape(line)}</{tag}>\n" for line in preview.clean(text).split("\n"))
            if text
            else ""
        )

    return f"<pre class=change>{lines(before, 'del', '-')}{lines(after, 'ins', '+')}</pre>"


def _image_html(block: dict[str, Any]) -> str:
    source = fields.mapping(block.get("source"))
    kind = fields.first(block, "mimeType", "media_type") or source.get("media_type")
    data = fields.first(block, "data") or source.get("data")
    if kind in _IMAGE_TYPES and isinstance(data, str) and data and _BASE64.fullmatch(data):
        return f'<img alt="A picture ({kind})" loading=lazy src="data:{kind};base64,{"".join(data.split())}">'
    return (
        f"<p class=odd>A picture that cannot be displayed ({escape(_short(kind) or 'of unknown type')})</p>"
    )


def _data_html(value: Any) -> str:
    if not value:
        return ""
    return _folded("data", "Data", markup.code(fields.dumps(value).decode(), "json"))


def _folded(kind: str, summary: str, content_html: str) -> str:
    return f'<details class="{kind}"><summary>{summary}</summary>{content_html}</details>'


def _short(value: object) -> str:
    return preview.one_line(value, 80) if isinstance(value, str) else ""
