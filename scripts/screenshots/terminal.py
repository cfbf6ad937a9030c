"""The browser of `sessiond tree -i`, and commands with what they print."""

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.color import Color
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from scripts.screenshots.story import ID, TITLE, entries, tell
from scripts.screenshots.svg import Cell, picture

from support.browsing import Screen, a_desk, a_screen_of
from support.commands import Shell, a_shell
from support.stories import Teller

DARK: Final = TerminalTheme(
    (0x1A, 0x1B, 0x26),
    (0xC8, 0xCC, 0xD8),
    [(0x1A, 0x1B, 0x26), (0xE0, 0x6C, 0x75), (0x8B, 0xC3, 0x7A), (0xE5, 0xC0, 0x7B), (0x61, 0x9F, 0xEF),
     (0xC6, 0x78, 0xDD), (0x56, 0xB6, 0xC2), (0xAB, 0xB2, 0xBF)],
    [(0x5C, 0x63, 0x70), (0xE0, 0x6C, 0x75), (0x8B, 0xC3, 0x7A), (0xE5, 0xC0, 0x7B), (0x61, 0x9F, 0xEF),
     (0xC6, 0x78, 0xDD), (0x56, 0xB6, 0xC2), (0xFF, 0xFF, 0xFF)],
)  # fmt: skip
LIGHT: Final = TerminalTheme(
    (0xFA, 0xFA, 0xFA),
    (0x2A, 0x2C, 0x33),
    [(0x2A, 0x2C, 0x33), (0xB3, 0x2D, 0x22), (0x2F, 0x76, 0x2B), (0x8A, 0x5A, 0x00), (0x1F, 0x5F, 0xC4),
     (0x95, 0x2C, 0x9A), (0x0B, 0x72, 0x85), (0x6B, 0x6F, 0x78)],
    [(0x5C, 0x60, 0x6A), (0xB3, 0x2D, 0x22), (0x2F, 0x76, 0x2B), (0x8A, 0x5A, 0x00), (0x1F, 0x5F, 0xC4),
     (0x95, 0x2C, 0x9A), (0x0B, 0x72, 0x85), (0x00, 0x00, 0x00)],
)  # fmt: skip
_DIM = 0.6
_COMMANDS = (
    ("list",),
    ("recall", "why no lock", "--limit", "3"),
    ("resume", ID[:8], "--in", "codex", "--print"),
)


def draw_all(folder: Path) -> None:
    """Write every picture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(_draw_browser(folder / "tree-interactive.svg"))
    with tempfile.TemporaryDirectory() as work, a_shell(Path(work) / "shop") as shell:
        shell.folder.mkdir()
        tell(Teller(shell.locations, shell.folder), Path(work))
        write_commands(shell, _COMMANDS, folder / "commands.svg")


def write_commands(
    shell: Shell,
    commands: Sequence[Sequence[str]],
    path: Path,
    columns: int = 110,
    colors: TerminalTheme = DARK,
) -> None:
    """Draw commands and what they print on a terminal into an SVG file."""
    rows: list[list[Cell]] = []
    for words in commands:
        shown = " ".join(f'"{text}"' if " " in text else text for text in ("sessiond", *words))
        home = str(shell.folder.parent)
        home = str(shell.folder.parent)
        printed = shell(*words, FORCE_COLOR="1", COLUMNS=str(columns), HOME=home).out.replace(home, "~")
        text = Text.from_ansi(f"\x1b[32m$\x1b[0m \x1b[1m{shown}\x1b[0m\n{printed.rstrip()}\n")
        console = Console(width=columns, color_system="truecolor", force_terminal=True)
        for line in text.wrap(console, columns):
            line.pad_right(columns - line.cell_len)
            segments = [segment for segment in line.render(console) if segment.text != "\n"]
            rows.append(
                [cell for segment in segments for cell in _cells_of(segment.text, segment.style, colors)]
            )
    path.write_text(picture(rows, _number(colors.background_color)), encoding="utf-8")


async def _draw_browser(path: Path) -> None:
    async with a_desk(*entries(), title=TITLE) as desk, a_screen_of(desk, (132, 24), pane=True) as screen:
        await screen.see("◀ leaf")
        await screen.keys("g", "g", "greater_than_sign")  # the row with the label "fixed"
        await screen.see("never half made")
        write(screen, path)


def write(screen: Screen, path: Path, colors: TerminalTheme = DARK) -> None:
    """Draw the screen of the browser into an SVG file."""
    rows = [
        [cell for text, style, _ in strip for cell in _cells_of(text, style, colors)]
        for strip in screen.strips
    ]
    path.write_text(picture(rows, _number(colors.background_color)), encoding="utf-8")


def _cells_of(text: str, style: Style | None, colors: TerminalTheme) -> Iterator[Cell]:
    for character in text:
        yield _cell(character, style or Style(), colors)
        yield from [_cell("", style or Style(), colors)] * (cell_len(character) - 1)


def _cell(character: str, style: Style, colors: TerminalTheme) -> Cell:
    front = _color(style.color, colors.foreground_color, colors)
    back = _color(style.bgcolor, colors.background_color, colors)
    if style.dim:
        front = tuple(round(_DIM * one + (1 - _DIM) * other) for one, other in zip(front, back, strict=True))
    if style.reverse:
        front, back = back, front
    return Cell(character, _number(front), _number(back), bool(style.bold), bool(style.italic))


def _color(color: Color | None, default: tuple[int, ...], colors: TerminalTheme) -> tuple[int, ...]:
    return default if color is None or color.is_default else tuple(color.get_truecolor(colors))


def _number(color: Sequence[int]) -> int:
    return color[0] << 16 | color[1] << 8 | color[2]
