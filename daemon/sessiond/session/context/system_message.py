"""Computes the system message in force: each system message of a context is a change, and the changes add up.

Texts are concatenated. Sections and tools are set or removed by name, as in pi (decision 0015).
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw

from sessiond.session.tree import lines, payloads


class SystemChange(msgspec.Struct, rename="camel"):
    """The members of a system message. Their types are not checked."""

    role: Any = None
    content: Any = None
    sections: Any = None
    tools_added: Any = None
    tools_removed: Any = None
    timestamp: Any = None


_change = msgspec.json.Decoder(SystemChange)


def in_force(messages: Iterable[bytes | Raw]) -> Raw | None:
    """Combine system messages, oldest first, into one; return None if there are none."""
    changes = [change for message in messages if (change := payloads.part(_change, message)) is not None]
    if not changes:
        return None
    sections: dict[str, object] = {}
    tools: dict[object, object] = {}
    for change in changes:
        for name, section in (change.sections if isinstance(change.sections, dict) else {}).items():
            if section is None:
                sections.pop(name, None)
            else:
                sections[name] = section
        for name in _names(change.tools_removed):
            tools.pop(name, None)
        for tool in change.tools_added if isinstance(change.tools_added, list) else ():
            for name in _names([tool]):
                tools[name] = tool
    message: dict[str, object] = {
        "role": "system",
        "content": "\n\n".join(filter(None, (_text(change.content) for change in changes))),
    }
    if sections:
        message["sections"] = sections
    if tools:
        message["toolsAdded"] = list(tools.values())
    message["timestamp"] = changes[0].timestamp
    return Raw(lines.dumps(message))


def _names(tools: object) -> list[str]:
    objects = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return [tool["name"] for tool in objects if isinstance(tool.get("name"), str)]


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
