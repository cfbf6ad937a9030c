"""A question at the foot of the screen, with an input line."""

import asyncio
from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Key
from textual.widgets import Input, Static


class PromptBar(Horizontal):
    """A bar that is visible while a question is open. Enter answers it, Escape cancels it."""

    def __init__(self) -> None:
        super().__init__()
        self._question = Static("", markup=False)
        self._line = Input(compact=True, select_on_focus=False)
        self._answer: asyncio.Future[str | None] | None = None
        self._on_change: Callable[[str], None] | None = None

    def compose(self) -> ComposeResult:
        """Yield the question and the input line."""
        yield self._question
        yield self._line

    @property
    def is_open(self) -> bool:
        """Whether a question is open."""
        return self._answer is not None

    async def ask(
        self, question: str, value: str = "", on_change: Callable[[str], None] | None = None
    ) -> str | None:
        """Return the answer, or None when the question was canceled; `on_change` is called with every change."""
        if self._answer is not None:
            return None
        self._answer = asyncio.get_running_loop().create_future()
        self._question.update(question)
        self._line.value, self._on_change = value, on_change
        self._line.cursor_position = len(value)
        before = self.screen.focused
        self.add_class("-open")
        self.take_focus()
        try:
            return await self._answer
        finally:
            self._answer = self._on_change = None
            self.remove_class("-open")
            self.screen.set_focus(before)

    def take_focus(self) -> None:
        """Take the focus immediately, so that the next key is input."""
        self.screen.set_focus(self._line)

    def cancel(self) -> None:
        """Cancel the open question, if there is one."""
        self._resolve(None)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._on_change is not None:
            self._on_change(event.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._resolve(event.value)

    def on_key(self, event: Key) -> None:
        """Cancel the question on Escape."""
        if event.key == "escape":
            event.stop()
            event.prevent_default()
            self._resolve(None)

    def _resolve(self, answer: str | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)
