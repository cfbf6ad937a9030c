"""Progress of a request that takes long, drawn on standard error over itself, where that is a terminal."""

from __future__ import annotations

import os
import sys

from sessiond.cli.render.style import style_for
from sessiond.text import fit, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.client.blocking import BlockingDaemon

_BAR = 30
_TERMINAL = 80  # columns, where nobody says how many there are
_TOKEN = "cli"  # one request at a time, so that they need not be told apart
_ERASED = "\r\x1b[K"


def call(daemon: BlockingDaemon, method: str, params: dict[str, Any]) -> Any:
    """The result of a method that takes a `workDoneToken`. Leaves nothing of the progress on the screen.

    Ctrl-C leaves the step at which it was; the daemon stops when the connection ends.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return daemon.call(method, params)
    drawer = _Drawer()
    try:
        return daemon.call(method, {**params, "workDoneToken": _TOKEN}, told=drawer.draw)
    except KeyboardInterrupt:
        print(f"{_ERASED}Stopped at: {drawer.said or 'the beginning'}", file=sys.stderr)
        raise
    finally:
        print(_ERASED, end="", file=sys.stderr, flush=True)


class _Drawer:
    """Draws each step over the one before. `said` is the last of them in words."""

    def __init__(self) -> None:
        self.said = ""
        self._style = style_for(sys.stderr)
        self._columns = (self._style.columns or _TERMINAL) - 1  # a full line would go on to the next

    def draw(self, method: str, params: Any) -> None:
        """Take in a notification, and show what it says of the progress."""
        from sessiond.cli.render.bars import bar

        step = params.get("value", {}) if method == "$/progress" else {}
        self.said = one_line(step.get("message") or step.get("title") or "") or self.said
        share = step.get("percentage")
        shown = self.said if share is None else f"{bar(share / 100, _BAR, self._style)} {self.said}"
        if step.get("kind") != "end" and shown:
            fitting = fit(shown, self._columns, self._style.ellipsis)
            print(f"{_ERASED}{fitting}", end="", file=sys.stderr, flush=True)
