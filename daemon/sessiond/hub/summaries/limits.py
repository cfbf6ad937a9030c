"""When a session counts as full: what a request chooses, else the session itself, else the configuration."""

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
    """The settings for a session. Raises `IncompatibleParams` when they leave no room to compact anything."""
    chosen = {name: getattr(configured, name) for name in _FIELDS}
    for choosing in (chosen_by(tree), choice or t.CompactionChoice()):
        chosen |= {name: value for name in _FIELDS if (value := getattr(choosing, name)) is not None}
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
    """What a session has chosen once it also chooses this; null chooses nothing any more.

    Raises `IncompatibleParams` as `in_force`.
    """
    if choice is None:
        return None
    in_force(configured, tree, choice)
    before = chosen_by(tree)
    chosen = {
        name: getattr(choice, name) if getattr(choice, name) is not None else getattr(before, name)
        for name in _FIELDS
    }
    return t.CompactionChoice(**chosen)


def chosen_by(tree: Tree) -> t.CompactionChoice:
    """What a session has chosen. Another program may have written it: what is no choice, chooses nothing."""
    found: dict[str, Any] = {}
    for field in msgspec.structs.fields(t.CompactionChoice):
        value = (tree.auto_compact or {}).get(field.encode_name)
        try:
            found[field.name] = msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            continue
    return t.CompactionChoice(**found)


def enabled(configured: config.CompactionConfig, tree: Tree) -> bool:
    """Whether the daemon looks after a session by itself. Cheap enough to ask after every append."""
    chosen = tree.auto_compact
    if chosen is None:
        return configured.enabled
    wanted = chosen.get("enabled")
    return wanted if isinstance(wanted, bool) else configured.enabled
