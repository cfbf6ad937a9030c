"""The tree of a session as text: branches are indented, chains are not, the path to the leaf is filled in.

    ● 3f2a91c0  user       Fix the flaky test
    ● 91bb02aa  assistant  The race is between the timer and the queue
    ├─○ 77aa00b1  user       Try it with a lock  [first try]
    │ ○ 8c1d22e3  assistant  With a lock the test passes
    └─● 0a0b0c0d  user       Try it without one
      ● 1e1f2a2b  assistant  A queue of its own does it  ◀ leaf

The input is the rows of `session/tree` in preorder. Each row is visited once, so a tree of any size and depth is
drawn line by line.
"""

from __future__ import annotations

from sessiond.text import fit, one_line, pad, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from sessiond.cli.render.style import Style

_BOXES = {"on": "●", "off": "○", "fork": "├─", "last": "└─", "bar": "│ ", "leaf": "◀ leaf", "deep": "… "}
_ASCII = {"on": "*", "off": "o", "fork": "|-", "last": "`-", "bar": "| ", "leaf": "<- leaf", "deep": ".. "}
_ROLE_COLORS = {"user": "cyan", "assistant": "green", "toolResult": "blue"}
_ROLE_COLUMN = (9, 14)  # minimum and maximum columns; "assistant" and "branch_summary" fit
_NARROWEST_TEXT = 20
_WIDEST_GUTTER = 120  # columns, if the output is not a terminal


def draw(rows: Sequence[dict[str, Any]], leaf_id: str | None, style: Style) -> Iterator[str]:
    """Yield one line of text for each row, without its newline.

    If the leaf is not among the rows (a filter hides it), its nearest ancestor among them is marked.
    """
    signs = _BOXES if style.boxes else _ASCII
    tip = _tip(rows, leaf_id)
    roles = max((len(_role(row)) for row in rows), default=0)
    column = min(max(roles, _ROLE_COLUMN[0]), _ROLE_COLUMN[1])
    # For each row that may still get children: the gutter of its children, and whether it forks.
    open_rows: list[tuple[str | None, str, bool]] = []
    roots_fork: bool | None = None
    for row in rows:
        if roots_fork is None:
            roots_fork = row.get("parentId") is None and not row.get("lastSibling", True)
        while open_rows and open_rows[-1][0] != row.get("parentId"):
            open_rows.pop()
        _, gutter, forks = open_rows[-1] if open_rows else (None, "", roots_fork)
        last = row.get("lastSibling", True)
        before, below = gutter, gutter
        if forks:
            before += signs["last"] if last else signs["fork"]
            below += "  " if last else signs["bar"]
        yield _line(row, before, tip, column, style, signs)
        # Only the end of a deep gutter is shown, so only that is stored for ten thousand nested forks.
        open_rows.append((row["id"], below[-2 * _WIDEST_GUTTER :], row.get("childCount", 0) > 1))


def _tip(rows: Sequence[dict[str, Any]], leaf_id: str | None) -> str | None:
    if leaf_id is None:
        return None
    on_path = [row["id"] for row in rows if row["onPath"]]  # root first, as in any preorder
    return on_path[-1] if on_path else None


def _role(row: dict[str, Any]) -> str:
    return one_line(str(row.get("role") or row["type"]))


def _line(
    row: dict[str, Any], gutter: str, tip: str | None, column: int, style: Style, signs: dict[str, str]
) -> str:
    on_path = row["onPath"]
    role = _role(row)
    end = _end(row, tip, style, signs)
    gutter = _shallow(gutter, style, signs)
    name = one_line(row["id"])
    start = f"{gutter}{signs['on' if on_path else 'off']} {name}  {pad(role, column)}  "
    text = one_line(row.get("preview", ""))
    if style.columns is not None:
        room = style.columns - width(start) - sum(2 + width(mark) for mark, _ in end)
        text = fit(text, max(room, 0), style.ellipsis)
    parts = [
        style(gutter, "dim"),
        style(signs["on"], "green") if on_path else style(signs["off"], "dim"),
        " ",
        style(name, "dim"),
        "  ",
        style(pad(role, column), _ROLE_COLORS.get(role, "dim")),
        "  ",
        text if on_path else style(text, "dim"),
        *("  " + style(mark, color) for mark, color in end),
    ]
    return "".join(parts).rstrip()


def _end(row: dict[str, Any], tip: str | None, style: Style, signs: dict[str, str]) -> list[tuple[str, str]]:
    marks = []
    if label := one_line(row.get("label") or ""):
        longest = _NARROWEST_TEXT if style.columns is None else max(_NARROWEST_TEXT, style.columns // 4)
        marks.append((f"[{fit(label, longest, style.ellipsis) if style.columns else label}]", "yellow"))
    if row["id"] == tip:
        marks.append((signs["leaf"], "bold"))
    return marks


def _shallow(gutter: str, style: Style, signs: dict[str, str]) -> str:
    """Return the gutter, cut on the left if it would leave no room for the text."""
    widest = _WIDEST_GUTTER if style.columns is None else min(style.columns // 2, _WIDEST_GUTTER)
    if len(gutter) <= widest:
        return gutter
    return signs["deep"] + gutter[-max(widest // 4 * 2, 2) :]
