"""The command top: what every agent is doing now."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
from datetime import datetime

import msgspec

from sessiond import human
from sessiond.agents import names
from sessiond.cli.parse import times
from sessiond.cli.parse.session_argument import working_folder
from sessiond.cli.render.automated import tell_of_hidden
from sessiond.cli.render.columns import distinguished
from sessiond.cli.render.style import style_for
from sessiond.client import connect
from sessiond.client.board import Board
from sessiond.distinctions import session_facts
from sessiond.text import fit, one_line
from sessiond.tui.browse import NoTerminalError, check_terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.client.board import BoardRow

_DEFAULT_SECONDS = 12 * 3600.0
_TITLE = 32
_COLORS = {"working": "green", "waiting": "yellow", "failed": "red"}


def top(args: ParsedArguments) -> int:
    """Show the board on the whole screen, or print it once."""
    since = times.period(args).get("since")
    seconds = _DEFAULT_SECONDS if since is None else time.time() - datetime.fromisoformat(since).timestamp()
    cwd = working_folder(args) if args.flag("here") else None
    with_automated = args.flag("automated") or args.flag("json")
    if not args.flag("json") and not args.flag("once") and _has_screen():
        return _on_screen(seconds, cwd, with_automated=with_automated)
    rows, hidden_count = asyncio.run(_read(seconds, cwd, with_automated=with_automated))
    if args.flag("json"):
        print(msgspec.json.encode({"sessions": rows}).decode())
    else:
        if rows or not hidden_count:
            _print(rows)
        tell_of_hidden(hidden_count)
    return 0


def _has_screen() -> bool:
    try:
        check_terminal()
    except NoTerminalError:
        return False
    return True


async def _read(seconds: float, cwd: str | None, *, with_automated: bool) -> tuple[list[BoardRow], int]:
    async with connect(name="top") as daemon:
        board = Board(daemon, seconds, cwd, with_automated=with_automated)
        return await board.read(), board.hidden_count


def _on_screen(seconds: float, cwd: str | None, *, with_automated: bool) -> int:
    """Show the board, and the tree of each session to which the user jumps."""
    from sessiond.cli.parse.entry_argument import connect as connect_blocking
    from sessiond.tui.browse import browse
    from sessiond.tui.top import show_board

    gc.enable()  # the commands run without it, but this one may run for hours
    style = style_for(sys.stdout)
    while True:
        session_id = show_board(
            seconds, cwd, with_automated=with_automated, boxes=style.boxes, encoding=sys.stdout.encoding
        )
        if session_id is None:
            return 0
        with connect_blocking() as daemon:
            browse(
                daemon, session_id, filter="default", query=None, at=None, named=str, boxes=style.boxes,
                encoding=sys.stdout.encoding,
            )  # fmt: skip


def _print(rows: Sequence[BoardRow]) -> None:
    if not rows:
        print("No agent has written a session lately.", file=sys.stderr)
        return
    now, home, style = time.time(), os.environ.get("HOME", ""), style_for(sys.stdout)
    table = [
        [
            row.state,
            "" if row.agent is None else one_line(names.short_name_of(row.agent)),
            human.ago(row.updated_at, now),
            "" if row.tokens is None else human.amount(row.tokens),
            "" if row.cost is None else human.money(row.cost),
            one_line(human.folder(row.cwd, home)),
            fit(one_line(row.title) or "(no messages yet)", _TITLE, style.ellipsis),
            one_line(row.last_words),
        ]
        for row in rows
    ]
    facts = [
        session_facts(
            title=row.title, first_prompt=None, agent=cells[1], cwd=row.cwd, home=home, updated_at=row.updated_at,
            last_words=row.last_words,
        )
        for row, cells in zip(rows, table, strict=True)
    ]  # fmt: skip
    colors, ids = ["", "cyan", "dim", "dim", "dim", "blue"], [row.session_id for row in rows]
    lines = distinguished(table, facts, ids, style, colors, (4, 3, 2, 1, 5))
    for row, line in zip(rows, lines, strict=True):
        color = _COLORS.get(row.state)
        print(style(row.state, color) + line[len(row.state) :] if color else line)
