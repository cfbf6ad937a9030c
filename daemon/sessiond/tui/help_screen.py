"""The screen with the keys, which covers the tree."""

from rich.segment import Segment
from textual.app import ComposeResult
from textual.events import Key
from textual.screen import ModalScreen

from sessiond.tui.keys import GROUPS
from sessiond.tui.pane import Pane
from sessiond.tui.row_renderer import TITLE

_CLOSING = ("escape", "q", "question_mark", "enter", "ctrl+c")
_STEPS = {
    "j": 1,
    "down": 1,
    "k": -1,
    "up": -1,
    "space": 10,
    "pagedown": 10,
    "pageup": -10,
    "home": -1000,
    "end": 1000,
}


class HelpScreen(ModalScreen[None]):
    """The list of keys. Escape, q, ?, Enter and Ctrl-C close it."""

    def __init__(self) -> None:
        super().__init__()
        self._pane = Pane()

    def compose(self) -> ComposeResult:
        """Yield the pane with the list."""
        yield self._pane

    def on_mount(self) -> None:
        """Fill the pane with the keys of each group."""
        lines: list[list[Segment]] = []
        for title, actions in GROUPS:
            lines += [
                [Segment(title, TITLE)],
                *([Segment(f"  {' '.join(action.keys):<16}{action.description}")] for action in actions),
                [],
            ]
        lines.append(
            [
                Segment(
                    "Escape closes the help. Mouse: a click selects; a click on the sign, or a double click, folds."
                )
            ]
        )
        self._pane.show("help", lines, from_top=True)

    def on_key(self, event: Key) -> None:
        """Scroll the list, or close the screen. Other keys have no effect."""
        event.stop()
        event.prevent_default()
        if event.key in _CLOSING:
            self.dismiss()
        elif event.key in _STEPS:
            self._pane.step(_STEPS[event.key])
