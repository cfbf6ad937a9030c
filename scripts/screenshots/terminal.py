"""The browser of `sessiond tree -i`, and commands with what they print."""

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.cells import cell_len
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from scripts.screenshots.story import ID, TITLE, entries, tell
from scripts.screenshots.svg import Cell, picture

from support.browsing import Screen, a_desk, a_screen_of
from support.commands import a_shell
from support.stories import Teller

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


def draw_all(folder: Path) -> None:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(_draw(folder / "tree-interactive.svg"))
    _draw_commands(folder / "commands.svg")


_COMMANDS = (
    ("list",),
    ("recall", "why no lock", "--limit", "3"),
    ("resume", ID[:8], "--in", "codex", "--print"),
)


def _draw_commands(path: Path) -> None:
    """Draw some commands and what they print, on a terminal of 110 columns."""
    rows: list[list[Cell]] = []
    with tempfile.TemporaryDirectory() as work, a_shell(Path(work) / "shop") as shell:
        shell.folder.mkdir()
        tell(Teller(shell.locations, shell.folder), Path(work))
        for words in _COMMANDS:
            shown = " ".join(f'"{it}"' if " " in it else it for it in ("sessiond", *words))
            printed = shell(*words, FORCE_COLOR="1", COLUMNS="110").out.replace(str(shell.folder), "~/shop")
            text = Text.from_ansi(f"\x1b[32m$\x1b[0m \x1b[1m{shown}\x1b[0m\n{printed.rstrip()}\n")
            console = Console(width=110, color_system="truecolor", force_terminal=True)
            for line in text.wrap(console, 110):
                line.pad_right(110 - line.cell_len)
                segments = [it for it in line.render(console) if it.text != "\n"]
                rows.append([cell for it in segments for cell in _cells_of(it.text, it.style)])
    path.write_text(picture(rows, _number(_GROUND)), encoding="utf-8")


async def _draw(path: Path) -> None:
    async with a_desk(*entries(), title=TITLE) as desk, a_screen_of(desk, (132, 24), pane=True) as screen:
        await screen.see("◀ leaf")
        await screen.keys("g", "g", "greater_than_sign")  # the row with the label "fixed"
        await screen.see("never half made")
        path.write_text(picture(list(_cells(screen)), _number(_GROUND)), encoding="utf-8")


def _cells(screen: Screen) -> Iterator[list[Cell]]:
    for strip in screen.strips:
        yield [cell for text, style, _ in strip for cell in _cells_of(text, style)]


def _cells_of(text: str, style: Style | None) -> Iterator[Cell]:
    for character in text:
        yield _cell(character, style or Style())
        yield from [_cell("", style or Style())] * (cell_len(character) - 1)


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
