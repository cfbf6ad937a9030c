"""Lets the user choose a session on the terminal, for a command that names none."""

from __future__ import annotations

import sys
import time

from sessiond import human
from sessiond.cli.render.style import style_for
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sessiond.client.blocking import BlockingDaemon

_LISTED = 20
"""Sessions in a list that is not on the whole screen."""


def can_ask() -> bool:
    """Return whether a user can be asked: standard input and standard error are a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()


def choose(listed: Callable[[str], Sequence[dict[str, Any]]], purpose: str) -> str | None:
    """Return the id of the session that the user chooses; None if there is no session.

    The list is on the whole screen, and can be searched. If standard output is not a terminal, or the terminal cannot
    move its cursor, it is a numbered list on standard error.

    Args:
        listed: Returns the sessions that match some words, newest first: `sessionId`, `title`, `firstPrompt`, `cwd`
            and `updatedAt` of each, as in `session/list`.
        purpose: The verb that the session is chosen for, such as "resume".

    Raises:
        KeyboardInterrupt: The user chose none.
    """
    sessions = listed("")
    if not sessions:
        return None
    from sessiond.tui.browse import NoTerminalError, check_terminal

    try:
        check_terminal()
    except NoTerminalError:
        return _numbered(sessions[:_LISTED], purpose)
    from sessiond.tui.chooser import chosen_session

    boxes, encoding = style_for(sys.stdout).boxes, sys.stdout.encoding
    if (chosen := chosen_session(listed, purpose, boxes=boxes, encoding=encoding)) is None:
        raise KeyboardInterrupt
    return chosen


def sessions_near(daemon: BlockingDaemon, folder: str) -> Callable[[str], Sequence[dict[str, Any]]]:
    """Return a function for `choose` that lists the sessions of a folder's project, or of all if it has none."""

    def listed(words: str) -> Sequence[dict[str, Any]]:
        asked: dict[str, Any] = {"query": words} if words else {}
        here: list[dict[str, Any]] = daemon.call("session/list", {**asked, "project": folder})["sessions"]
        if here:
            return here
        everywhere: list[dict[str, Any]] = daemon.call("session/list", asked)["sessions"]
        return everywhere

    return listed


def _numbered(sessions: Sequence[dict[str, Any]], purpose: str) -> str:
    for number, it in enumerate(sessions, 1):
        title = one_line(it["title"] or it["firstPrompt"] or "untitled")[:60]
        age = human.ago(it["updatedAt"], time.time())
        print(f"{number:>3}  {age:>10}  {title}  {one_line(it['cwd'])}", file=sys.stderr)
    while True:
        print(
            f"Number of the session to {purpose} (Enter: 1, q: none): ", end="", file=sys.stderr, flush=True
        )
        answer = sys.stdin.readline()
        if not answer or answer.strip() in ("q", "n"):
            raise KeyboardInterrupt
        chosen = answer.strip() or "1"
        if chosen.isdecimal() and 1 <= int(chosen) <= len(sessions):
            return str(sessions[int(chosen) - 1]["sessionId"])
