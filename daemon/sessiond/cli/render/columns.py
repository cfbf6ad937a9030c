"""Aligned columns for lists: as wide as their longest cell, the last one cut at the edge of the terminal."""

from __future__ import annotations

from sessiond.cli.render.style import Style
from sessiond.text import fit, pad, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def aligned(rows: Sequence[Sequence[str]], style: Style, colors: Sequence[str] = ()) -> Iterator[str]:
    """Yield one line for each row. `colors` has one color name for each column; "" means no color."""
    if not rows:
        return
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    taken = sum(widths) + 2 * len(widths)
    for row in rows:
        last = row[-1]
        if style.columns is not None:
            last = fit(last, max(style.columns - taken, 0), style.ellipsis)
        cells = [pad(cell, columns) for cell, columns in zip(row, widths, strict=False)] + [last]
        named = [*colors, *[""] * (len(cells) - len(colors))]
        yield "  ".join(
            style(cell, *filter(None, [name])) for cell, name in zip(cells, named, strict=True)
        ).rstrip()


def behind(
    heads: Sequence[str],
    columns: int,
    rows: Sequence[Sequence[str]],
    style: Style,
    colors: Sequence[str] = (),
) -> Iterator[str]:
    """Yield lines as `aligned` does, each after its head: a sign or a bar of `columns` columns."""
    left = None if style.columns is None else max(style.columns - columns - 1, 0)
    beside = Style(colors=style.colors, columns=left, boxes=style.boxes)
    for head, line in zip(heads, aligned(rows, beside, colors), strict=True):
        yield f"{head} {line}"
