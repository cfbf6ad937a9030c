"""A screen of cells as an SVG: small, sharp at any size, and text that can be searched."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

WIDTH, HEIGHT, BASELINE = 8.4, 18, 13.5


@dataclass(frozen=True)
class Cell:
    """One cell. Colors are 0xRRGGBB; `text` is empty in the right half of a wide character."""

    text: str
    foreground: int
    background: int
    bold: bool = False
    italic: bool = False


def picture(rows: Sequence[Sequence[Cell]], background: int) -> str:
    """All rows, on one ground."""
    width, height = len(rows[0]) * WIDTH, len(rows) * HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">',
        f'<rect width="100%" height="100%" fill="{_color(background)}"/>',
    ]
    for number, row in enumerate(rows):
        parts += _row(row, number * HEIGHT, background)
    return "\n".join([*parts, "</svg>", ""])


def _row(row: Sequence[Cell], top: float, ground: int) -> list[str]:
    parts, column = [], 0
    for look, cells in groupby(
        row, key=lambda cell: (cell.foreground, cell.background, cell.bold, cell.italic)
    ):
        run = list(cells)
        foreground, background, bold, italic = look
        left, width = column * WIDTH, len(run) * WIDTH
        column += len(run)
        if background != ground:
            parts.append(
                f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{HEIGHT}" fill="{_color(background)}"/>'
            )
        style = ' font-weight="bold"' * bold + ' font-style="italic"' * italic
        for start, words in _words(run):
            parts.append(
                f'<text x="{left + start * WIDTH:g}" y="{top + BASELINE:g}" textLength="{len(words) * WIDTH:g}" '
                f'fill="{_color(foreground)}"{style}>{escape("".join(cell.text for cell in words))}</text>'
            )
    return parts


def _words(run: Sequence[Cell]) -> Iterator[tuple[int, Sequence[Cell]]]:
    """Parts of a run with their start columns, without wide gaps: a renderer may merge several blanks."""
    start = 0
    for is_gap, cells in groupby(
        range(len(run)), key=lambda at: run[at].text == " " and _beside_blank(run, at)
    ):
        stretch = list(cells)
        if not is_gap:
            yield start, run[start : start + len(stretch)]
        start += len(stretch)


def _beside_blank(run: Sequence[Cell], at: int) -> bool:
    return any(not 0 <= other < len(run) or run[other].text == " " for other in (at - 1, at + 1))


def _color(number: int) -> str:
    return f"#{number:06x}"
