"""The compaction settings of a session: from the request, the session or the configuration, in this order."""

from typing import Any, Final

import msgspec

from sessiond import config
from sessiond.hub.errors import IncompatibleParams
from sessiond.protocol import types as t
from sessiond.session.tree.tree import Tree

_FIELDS: Final = t.CompactionChoice.__struct_fields__


def in_force(
    configured: config.CompactionConfig, tree: Tree, choice: t.CompactionChoice | None = None
) -> t.CompactionSettings:
    """Return the settings for a session.

    Args:
        configured: The settings of the configuration.
        tree: The session, whose own settings take precedence over the configuration.
        choice: The settings of a request, which take precedence over both.

    Raises:
        IncompatibleParams: `reserveTokens` and `keepRecentTokens` together fill the context window.
    """
    chosen = {name: getattr(configured, name) for name in _FIELDS}
    for source in (chosen_by(tree), choice or t.CompactionChoice()):
        chosen |= {name: value for name in _FIELDS if (value := getattr(source, name)) is not None}
    settings = t.CompactionSettings(**chosen)
    if settings.reserve_tokens + settings.keep_recent_tokens >= settings.context_window:
        raise IncompatibleParams(
            f"reserveTokens ({settings.reserve_tokens:,}) and keepRecentTokens "
            f"({settings.keep_recent_tokens:,}) fill the whole contextWindow ({settings.context_window:,})"
        )
    return settings


def with_choice(
    configured: config.CompactionConfig, tree: Tree, choice: t.CompactionChoice | None
) -> t.CompactionChoice | None:
    """Return a session's own settings after `choice` is applied. If `choice` is None, all are removed: None.

    Raises `IncompatibleParams` as `in_force`.
    """
    if choice is None:
        return None
    in_force(configured, tree, choice)
    current = chosen_by(tree)
    chosen = {
        name: getattr(choice, name) if getattr(choice, name) is not None else getattr(current, name)
        for name in _FIELDS
    }
    return t.CompactionChoice(**chosen)


def chosen_by(tree: Tree) -> t.CompactionChoice:
    """Return a session's own settings. Invalid values, which another program may have written, are ignored."""
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(t.CompactionChoice):
        value = (tree.auto_compact or {}).get(field.encode_name)
        try:
            values[field.name] = msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            continue
    return t.CompactionChoice(**values)


def enabled(configured: config.CompactionConfig, tree: Tree) -> bool:
    """Return whether automatic compaction is enabled for a session. Takes constant time, for use after each append."""
    chosen = tree.auto_compact
    if chosen is None:
        return configured.enabled
    is_enabled = chosen.get("enabled")
    return is_enabled if isinstance(is_enabled, bool) else configured.enabled
