"""A list on the whole screen from which the user chooses a session, for a command that names none."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from sessiond.tui.full_screen import FullScreen
from sessiond.tui.picker import Choice, Picker
from sessiond.tui.row_renderer import RowRenderer


def chosen_session(
    listed: Callable[[str], Sequence[dict[str, Any]]], purpose: str, *, boxes: bool, encoding: str
) -> str | None:
    """Show the list until the user has chosen. Returns the id of the session, or None.

    Args:
        listed: Returns the sessions that match some words, with the fields of a `Choice`. It is called on threads,
            on one at a time.
        purpose: The verb that the session is chosen for, such as "resume".
        boxes: Whether the terminal shows characters for lines.
        encoding: The encoding of the terminal.

    Raises what `listed` raises.
    """
    return Chooser(listed, purpose, RowRenderer(None if boxes else encoding)).show()


class Chooser(FullScreen[str | None]):
    """The screen. Its arguments are those of `chosen_session`."""

    def __init__(
        self, listed: Callable[[str], Sequence[dict[str, Any]]], purpose: str, renderer: RowRenderer
    ) -> None:
        super().__init__()
        self._listed = listed
        self._wanted = ""
        self._is_listing = threading.Lock()
        self._heading = f"Session to {purpose}"
        self._renderer = renderer

    def on_mount(self) -> None:
        self.set_class(not self._renderer.boxes, "-ascii")
        home = os.environ.get("HOME", "")
        picker = Picker(self._read, self._renderer, time.time(), home, self._heading)
        self.push_screen(picker, self.exit)

    async def _read(self, words: str) -> Sequence[Choice]:
        self._wanted = words
        try:
            rows = await asyncio.to_thread(self._list, words)
        except Exception as error:  # noqa: BLE001 - raised again when the screen is given back
            self.failure = error
            self.exit(None)
            return ()
        return msgspec.convert(rows, list[Choice])

    def _list(self, words: str) -> Sequence[dict[str, Any]]:
        """Return the sessions, or none if the user has typed more before their request was sent.

        The worker of earlier words is canceled, but its thread is not.
        """
        with self._is_listing:
            return self._listed(words) if words == self._wanted else ()
