"""Bars that show a share, as text."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.cli.render.style import Style

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bar(share: float, columns: int, style: Style) -> str:
    """Return a bar of this many columns, filled up to the share (0 to 1). It is empty only at 0 and full only at 1."""
    steps = columns * 8 if style.boxes else columns
    filled = round(max(0.0, min(share, 1.0)) * steps)
    if 0 < share < 1:
        filled = max(1, min(filled, steps - 1))
    if not style.boxes:
        return "#" * filled + "." * (columns - filled)
    whole, part = divmod(filled, 8)
    text = "█" * whole + (_EIGHTHS[part] if part else "")
    return text + "░" * (columns - len(text))


def percent(share: float) -> str:
    """Format a share in percent: `77 %`, `0.6 %`, `<0.1 %`."""
    amount = share * 100
    if 0 < amount < 0.1:
        return "<0.1 %"
    return f"{amount:.0f} %" if amount >= 9.95 or amount == 0 else f"{amount:.1f} %"
