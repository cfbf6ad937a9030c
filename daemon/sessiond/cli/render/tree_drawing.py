"""The tree of a session as text: the rows of `session/tree` in the layout `path`, one line for each.

3f2a91c0  ● user       Fix the flaky test
91bb02aa  ● assistant  The race is between the timer and the queue
77aa00b1  └─▸ user       [first try] Try it with a lock  (12 more)
0a0b0c0d  ● user       Try it without one
1e1f2a2b  ◉ assistant  A queue of its own does it  ◀ leaf
"""

from __future__ import annotations

from sessiond.text import fit, one_line, pad, width
from sessiond.tree_signs import ROLE_COLORS, ROLE_COLUMNS, Signs, label_columns, role_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from sessiond.cli.render.style import Style

_PIPE_COLUMNS = 240
"""The columns by which gutters and labels are cut if the output is not a terminal. The text is not cut then."""


def draw(rows: Sequence[dict[str, Any]], leaf_id: str | None, style: Style) -> Iterator[str]:
    """Yield one line of text for each row, without its newline.

    If the leaf is not among the rows (a filter hides it), its nearest ancestor among them is marked.
    """
    signs = Signs(boxes=style.boxes)
    tip = _tip(rows, leaf_id)
    names = max((width(one_line(row["id"])) for row in rows), default=0)
    for row in rows:
        yield _line(row, tip, names, style, signs)


def _tip(rows: Sequence[dict[str, Any]], leaf_id: str | None) -> str | None:
    if leaf_id is None:
        return None
    on_path = [row["id"] for row in rows if row["onPath"]]  # root first
    return on_path[-1] if on_path else None


def _line(row: dict[str, Any], tip: str | None, names: int, style: Style, signs: Signs) -> str:
    columns = _PIPE_COLUMNS if style.columns is None else style.columns
    on_path, hidden, is_tip = row["onPath"], row["hiddenCount"], row["id"] == tip
    gutter = signs.gutter(row["gutter"], columns)
    sign = signs.folded if hidden else signs.leaf if is_tip else signs.on if on_path else signs.off
    role = role_name(str(row.get("role") or row["type"]))
    name = one_line(row["id"])
    more = f"  ({hidden:,} more)" if hidden else ""
    leaf = f"  {signs.tip}" if is_tip else ""
    padded = pad(fit(role, ROLE_COLUMNS[1], style.ellipsis), ROLE_COLUMNS[0])
    label, text = one_line(row.get("label") or ""), one_line(row.get("preview", ""))
    room = most = label_columns(columns)
    if (
        style.columns is not None
    ):  # otherwise nothing is measured, which would import a table of all characters
        room = columns - sum(
            map(width, (pad(name, names), "  ", gutter, sign, " ", padded, "  ", more, leaf))
        )
        most = min(most, room - len("[] "))
    label = fit(label, most, style.ellipsis)
    label = f"[{label}] " if label else ""
    if style.columns is not None:
        text = fit(text, max(room - width(label), 0), style.ellipsis)
    parts = [
        style(pad(name, names), "dim"),
        "  ",
        style(gutter, "dim"),
        style(sign, "green") if on_path else style(sign, "dim"),
        " ",
        style(padded, ROLE_COLORS.get(role, "dim")),
        "  ",
        style(label, "yellow"),
        text if on_path else style(text, "dim"),
        style(more, "dim"),
        style(leaf, "bold"),
    ]
    return "".join(parts).rstrip()
