"""Hooks in a settings file of an agent: `{"hooks": {EVENT: [{"hooks": [{"type": "command", "command": …}]}]}}`.

Claude Code, Codex, Gemini CLI and Qwen Code share this shape. The text is edited where the hooks stand; comments,
order, layout and unknown keys are unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sessiond.error_text import TemplatedError
from sessiond.setup import json_edit
from sessiond.setup.json_tree import JsonNode, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

_HOOKS: Final = "hooks"
_BLANK: Final = " \t\r\n\ufeff"


class UnexpectedSettingsError(TemplatedError):
    """Raised when a value of a settings file has another type than its agent expects."""

    sentence = "{place} is not {expected}"

    def __init__(self, place: str, expected: str) -> None:
        super().__init__(place=place, expected=expected)


def with_hooks(text: str, events: Iterable[str], command: str) -> str:
    """Return the settings with one hook for each event; the same text if it has them.

    Raises:
        InvalidJsonError: The text is not JSON.
        UnexpectedSettingsError: The settings, or their hooks, are not objects and arrays as the agent expects them.
    """
    group = {_HOOKS: [{"type": "command", "command": command}]}
    if not text.strip(_BLANK):
        end = json_edit.line_end(text)
        start = text[:1] if text.startswith("\ufeff") else ""
        return start + json_edit.document({_HOOKS: {event: [group] for event in events}}, end)
    root = _checked(text)
    missing = [event for event in events if not any(True for _ in _handlers(root, event, command))]
    if missing and root.get(_HOOKS) is None:
        return json_edit.added(text, root, (), {event: [group] for event in missing}, _HOOKS)
    for event in missing:
        root = parse(text)
        if json_edit.at_path(root, (_HOOKS, event)) is None:
            text = json_edit.added(text, root, (_HOOKS,), [group], event)
        else:
            text = json_edit.added(text, root, (_HOOKS, event), group)
    return text


def without_hooks(text: str, original: str, command: str) -> str:
    """Return the settings without the hooks of a command, and without what they were put into and is empty now.

    Args:
        text: The present settings.
        original: The settings before the hooks were added; "" if there was no file.
        command: The command of the hooks.

    Raises:
        InvalidJsonError: The text is not JSON.
        UnexpectedSettingsError: The settings have another shape.
    """
    if not text.strip(_BLANK):
        return text
    before = parse(original) if original.strip(_BLANK) else None
    while (shorter := _one_less(text, before, original, command)) is not None:
        text = shorter
    if before is None and not (root := parse(text)).children and not json_edit.has_comments(text, root):
        return original
    return text


def has_hooks(text: str, command: str) -> bool:
    """Return whether any hook of the command is in the settings. Raises `InvalidJsonError`."""
    if not text.strip(_BLANK):
        return False
    return any(True for _ in _handlers(_checked(text), None, command))


def _one_less(text: str, before: JsonNode | None, original: str, command: str) -> str | None:
    """Return the text without one hook of the command, or without one empty container that came with it."""
    root = _checked(text)
    for event, groups, place, handlers, at in _handlers(root, None, command):
        if handlers.children is not None and len(handlers.children) > 1:
            return json_edit.removed(text, handlers, at)
        hooks = root.get(_HOOKS)
        assert hooks is not None
        if len(groups.children or ()) > 1 or _of(before, event) is not None:
            return json_edit.removed(text, groups, place, _inner(original, _of(before, event)))
        if len(hooks.children or ()) > 1 or _of(before) is not None:
            return json_edit.removed(text, hooks, _member(hooks, event), _inner(original, _of(before)))
        return json_edit.removed(text, root, _member(root, _HOOKS), _inner(original, before))
    return None


def _checked(text: str) -> JsonNode:
    root = parse(text)
    if not root.is_object():
        raise UnexpectedSettingsError("the document", "an object")
    hooks = root.get(_HOOKS)
    if hooks is not None and not hooks.is_object():
        raise UnexpectedSettingsError("hooks", "an object")
    for key, child in zip(hooks.keys or (), hooks.children or (), strict=True) if hooks else ():
        if not child.is_array():
            raise UnexpectedSettingsError(f"hooks.{key[0]:.80}", "an array")
    return root


def _handlers(
    root: JsonNode, event: str | None, command: str
) -> Iterable[tuple[str, JsonNode, int, JsonNode, int]]:
    """Yield each hook of the command: its event, the groups, the place of its group, the hooks of that, its place."""
    hooks = root.get(_HOOKS)
    for key, _ in (hooks.keys or ()) if hooks is not None else ():
        groups = hooks.get(key) if hooks is not None and event in (None, key) else None
        for place, group in enumerate((groups.children or ()) if groups is not None else ()):
            handlers = group.get(_HOOKS) if group.is_object() else None
            for at, handler in enumerate((handlers.children or ()) if handlers is not None else ()):
                if handler.is_object() and _is_own(handler, command):
                    assert groups is not None
                    assert handlers is not None
                    yield key, groups, place, handlers, at


def _is_own(handler: JsonNode, command: str) -> bool:
    found = handler.get("command")
    return found is not None and found.value == command


def _member(node: JsonNode, key: str) -> int:
    place = node.member(key)
    assert place is not None
    return place


def _of(before: JsonNode | None, event: str | None = None) -> JsonNode | None:
    """Return the hooks, or those of one event, as they were before."""
    if before is None:
        return None
    return json_edit.at_path(before, (_HOOKS,) if event is None else (_HOOKS, event))


def _inner(original: str, container: JsonNode | None) -> str:
    """Return the text that an empty container had in it before; "" for a container that is not empty."""
    if container is None or container.children:
        return ""
    return original[container.start + 1 : container.end - 1]


def plain(text: str) -> Any:
    """Return the settings as Python has them; an empty object for an empty file. Raises `InvalidJsonError`."""
    return parse(text).plain() if text.strip(_BLANK) else {}
