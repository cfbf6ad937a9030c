"""What search and recall print alike of an entry that they found: agent and folder of its session, and the command."""

from __future__ import annotations

import os

from sessiond import human
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.render.style import Style


def agent_of(found: dict[str, Any], style: Style) -> list[str]:
    """Return the short name of the agent that made the session; nothing if the session began here."""
    if not (origin := found.get("origin")):
        return []
    from sessiond.agents import names

    return [style(one_line(names.short_name_of(origin["agent"])), "cyan")]


def folder_of(found: dict[str, Any], style: Style) -> str:
    """Return the folder of the session."""
    return style(one_line(human.folder(found["cwd"], os.path.expanduser("~"))), "blue")  # noqa: PTH111 - as in sessions


def show_command(session_id: str, entry_id: str | None) -> str:
    """Return the command that shows an entry, or its session if it has no id."""
    command = f"sessiond show {one_line(session_id)}"
    return f"{command} --entry {one_line(entry_id)}" if entry_id else command
