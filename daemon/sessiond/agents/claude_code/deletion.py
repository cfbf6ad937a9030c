"""The rule by which Claude Code deletes transcripts: their files were not changed for `cleanupPeriodDays`."""

import sys
from typing import Final

from sessiond.agents.agent import Environ
from sessiond.agents.deletion import DeletionRule, setting
from sessiond.agents.places import moved

_DEFAULT_DAYS: Final = 30
_MANAGED: Final = (
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "/etc/claude-code/managed-settings.json"
)
_REMARK: Final = (
    "It does so when it starts. A project's own .claude/settings.json may set another period, which counts for the"
    " sessions of all projects. Users report versions that deleted after 30 days in spite of the setting."
)
_REFUSED: Final = (
    "cleanupPeriodDays must be an integer of at least 1: Claude Code 2.1.332 refuses other values and deletes nothing"
    " then; with 0, earlier versions wrote no transcripts."
)


def deletion(environ: Environ) -> DeletionRule:
    """Return the rule of Claude Code. Blocks."""
    found = setting(
        [moved(environ, "CLAUDE_CONFIG_DIR", ".claude") + "/settings.json", _MANAGED], "cleanupPeriodDays"
    )
    if found is None:
        return DeletionRule(_DEFAULT_DAYS, remark=_REMARK)
    days = found.value
    if isinstance(days, bool) or not isinstance(days, int | float) or days < 1 or days != int(days):
        # It may be a version that deletes after the default period: expect the worse.
        return DeletionRule(_DEFAULT_DAYS, settings=found.path, remark=_REFUSED)
    return DeletionRule(days, settings=found.path, remark=_REMARK)
