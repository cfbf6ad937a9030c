"""The rule by which Gemini CLI deletes sessions: they are too old or too many by `general.sessionRetention`."""

import re
import sys
from typing import Any, Final

from sessiond.agents.agent import Environ
from sessiond.agents.deletion import DeletionRule, setting
from sessiond.agents.places import home, named

_DAYS: Final = {"h": 1 / 24, "d": 1.0, "w": 7.0, "m": 30.0}
_PERIOD: Final = re.compile(r"([0-9]{1,9})([hdwm])")
_DEFAULT: Final = "30d"
_DEFAULT_MINIMUM: Final = "1d"
_SYSTEM: Final = "/Library/Application Support/GeminiCli" if sys.platform == "darwin" else "/etc/gemini-cli"
_REMARK: Final = (
    "It does so when it starts in a project, for the sessions of that project, with their tool outputs. It also deletes"
    " session files that it cannot read, of any age."
)
_REFUSED: Final = "general.sessionRetention is not valid, so it deletes nothing."


def deletion(environ: Environ) -> DeletionRule:
    """Return the rule of Gemini CLI. Blocks."""
    above = (named(environ, "GEMINI_CLI_HOME") or home(environ)) + "/.gemini"
    paths = [
        f"{_SYSTEM}/system-defaults.json",
        f"{above}/settings.json",
        named(environ, "GEMINI_CLI_SYSTEM_SETTINGS_PATH") or f"{_SYSTEM}/settings.json",
    ]
    values: dict[str, Any] = {
        "enabled": True,
        "maxAge": _DEFAULT,
        "minRetention": _DEFAULT_MINIMUM,
        "maxCount": None,
    }
    source: str | None = None
    for name in values:
        if (found := setting(paths, "general", "sessionRetention", name)) is not None:
            values[name], source = found.value, found.path
    if not values["enabled"]:
        return DeletionRule(settings=source)
    days = _days(values["maxAge"])
    least = _days(values["minRetention"]) or _days(_DEFAULT_MINIMUM) or 0
    count = values["maxCount"]
    is_count = isinstance(count, int) and not isinstance(count, bool) and count >= 1
    if days is None or days < least or not (count is None or is_count):
        return DeletionRule(settings=source, remark=_REFUSED)
    return DeletionRule(days, count, settings=source, remark=_REMARK)


def _days(period: object) -> float | None:
    """Return the days of a period such as `30d` or `12h`; None for one that is not valid."""
    found = _PERIOD.fullmatch(period) if isinstance(period, str) else None
    if found is None or not int(found[1]):
        return None
    return int(found[1]) * _DAYS[found[2]]
