"""Lets the user choose a session on the terminal, for a command that names none."""

from __future__ import annotations

import os
import sys
import time

from sessiond import human
from sessiond.cli.render.style import style_for
from sessiond.text import fit, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sessiond.client.blocking import BlockingDaemon

_LISTED = 20
"""Sessions in a list that is not on the whole screen."""
_TITLE = 60


def can_ask() -> bool:
    """Return whether a user can be asked: standard input and standard error are a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()


def choose(listed: Callable[[str], Sequence[dict[str, Any]]], purpose: str) -> str | None:
    """Return the id of the session that the user chooses; None if there is no session.

    The list is on the whole screen, and can be searched. If standard output is not a terminal, or the terminal cannot
    move its cursor, it is a numbered list on standard error.

    Args:
        listed: Returns the sessions that match some words, newest first: `sessionId`, `title`, `firstPrompt`, `cwd`,
            `updatedAt` and, if it has one, `origin` of each, as in `session/list`.
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
    """Return a function for `choose` that lists the sessions of a folder's project, or of all if it has none.

    Automated sessions are listed if there are no others, and if words are given.
    """

    def listed(words: str) -> Sequence[dict[str, Any]]:
        asked: dict[str, Any] = {"query": words} if words else {"automated": False}
        found: list[dict[str, Any]] = []
        for params in ({**asked, "project": folder}, asked, *([] if words else [{}])):
            found = found or daemon.call("session/list", params)["sessions"]
        return found

    return listed


def _numbered(sessions: Sequence[dict[str, Any]], purpose: str) -> str:
    for number, line in enumerate(_lines(sessions), 1):
        print(f"{number:>3}  {line}", file=sys.stderr)
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


def _lines(sessions: Sequence[dict[str, Any]]) -> list[str]:
    """Return the age, title and folder of each session, and what distinguishes it from one that looks the same."""
    from sessiond.agents import names
    from sessiond.distinctions import distinctions, session_facts

    now, home, ellipsis = time.time(), os.environ.get("HOME", ""), style_for(sys.stderr).ellipsis
    rows = []
    for session in sessions:
        title = fit(one_line(session["title"] or session["firstPrompt"] or "untitled"), _TITLE, ellipsis)
        origin = session.get("origin")
        facts = session_facts(
            title=session["title"], first_prompt=session["firstPrompt"], cwd=session["cwd"], home=home,
            agent=names.short_name_of(origin["agent"]) if origin else "", updated_at=session["updatedAt"],
        )  # fmt: skip
        shown = f"{human.ago(session['updatedAt'], now):>10}  {title}  {one_line(session['cwd'])}"
        rows.append((shown, facts, session["sessionId"]))
    return [
        f"{shown}  ({', '.join(added)})" if added else shown
        for (shown, _, _), added in zip(rows, distinctions(rows), strict=True)
    ]
