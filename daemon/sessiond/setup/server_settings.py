"""One MCP server in a settings file of an agent: `{CONTAINER: {"sessiond": {…}}}`.

The text is edited where the member stands; comments, order, layout and unknown keys are unchanged.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from sessiond.error_text import TemplatedError
from sessiond.setup import json_edit
from sessiond.setup.hook_settings import UnexpectedSettingsError
from sessiond.setup.json_tree import parse

if TYPE_CHECKING:
    from sessiond.setup.json_tree import JsonNode

NAME: Final = "sessiond"
_BLANK: Final = " \t\r\n\ufeff"


class OccupiedServerError(TemplatedError):
    """Raised when another MCP server has the name of sessiond's."""

    sentence = "{container} has another server that is named sessiond"

    def __init__(self, container: str) -> None:
        super().__init__(container=container)


def with_server(text: str, container: str, server: dict[str, Any]) -> str:
    """Return the settings with the server; the same text if it has it. A server of an earlier setup is replaced.

    Raises:
        InvalidJsonError: The text is not JSON.
        UnexpectedSettingsError: The settings, or the container, are not objects.
        OccupiedServerError: Another server has the name.
    """
    if not text.strip(_BLANK):
        start = text[:1] if text.startswith("\ufeff") else ""
        return start + json_edit.document({container: {NAME: server}}, json_edit.line_end(text))
    root = _checked(text, container)
    servers = root.get(container)
    if servers is None:
        return json_edit.added(text, root, (), {NAME: server}, container)
    found = servers.get(NAME)
    if found is not None:
        if found.plain() == server:
            return text
        if not is_own(found.plain()):
            raise OccupiedServerError(container)
        text = json_edit.removed(text, servers, _place(servers, NAME))
        root = parse(text)
    return json_edit.added(text, root, (container,), server, NAME)


def without_server(text: str, original: str, container: str) -> str:
    """Return the settings without the server, and without the container if the original had none and it is empty.

    Args:
        text: The present settings.
        original: The settings before the server was added; "" if there was no file.
        container: The name of the object with the servers.

    Raises:
        InvalidJsonError: The text is not JSON.
        UnexpectedSettingsError: The settings have another shape.
    """
    if not text.strip(_BLANK):
        return text
    before = parse(original) if original.strip(_BLANK) else None
    root = _checked(text, container)
    servers = root.get(container)
    found = None if servers is None else servers.get(NAME)
    if servers is None or found is None or not is_own(found.plain()):
        return text
    servers_before = None if before is None else before.get(container)
    if len(servers.children or ()) > 1 or servers_before is not None:
        return json_edit.removed(text, servers, _place(servers, NAME), _inner(original, servers_before))
    text = json_edit.removed(text, root, _place(root, container), _inner(original, before))
    root = parse(text)
    if before is None and not root.children and not json_edit.has_comments(text, root):
        return original
    return text


def is_own(server: Any) -> bool:
    """Return whether a description of a server runs `sessiond mcp`."""
    if not isinstance(server, dict):
        return False
    command, arguments = server.get("command"), server.get("args", [])
    words = (
        command if isinstance(command, list) else [command, *arguments] if isinstance(arguments, list) else []
    )
    names = [os.path.basename(word) if isinstance(word, str) else "" for word in words]  # noqa: PTH119
    return names[-1:] == ["mcp"] and "sessiond" in names[:-1]


def _checked(text: str, container: str) -> JsonNode:
    root = parse(text)
    if not root.is_object():
        raise UnexpectedSettingsError("the document", "an object")
    servers = root.get(container)
    if servers is not None and not servers.is_object():
        raise UnexpectedSettingsError(container, "an object")
    return root


def _place(node: JsonNode, key: str) -> int:
    place = node.member(key)
    assert place is not None
    return place


def _inner(original: str, container: JsonNode | None) -> str:
    """Return the text that an empty container had in it before; "" for a container that is not empty."""
    if container is None or container.children:
        return ""
    return original[container.start + 1 : container.end - 1]
