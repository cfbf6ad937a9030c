"""`sessiond top`: what every agent is doing now, on the whole screen, until the user leaves or jumps to a session."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from textual.app import ComposeResult
from textual.events import Key
from textual.widgets import Static

from sessiond import human
from sessiond.client import connect
from sessiond.client.board import STATES, Board, BoardRow
from sessiond.client.wire import DisconnectedError
from sessiond.paths import Locations
from sessiond.tui.board_view import BoardView
from sessiond.tui.full_screen import FullScreen
from sessiond.tui.row_renderer import RowRenderer

_REFRESH_SECONDS = 5.0
"""Interval in which ages and states are brought up to date without a change."""
_STEPS = {
    "down": 1, "j": 1, "up": -1, "k": -1, "pagedown": 10, "pageup": -10, "end": 1_000_000, "G": 1_000_000,
    "home": -1_000_000, "g": -1_000_000,
}  # fmt: skip
_KEYS = "enter tree  ↑↓ move  q quit"


def show_board(
    seconds: float, cwd: str | None, *, with_automated: bool, boxes: bool, encoding: str
) -> str | None:
    """Show the board until the user leaves it.

    Args:
        seconds: How long a session stays after its last entry.
        cwd: Only sessions of this folder; None for all folders.
        with_automated: Whether sessions whose prompts a program gave are shown, too.
        boxes: Whether the terminal shows characters for lines.
        encoding: The encoding of the terminal.

    Returns:
        The id of the session to which the user jumps, or None.
    """
    return Top(seconds, cwd, RowRenderer(None if boxes else encoding), with_automated=with_automated).show()


class Top(FullScreen[str | None]):
    """The board. Exits with the id of the chosen session, or None."""

    def __init__(
        self, seconds: float, cwd: str | None, renderer: RowRenderer, *, locations: Locations | None = None,
        with_automated: bool = False, now: Callable[[], float] = time.time,
    ) -> None:  # fmt: skip
        super().__init__()
        self._seconds = seconds
        self._cwd = cwd
        self._with_automated = with_automated
        self._renderer = renderer
        self._locations = locations
        self._board: Board | None = None
        self.view = BoardView(renderer, now, os.environ.get("HOME", ""))
        self._head = Static(classes="bar", markup=False)
        self._foot = Static(_KEYS if renderer.boxes else "enter tree  q quit", classes="bar", markup=False)

    def compose(self) -> ComposeResult:
        """Yield the counts, the lines and the keys."""
        yield self._head
        yield self.view
        yield self._foot

    def on_mount(self) -> None:
        """Begin to follow the sessions."""
        self.set_class(not self._renderer.boxes, "-ascii")
        self.view.focus()
        self.run_worker(self._follow(), exit_on_error=False)
        self.set_interval(_REFRESH_SECONDS, self._refresh_rows)

    def on_key(self, event: Key) -> None:
        """Move, jump or leave."""
        key = event.character if event.character in _STEPS else event.key
        if event.key in ("q", "escape", "ctrl+c"):
            self.exit(None)
        elif event.key == "enter" and self.view.selected is not None:
            self.exit(self.view.selected)
        elif key in _STEPS:
            event.stop()
            self.view.step(_STEPS[key])

    async def _follow(self) -> None:
        try:
            async with connect(locations=self._locations, name="top") as daemon:
                self._board = Board(daemon, self._seconds, self._cwd, with_automated=self._with_automated)
                async for rows in self._board.watch():
                    self._show(rows)
        except Exception as error:  # noqa: BLE001 - raised again when the screen is given back
            self.failure = error
            self.exit(None)

    async def _refresh_rows(self) -> None:
        if self._board is not None:
            with suppress(DisconnectedError):  # the next change finds the daemon again
                self._show(await self._board.rows())

    def _show(self, rows: list[BoardRow]) -> None:
        self.view.show(rows)
        hidden = 0 if self._board is None else self._board.hidden_count
        self._head.update(summary(rows) + (f", {hidden:,} automated hidden" if hidden else ""))


def summary(rows: Sequence[BoardRow]) -> str:
    """Return the counts and the sums of a board: `2 working, 1 waiting, 1.2M tokens, $3.10`."""
    counts = [
        f"{number:,} {state}" for state in STATES if (number := sum(row.state == state for row in rows))
    ]
    tokens, cost = sum(row.tokens or 0 for row in rows), sum(row.cost or 0 for row in rows)
    if tokens:
        counts.append(f"{human.amount(tokens)} tokens")
    if cost:
        counts.append(human.money(cost))
    return ", ".join(counts) or "nothing is running"
