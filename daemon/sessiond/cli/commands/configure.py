"""The command configure: when a session is compacted automatically, and how much of it stays."""

from __future__ import annotations

import sys

from sessiond import human
from sessiond.cli.commands.compact import chosen_settings
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id_to_write
from sessiond.cli.render.columns import aligned
from sessiond.cli.render.style import style_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments

_ENABLED = {"on": True, "off": False}


def configure(args: ParsedArguments) -> int:
    """Send `session/configure`."""
    params: dict[str, Any] = {}
    choice: dict[str, Any] = chosen_settings(args)
    when = args.value("auto-compact")
    if when == "default":
        if choice:
            raise UsageError("--auto-compact default cannot be combined with other settings")
        params["autoCompact"] = None
    elif when is not None:
        if when not in _ENABLED:
            raise UsageError(f"--auto-compact takes on, off or default, not {when!r}")
        choice["enabled"] = _ENABLED[when]
    if choice:
        params["autoCompact"] = choice
    with connect(args) as daemon:
        params["sessionId"] = session_id_to_write(daemon, args)
        if args.flag("json"):
            print(daemon.call_text("session/configure", params))
            return 0
        settings = daemon.call("session/configure", params)["autoCompact"]
    print(*_shown(settings), sep="\n")
    return 0


def _shown(settings: dict[str, Any]) -> list[str]:
    window, reserve = settings["contextWindow"], settings["reserveTokens"]
    room = f"a window of {window:,} minus {reserve:,} for the response"
    rows = [
        ("auto-compact", "on" if settings["enabled"] else "off"),
        ("full above", f"{max(window - reserve, 0):,} tokens: {room}"),
        ("then keep", f"about {human.count(settings['keepRecentTokens'], 'token')} of the newest entries"),
    ]
    return list(aligned(rows, style_for(sys.stdout), ["dim"]))
