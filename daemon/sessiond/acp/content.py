"""Converts content blocks of ACP to blocks of messages, and back."""

import re
from typing import Any, Final

from sessiond.session.content import fields

Json = dict[str, Any]

_is_tool_name = re.compile(r"[A-Za-z0-9_-]{1,64}").fullmatch
MAX_DIFF: Final = 200_000
"""Characters of each side of a diff that its text shows; the tool's own result is stored whole beside it."""


def block_of(content: Any) -> Json | None:
    """Return a content block of ACP as a block of a message; None for an empty text."""
    found = fields.mapping(content)
    match found.get("type"):
        case "text":
            text = fields.as_text(found.get("text"))
            return {"type": "text", "text": text} if text else None
        case "image" if fields.text(found.get("data")):
            mime = fields.text(found.get("mimeType")) or "image/png"
            return {"type": "image", "data": found["data"], "mimeType": mime}
        case "resource_link":
            name = fields.text(found.get("name")) or fields.as_text(found.get("uri"))
            return {"type": "text", "text": f"[{name}]({fields.as_text(found.get('uri'))})"}
        case "resource":
            resource = fields.mapping(found.get("resource"))
            uri = fields.as_text(resource.get("uri"))
            return {"type": "text", "text": f"{uri}\n{fields.as_text(resource.get('text'))}".strip()}
        case kind:
            return {"type": "text", "text": f"[{fields.as_text(kind) or 'unknown content'}]"}


def blocks_of(content: Any) -> list[Json]:
    """Return content blocks of ACP as blocks of a message."""
    return [block for part in fields.items(content) if (block := block_of(part)) is not None]


def is_plain(content: Any) -> bool:
    """Return whether blocks of a message hold all that content blocks of ACP hold."""
    return all(fields.mapping(block).get("type") in ("text", "image") for block in fields.items(content))


def acp_block(block: Json) -> Json | None:
    """Return a block of a message as a content block of ACP; None if it has no counterpart."""
    match block.get("type"):
        case "text":
            return {"type": "text", "text": fields.as_text(block.get("text"))}
        case "image" if fields.text(block.get("data")):
            return {
                "type": "image", "data": block["data"],
                "mimeType": fields.text(block.get("mimeType")) or "image/png",
            }  # fmt: skip
    return None


def result_blocks(content: Any, raw_output: Any) -> list[Json]:
    """Return the result of a tool call as blocks of a message.

    Args:
        content: The member `content` of the call: contents, diffs and terminals.
        raw_output: The member `rawOutput`, which is used if there is no content.
    """
    found: list[Json] = []
    for item in fields.items(content):
        part = fields.mapping(item)
        match part.get("type"):
            case "content":
                if (block := block_of(part.get("content"))) is not None:
                    found.append(block)
            case "diff":
                found.append({"type": "text", "text": _diff(part)})
            case "terminal":
                found.append({"type": "text", "text": f"[terminal {fields.as_text(part.get('terminalId'))}]"})
    if not found and raw_output is not None:
        text = raw_output if isinstance(raw_output, str) else fields.dumps(raw_output).decode()
        found.append({"type": "text", "text": text})
    return found


def _diff(part: Json) -> str:
    old, new = fields.text(part.get("oldText")), fields.as_text(part.get("newText"))
    lines = [f"--- {fields.as_text(part.get('path'))}"]
    lines += [f"-{line}" for line in (old or "")[:MAX_DIFF].splitlines()]
    lines += [f"+{line}" for line in new[:MAX_DIFF].splitlines()]
    return "\n".join(lines)


def tool_name(call: Json) -> str:
    """Return the name of the tool of a call: the agent's own name if the call has one, else the title or the kind."""
    meta = fields.mapping(call.get("_meta"))
    own = fields.text(fields.mapping(meta.get("claudeCode")).get("toolName"))
    for name in (own, fields.text(call.get("title")), fields.text(call.get("kind"))):
        if name and _is_tool_name(name):
            return name
    return "tool"
