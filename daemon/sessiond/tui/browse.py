"""Starts the browser from the command line: the first rows are requested while Textual is imported.

Importing Textual takes longer than anything else before the first picture, so it is not imported at the top.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time

from sessiond.error_text import TemplatedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from sessiond.client.blocking import BlockingDaemon

_FIRST = 400
"""Rows around the leaf in the first request."""


class NoTerminalError(TemplatedError):
    """Raised when a standard stream is no terminal, or the terminal cannot move its cursor."""

    sentence = "The tree needs a terminal: {reason}."

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


def check_terminal(environ: Mapping[str, str] = os.environ) -> None:
    """Raise `NoTerminalError` if the browser cannot use the terminal."""
    for name, stream in (("input", sys.__stdin__), ("output", sys.__stdout__), ("error", sys.__stderr__)):
        if stream is None or not stream.isatty():
            raise NoTerminalError(f"standard {name} is not a terminal")
    if environ.get("TERM", "") in ("", "dumb"):
        raise NoTerminalError(f"TERM is {environ.get('TERM') or 'not set'}, which cannot move the cursor")


def browse(
    daemon: BlockingDaemon,
    session_id: str,
    *,
    filter: str,
    query: str | None,
    at: str | None,
    named: Callable[[str], str],
    boxes: bool,
    encoding: str,
) -> None:
    """Show the tree until the user leaves it.

    `named` is called after the daemon's response; it returns the id of the entry that `at` names. Raises `RpcError`
    when there is no such session or entry, before anything is drawn.
    """
    session = daemon.call("session/open", {"sessionId": session_id})["session"]
    first = _Answer(daemon, _question(session, filter, query, at))
    import msgspec

    from sessiond.protocol import types as t
    from sessiond.tui.app import Browser
    from sessiond.tui.row_renderer import RowRenderer

    page = first.wait()
    if at is not None:
        at = named(at)
    browser = Browser(
        msgspec.convert(session, t.SessionInfo),
        locations=None,
        renderer=RowRenderer(None if boxes else encoding),
        now=time.time,
        home=os.environ.get("HOME", ""),
        filter=msgspec.convert(filter, t.Filter),
        query=query,
        first=msgspec.convert(page, t.TreeResult),
        at=at,
    )
    daemon.close()
    gc.enable()  # `cli/main` disables it for short commands
    browser.show()


def _question(session: dict[str, Any], filter: str, query: str | None, at: str | None) -> dict[str, Any]:
    params = {"sessionId": session["sessionId"], "filter": filter, "limit": _FIRST}
    params |= {"layout": "path", "openAll": True}
    if query is not None:
        params["query"] = query
    if (around := at or session.get("leafId")) is not None:
        params["aroundId"] = around
    return params


class _Answer:
    """The response to a request that a thread sends."""

    def __init__(self, daemon: BlockingDaemon, params: dict[str, Any]) -> None:
        self._result: Any = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._ask, args=(daemon, params), daemon=True)
        self._thread.start()

    def wait(self) -> Any:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result

    def _ask(self, daemon: BlockingDaemon, params: dict[str, Any]) -> None:
        try:
            self._result = daemon.call("session/tree", params)
        except Exception as error:  # noqa: BLE001 - raised again by `wait`
            self._error = error
