"""Aligned columns for lists: as wide as their longest cell, the last one cut at the edge of the terminal.

If the terminal is too narrow for the last column, columns that matter less are left out.
"""

from __future__ import annotations

from sessiond.cli.render.style import Style
from sessiond.distinctions import distinctions
from sessiond.text import fit, pad, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_READABLE = 24
"""Columns of the screen that the last column needs before another column is left out for it."""


def aligned(
    rows: Sequence[Sequence[str]],
    style: Style,
    colors: Sequence[str] = (),
    optional: Sequence[int] = (),
    ends: Sequence[str] = (),
) -> Iterator[str]:
    """Yield one line for each row.

    Args:
        rows: The cells of each row.
        style: The colors and the width of the output.
        colors: One color name for each column; "" means no color.
        optional: The columns that may be left out on a narrow terminal, the first one first.
        ends: Texts after the last cells, one for each row. The cells are cut for them.
    """
    if not rows:
        return
    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    ends = ends or [""] * len(rows)
    if left_out := _left_out(rows, widths, style, optional, ends):
        rows = [[cell for column, cell in enumerate(row) if column not in left_out] for row in rows]
        widths = [width for column, width in enumerate(widths) if column not in left_out]
        colors = [color for column, color in enumerate(colors) if column not in left_out]
    taken = sum(widths) + 2 * len(widths)
    for row, end in zip(rows, ends, strict=True):
        last = row[-1]
        if style.columns is not None:
            room = max(style.columns - taken, 0)
            end = fit(end, room, style.ellipsis)
            last = fit(last, room - width(end), style.ellipsis)
        last += end
        cells = [pad(cell, columns) for cell, columns in zip(row, widths, strict=False)] + [last]
        named = [*colors, *[""] * (len(cells) - len(colors))]
        yield "  ".join(
            style(cell, *filter(None, [name])) for cell, name in zip(cells, named, strict=True)
        ).rstrip()


def distinguished(
    rows: Sequence[Sequence[str]],
    facts: Sequence[Sequence[str]],
    ids: Sequence[str] | None,
    style: Style,
    colors: Sequence[str] = (),
    optional: Sequence[int] = (),
) -> Iterator[str]:
    """Yield lines as `aligned` does. Lines that look the same end with their difference, in parentheses.

    Args:
        rows: The cells of each row.
        facts: The facts of each row, see `distinctions`.
        ids: The id of each row; None if it is the first cell, which distinguishes a row but does not describe it.
        style: As for `aligned`.
        colors: As for `aligned`.
        optional: As for `aligned`.
    """
    plain, ends = Style(columns=style.columns, boxes=style.boxes), [""] * len(rows)
    for _ in range(2):  # the ends take room from the cells, so that other rows may look the same
        shown: Iterable[str] = aligned(rows, plain, (), optional, [" " * width(end) for end in ends])
        if ids is None:
            shown = [line[len(row[0]) :] for row, line in zip(rows, shown, strict=True)]
        described = zip(shown, facts, ids or [""] * len(rows), strict=True)
        ends = [f"  ({', '.join(added)})" if added else "" for added in distinctions(list(described))]
        if not any(ends):
            break
    yield from aligned(rows, style, colors, optional, ends)


def _left_out(
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    style: Style,
    optional: Sequence[int],
    ends: Sequence[str],
) -> set[int]:
    """Return the columns for which the terminal is too narrow."""
    if style.columns is None:
        return set()
    last = max(width(row[-1]) + width(end) for row, end in zip(rows, ends, strict=True))
    wanted = min(last, _READABLE)
    room = style.columns - sum(widths) - 2 * len(widths)
    found: set[int] = set()
    for column in optional:
        if room >= wanted:
            break
        found.add(column)
        room += widths[column] + 2
    return found


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
