"""Progress of a long request, drawn in one line of standard error if that is a terminal."""

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
_TERMINAL = 80  # default columns of a terminal
_TOKEN = "cli"  # the same for all requests, since there is one at a time
_ERASED = "\r\x1b[K"


def call(
    daemon: BlockingDaemon, method: str, params: dict[str, Any], *, waits_for_token: bool = False
) -> Any:
    """Return the result of a method that takes a `workDoneToken`. The progress is erased at the end.

    After Ctrl-C the last step stays on the screen; the daemon cancels the request when the connection ends. Without a
    terminal nothing is drawn, and the token is sent only to a method that responds at once without it
    (`waits_for_token`).
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        if waits_for_token:
            return daemon.call(method, {**params, "workDoneToken": _TOKEN}, on_notification=lambda *_: None)
        return daemon.call(method, params)
    drawer = _Drawer()
    try:
        return daemon.call(method, {**params, "workDoneToken": _TOKEN}, on_notification=drawer.draw)
    except KeyboardInterrupt:
        print(f"{_ERASED}Stopped at: {drawer.message or 'the start'}", file=sys.stderr)
        raise
    finally:
        print(_ERASED, end="", file=sys.stderr, flush=True)


class _Drawer:
    """Draws each step over the previous one. `message` is the last message."""

    def __init__(self) -> None:
        self.message = ""
        self._style = style_for(sys.stderr)
        self._columns = (self._style.columns or _TERMINAL) - 1  # a full line would wrap

    def draw(self, method: str, params: Any) -> None:
        """Show the progress in a notification."""
        from sessiond.cli.render.bars import bar

        step = params.get("value", {}) if method == "$/progress" else {}
        self.message = one_line(step.get("message") or step.get("title") or "") or self.message
        share = step.get("percentage")
        shown = self.message if share is None else f"{bar(share / 100, _BAR, self._style)} {self.message}"
        if step.get("kind") != "end" and shown:
            fitting = fit(shown, self._columns, self._style.ellipsis)
            print(f"{_ERASED}{fitting}", end="", file=sys.stderr, flush=True)
