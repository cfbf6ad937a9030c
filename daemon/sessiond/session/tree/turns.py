"""Finds the entries that views of the tree omit: assistant turns without text, and hidden custom messages.

An assistant turn without text only calls tools. It is shown if it ended abnormally (aborted, error, length), as in pi.
A `custom_message` with `display` false is for the model only (decision 0021).

Open indexes store the marks, so a change of these rules needs another version of their format (`open_index`).
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import compress, repeat
from typing import Any, Final

import msgspec

from sessiond.session.tree import payloads, steps
from sessiond.session.tree.steps import Read, ReadStored, Steps
from sessiond.session.tree.tree import ASSISTANT, KIND, Tree

_CUSTOM_MESSAGE: Final = KIND["custom_message"]
_ROWS_A_BLOCK: Final = 512
_BYTES_A_BLOCK: Final = 512 * 1024

_IS_ASSISTANT: Final = bytes(role == ASSISTANT for role in range(256))
_IS_CUSTOM_MESSAGE: Final = bytes(kind == _CUSTOM_MESSAGE for kind in range(256))

_TEXT_FIRST: Final = re.compile(
    rb'\{"type":"message","id":"[^"\\]*+","parentId":(?:null|"[^"\\]*+"),"timestamp":"[^"\\]*+","message":'
    rb'\{"role":"assistant","content":\['
    rb'(?:\{"type":"thinking"(?:,"\w++":"[^"\\]*+(?:\\.[^"\\]*+)*+")*+\},)?+'
    rb'\{"type":"text","text":"[!#-\[\]-~]'
)
"""The beginning of the line of an assistant turn with text, as sessiond and the agents write it.

Other lines of turns with text do not match and are decoded. A line in which a later member of the same name replaces
this text counts as one with text; it is shown, which is harmless.
"""


class SilentTurns:
    """Records which rows views omit; `row in turns` is true for such a row.

    Args:
        marks: The marks of the first rows, if they are known.

    """

    def __init__(self, marks: bytes | memoryview = b"") -> None:
        self._marks = bytearray(marks)

    def __len__(self) -> int:
        """Return the number of rows that were examined."""
        return len(self._marks)

    def __contains__(self, row: int) -> bool:
        return bool(self._marks[row])

    def marks(self, first: int, end: int) -> bytearray:
        """Return one byte for each row from `first` to before `end`: 1 if views omit it."""
        return self._marks[first:end]

    def extend(self, tree: Tree, read: Read, read_stored: ReadStored | None = None) -> Steps[None]:
        """Add the committed rows that are new. Several callers may do so at the same time.

        Args:
            tree: The tree.
            read: Returns the entries of rows.
            read_stored: Returns stored lines, which is faster for many rows.

        """
        while len(self._marks) < tree.committed:
            start = len(self._marks)
            marks = None if read_stored is None else _marks_of_block(tree, start, read_stored)
            if marks is None:
                batch = next(steps.batches(tree, range(start, tree.committed)))
                marks = _marks_of_batch(tree, batch, read)
            self._marks += marks
            yield


def _marks_of_batch(tree: Tree, batch: Sequence[int], read: Read) -> bytearray:
    turns = [row for row in batch if tree.role(row) == ASSISTANT or tree.kind(row) == _CUSTOM_MESSAGE]
    marks = bytearray(len(batch))
    for row, entry in zip(turns, read(turns), strict=True):
        marks[row - batch[0]] = _is_omitted(tree, row, entry)
    return marks


def _marks_of_block(tree: Tree, first: int, read_stored: ReadStored) -> bytearray | None:
    """Examine the stored lines of as many rows as fit into a block. Most are decided by the beginning of the line."""
    offsets = tree.offsets(first, min(first + _ROWS_A_BLOCK, tree.committed))
    count = max(bisect_right(offsets, offsets[0] + _BYTES_A_BLOCK) - 1, 1)
    block = read_stored(first, first + count)
    if block is None:
        return None
    starts = [offset - offsets[0] for offset in offsets[: count + 1]]
    marks = bytearray(count)
    turns = list(compress(range(count), tree.roles(first, first + count).translate(_IS_ASSISTANT)))
    matches = map(_TEXT_FIRST.match, repeat(block), map(starts.__getitem__, turns))
    unclear = [turn for turn, match in zip(turns, matches, strict=True) if match is None]
    unclear += compress(range(count), tree.kinds(first, first + count).translate(_IS_CUSTOM_MESSAGE))
    for row in unclear:
        entry = tree.entry(first + row, block[starts[row] : starts[row + 1]])
        marks[row] = _is_omitted(tree, first + row, entry)
    return marks


def _is_omitted(tree: Tree, row: int, entry: bytes) -> bool:
    return _is_silent(entry) if tree.role(row) == ASSISTANT else is_hidden(entry)


class _Display(msgspec.Struct, gc=False):
    display: Any = None


_display = msgspec.json.Decoder(_Display)


def is_hidden(entry: bytes) -> bool:
    """Return whether a `custom_message` entry is not displayed to people."""
    found = payloads.part(_display, entry)
    return found is not None and found.display is False


class _Block(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""


class _Message(msgspec.Struct, rename="camel", gc=False):
    content: list[_Block] | str | None = None
    stop_reason: str | None = None


class _Turn(msgspec.Struct, gc=False):
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
