"""A list on the whole screen from which the user chooses a session, for a command that names none."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import msgspec
from textual.app import App

from sessiond.tui.layout import CSS
from sessiond.tui.picker import Choice, Picker
from sessiond.tui.row_renderer import RowRenderer


def chosen_session(
    listed: Callable[[str], Sequence[dict[str, Any]]], purpose: str, *, boxes: bool, encoding: str
) -> str | None:
    """Show the list until the user has chosen. Returns the id of the session, or None.

    Args:
        listed: Returns the sessions that match some words, with the fields of a `Choice`. It is called on a thread.
        purpose: What the session is for, as in "resume".
        boxes: Whether the terminal shows characters for lines.
        encoding: The encoding of the terminal.

    Raises what `listed` raises.
    """
    app = _Chooser(listed, purpose, RowRenderer(None if boxes else encoding))
    chosen = app.run()
    if app.failure is not None:
        raise app.failure
    return chosen


class _Chooser(App[str | None]):
    CSS = CSS
    BINDINGS: ClassVar = []
    ENABLE_COMMAND_PALETTE = False

    def __init__(
        self, listed: Callable[[str], Sequence[dict[str, Any]]], purpose: str, renderer: RowRenderer
    ) -> None:
        super().__init__(ansi_color=True)  # the terminal's own colors, or none with NO_COLOR
        self.theme = "ansi-dark"
        self.failure: Exception | None = None
        self._listed = listed
        self._heading = f"Session to {purpose}"
        self._renderer = renderer

    def on_mount(self) -> None:
        self.set_class(not self._renderer.boxes, "-ascii")
        home = os.environ.get("HOME", "")
        picker = Picker(self._read, self._renderer, time.time(), home, self._heading)
        self.push_screen(picker, self.exit)

    async def _read(self, words: str) -> Sequence[Choice]:
        try:
            rows = await asyncio.to_thread(self._listed, words)
        except Exception as error:  # noqa: BLE001 - raised again when the screen is given back
            self.failure = error
            self.exit(None)
            return ()
        return msgspec.convert(rows, list[Choice])
