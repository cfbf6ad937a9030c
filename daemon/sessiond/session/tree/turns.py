"""Finds the entries that views of the tree omit: assistant turns without text, and hidden custom messages.

An assistant turn without text only calls tools. It is shown if it ended abnormally (aborted, error, length), as in pi.
A `custom_message` with `display` false is for the model only (decision 0021).
"""

from typing import Any, Final

import msgspec

from sessiond.session.tree import payloads, steps
from sessiond.session.tree.steps import Read, Steps
from sessiond.session.tree.tree import ASSISTANT, KIND, Tree


class SilentTurns:
    """Records which rows views omit; `row in turns` is true for such a row."""

    def __init__(self) -> None:
        self._marks = bytearray()

    def extend(self, tree: Tree, read: Read) -> Steps[None]:
        """Add the committed rows that are new. Several callers may do so at the same time."""
        while len(self._marks) < tree.committed:
            start = len(self._marks)
            batch = next(steps.batches(tree, range(start, tree.committed)))
            turns = [row for row in batch if tree.role(row) == ASSISTANT or tree.kind(row) == _CUSTOM_MESSAGE]
            marks = bytearray(len(batch))
            for row, entry in zip(turns, read(turns), strict=True):
                marks[row - start] = _is_silent(entry) if tree.role(row) == ASSISTANT else is_hidden(entry)
            self._marks += marks
            yield

    def __contains__(self, row: int) -> bool:
        return bool(self._marks[row])


_CUSTOM_MESSAGE: Final = KIND["custom_message"]


class _Display(msgspec.Struct):
    display: Any = None


_display = msgspec.json.Decoder(_Display)


def is_hidden(entry: bytes) -> bool:
    """Return whether a `custom_message` entry is not displayed to people."""
    found = payloads.part(_display, entry)
    return found is not None and found.display is False


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""


class _Message(msgspec.Struct, rename="camel"):
    content: list[_Block] | str | None = None
    stop_reason: str | None = None


class _Turn(msgspec.Struct):
    message: _Message


_turn = msgspec.json.Decoder(_Turn)


def _is_silent(entry: bytes) -> bool:
    entry_data = payloads.part(_turn, entry)
    if entry_data is None or entry_data.message.stop_reason not in (None, "stop", "toolUse"):
        return False
    content = entry_data.message.content or ""
    if isinstance(content, str):
        return not content.strip()
    return not any(block.type == "text" and block.text.strip() for block in content)
