"""The browser at work on a session that is told for the picture."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

from rich.cells import cell_len
from rich.color import Color
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from scripts.screenshots.svg import Cell, picture

from support.browsing import SESSION, Screen, a_desk, a_screen_of, said
from support.daemons import assistant, user

_GROUND, _TEXT = (0x1A, 0x1B, 0x26), (0xC8, 0xCC, 0xD8)
_COLORS = TerminalTheme(
    _GROUND,
    _TEXT,
    [(0x1A, 0x1B, 0x26), (0xE0, 0x6C, 0x75), (0x8B, 0xC3, 0x7A), (0xE5, 0xC0, 0x7B), (0x61, 0x9F, 0xEF),
     (0xC6, 0x78, 0xDD), (0x56, 0xB6, 0xC2), (0xAB, 0xB2, 0xBF)],
    [(0x5C, 0x63, 0x70), (0xE0, 0x6C, 0x75), (0x8B, 0xC3, 0x7A), (0xE5, 0xC0, 0x7B), (0x61, 0x9F, 0xEF),
     (0xC6, 0x78, 0xDD), (0x56, 0xB6, 0xC2), (0xFF, 0xFF, 0xFF)],
)  # fmt: skip
_DIM = 0.6

_ANSWER = """The reader **splits on newlines**, and the last line has none, so it waits for one that never comes.

1. Yield what is left when the file ends.
2. Keep a test for a file without a last newline.

```python
for chunk in iter(read, b""):
    rest += chunk
yield rest
```
"""
_STORY = (
    said("4f0c21aa", 1, user("Why does the parser drop the last line of a file?")),
    said("9b1e77d0", 2, assistant(_ANSWER)),
    said("c3a9d214", 3, user("Fix it in the reader.")),
    said("1e55f0b7", 4, assistant("Done: the reader yields what is left at the end.")),
    said("77aa00b1", 12, user("Write a failing test first."), parentId="9b1e77d0"),
    said("8c1d22e3", 13, assistant("tests/test_last_line.py fails, as it should.")),
    said("0a0b0c0d", 14, user("Or end the file with a newline when writing."), parentId="8c1d22e3"),
    said("5e6f7a8b", 15, assistant("Then older files would stay broken.")),
    said("2b3c4d5e", 31, user("Now make it pass."), parentId="8c1d22e3"),
    said("6f708192", 33, assistant("The parser keeps the rest, and the test passes.")),
)


def draw_all(folder: Path) -> None:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(_draw(folder / "tree-interactive.svg"))


async def _draw(path: Path) -> None:
    async with a_desk(*_STORY) as desk:
        for entry, label in (("9b1e77d0", "the cause"), ("1e55f0b7", "quick fix")):
            await desk.peer.call("session/label", sessionId=SESSION, entryId=entry, label=label)
        async with a_screen_of(desk, (124, 18), pane=True) as screen:
            await screen.keys("g", "g", "j")
            await screen.see("Assistant  9b1e77d0")
            await screen.see("for chunk")
            path.write_text(picture(list(_cells(screen)), _number(_GROUND)), encoding="utf-8")


def _cells(screen: Screen) -> Iterator[list[Cell]]:
    for strip in screen.strips:
        row: list[Cell] = []
        for text, style, _ in strip:
            for character in text:
                cell = _cell(character, style or Style())
                row += [cell, *[_cell("", style or Style())] * (cell_len(character) - 1)]
        yield row


def _cell(character: str, style: Style) -> Cell:
    front, back = _color(style.color, _TEXT), _color(style.bgcolor, _GROUND)
    if style.dim:
        front = tuple(round(_DIM * one + (1 - _DIM) * other) for one, other in zip(front, back, strict=True))
    if style.reverse:
        front, back = back, front
    return Cell(character, _number(front), _number(back), bool(style.bold), bool(style.italic))


def _color(color: Color | None, default: tuple[int, ...]) -> tuple[int, ...]:
    return default if color is None or color.is_default else tuple(color.get_truecolor(_COLORS))


def _number(color: tuple[int, ...]) -> int:
    return color[0] << 16 | color[1] << 8 | color[2]
