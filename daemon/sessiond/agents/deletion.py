"""The rules by which agents delete their own sessions, as their settings have them.

The module is imported by rows, so it and what it imports at the top import only the standard library. Settings are only
read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from sessiond.agents import regular_files

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_SETTINGS: Final = 4 * 1024 * 1024
"""Limit of the bytes of a settings file. One that is longer is not read."""


@dataclass(frozen=True, slots=True)
class DeletionRule:
    """The rule by which an agent deletes its own sessions without being asked.

    Attributes:
        max_age_days: It deletes files that were not changed for this many days; None if it deletes none by age.
        max_count: It deletes all but this many of the newest files of a folder; None if it deletes none by number.
        settings: The settings file that says so; None if none does, and these are the agent's defaults.
        remark: Sentences about what a person would not expect; may be empty.
    """

    max_age_days: float | None = None
    max_count: int | None = None
    settings: str | None = None
    remark: str = ""

    @property
    def deletes(self) -> bool:
        """Whether it deletes anything."""
        return self.max_age_days is not None or self.max_count is not None


@dataclass(frozen=True, slots=True)
class Setting:
    """The value of a setting, and the file that has it."""

    value: Any
    path: str


def setting(paths: Sequence[str], *names: str) -> Setting | None:
    """Return a setting from the last of these files that has it; None if none has it. Blocks.

    Args:
        paths: JSON files with comments, in ascending order of precedence. One that is missing or not valid has nothing.
        names: The names of the members that lead to the setting.
    """
    for path in reversed(paths):
        value: Any = _read(path)
        for name in names:
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            return Setting(value, path)
    return None


def _read(path: str) -> object:
    from sessiond.agents import json_comments

    try:
        return json_comments.decoded(regular_files.content(path, _MAX_SETTINGS))
    except (OSError, ValueError):
        return None
