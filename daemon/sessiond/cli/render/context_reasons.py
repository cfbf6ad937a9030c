"""Drawing of the entries of a path with the reason why each is in, changed in or out of the context."""

from __future__ import annotations

from sessiond import human
from sessiond.cli.render.columns import behind
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from sessiond.cli.render.style import Style

_SIGNS = {"in": "●", "changed": "◐", "out": "○"}
_ASCII = {"in": "*", "changed": "~", "out": "o"}
_COLORS = {"in": "green", "changed": "yellow", "out": "dim"}


def explained(entries: Sequence[dict[str, Any]], style: Style) -> Iterator[str]:
    """Yield one line for each entry of `explanation`, and one with their counts."""
    signs = _SIGNS if style.boxes else _ASCII
    tokens = [human.amount(entry["tokens"]) if entry["fate"] != "out" else "" for entry in entries]
    numbers = max(map(len, tokens), default=0)
    rows = [
        (
            one_line(entry["entryId"]),
            one_line(entry["role"] or entry["type"]),
            count.rjust(numbers),
            one_line(entry["message"]),
        )
        for entry, count in zip(entries, tokens, strict=True)
    ]
    marks = [style(signs[entry["fate"]], _COLORS[entry["fate"]]) for entry in entries]
    yield from behind(marks, 1, rows, style, ("dim", "", "dim"))
    if entries:
        yield ""
    yield _counted(entries, signs)


def _counted(entries: Sequence[dict[str, Any]], signs: dict[str, str]) -> str:
    of_fate = {fate: sum(entry["fate"] == fate for entry in entries) for fate in signs}
    counts = [f"{signs[fate]} {count:,} {fate}" for fate, count in of_fate.items() if count]
    return ", ".join(counts) or "The path is empty."
