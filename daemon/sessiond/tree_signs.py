"""The signs and names in drawn trees, the same in the output of commands and in the terminal browser.

● user       Fix the flaky test
● assistant  The race is between the timer and the queue
└─▸ user       [first try] Try it with a lock  (12 more)
● user       Try it without one
◉ assistant  A queue of its own does it  ◀ leaf
"""

from __future__ import annotations

from sessiond.text import one_line


class Signs:
    """The characters of a drawing: with box characters, or plain ones for a terminal without them."""

    __slots__ = ("columns", "deep", "ellipsis", "folded", "leaf", "off", "on", "tip")

    def __init__(self, *, boxes: bool) -> None:
        self.on, self.off, self.leaf, self.folded = "●○◉▸" if boxes else "*o@+"
        self.tip = "◀ leaf" if boxes else "<- leaf"
        self.deep = "… " if boxes else ".."
        self.ellipsis = "…" if boxes else "..."
        drawn = ("│ ", "  ", "├─", "└─") if boxes else ("| ", "  ", "|-", "`-")
        self.columns = dict(zip("| +'", drawn, strict=True))
        """The characters to draw for each character of a row's gutter."""

    def gutter(self, columns: str, width: int) -> str:
        """Return a drawn gutter for a line of this width. If it takes more than a third, it is cut on the left."""
        most = max(width // 6, 1)
        deep = ""
        if len(columns) > most:
            deep, columns = self.deep, columns[-most:]
        return deep + "".join(self.columns[column] for column in columns)


_ROLES = {
    "toolResult": "tool", "bashExecution": "shell", "compaction": "compacted", "branch_summary": "summary",
    "custom_message": "custom",
}  # fmt: skip

ROLE_COLORS = {"user": "cyan", "assistant": "green", "tool": "blue", "shell": "blue"}
"""The colors of displayed roles; others are dim."""

ROLE_COLUMNS = (9, 14)
"""Minimum and maximum columns of a displayed role."""


def role_name(name: str) -> str:
    """Return a role or an entry type as it is displayed."""
    return one_line(_ROLES.get(name, name))


def label_columns(width: int) -> int:
    """Return how many columns a label takes at most, so that it never takes the row."""
    return max(width // 3, 8)
