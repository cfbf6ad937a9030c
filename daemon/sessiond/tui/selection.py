"""The selected line of a list that scrolls."""

from textual.scroll_view import ScrollView


def moved_selection(view: ScrollView, at: int, count: int, lines: int) -> int:
    """Move the selection of a list, and scroll so that it is seen.

    Args:
        view: The list.
        at: The selected line.
        count: The number of lines.
        lines: By how many lines to move down; up if negative.

    Returns:
        The line that is selected now.
    """
    at = min(max(at + lines, 0), max(count - 1, 0))
    seen = max(view.size.height, 1)
    top = min(max(view.scroll_offset.y, at - seen + 1), at)
    view.scroll_to(y=top, animate=False, immediate=True)
    view.refresh()
    return at
