"""Progress of a request that takes long, drawn on standard error over itself, where that is a terminal."""

from __future__ import annotations

import sys

from sessiond.cli.style import style_for
from sessiond.text import fit, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sessiond.client.blocking import Daemon

_BAR = 30
_TERMINAL = 80  # columns, where nobody says how many there are
_TOKEN = "cli"  # one request at a time, so that they need not be told apart
_ERASED = "\r\x1b[K"


def call(daemon: Daemon, method: str, params: dict[str, Any]) -> Any:
    """The result of a method that takes a `workDoneToken`. Leaves nothing of the progress on the screen."""
    if not sys.stderr.isatty():
        return daemon.call(method, params)
    try:
        return daemon.call(method, {**params, "workDoneToken": _TOKEN}, told=_drawer())
    finally:
        print(_ERASED, end="", file=sys.stderr, flush=True)


def _drawer() -> Callable[[str, Any], None]:
    from sessiond.cli.bars import bar

    style = style_for(sys.stderr)
    columns = (style.columns or _TERMINAL) - 1  # a full line would go on to the next

    def draw(method: str, params: Any) -> None:
        step = params.get("value", {}) if method == "$/progress" else {}
        said = one_line(step.get("message") or step.get("title") or "")
        if step.get("percentage") is not None:
            said = f"{bar(step['percentage'] / 100, _BAR, style)} {said}"
        if said:
            print(f"{_ERASED}{fit(said, columns, style.ellipsis)}", end="", file=sys.stderr, flush=True)

    return draw
