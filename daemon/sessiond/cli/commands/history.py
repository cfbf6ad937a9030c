"""The command history: the last prompts, or those with some words."""

from __future__ import annotations

import os
import sys
import time

from sessiond import human
from sessiond.cli.parse.session_argument import where
from sessiond.cli.render.style import style_for
from sessiond.client.blocking import connect
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import Given


def history(given: Given) -> int:
    """Send `history/recent`, or `history/search` if there is a query."""
    params: dict[str, Any] = {}
    query = given.text("QUERY")
    if query is not None:
        params["query"] = query
    if given.text("cwd") is not None:
        params["cwd"] = where(given)
    if (cursor := given.text("cursor")) is not None:
        params["cursor"] = cursor
    if (limit := given.number("limit", at_least=1)) is not None:
        params["limit"] = limit
    method = "history/recent" if query is None else "history/search"
    with connect() as daemon:
        if given.flag("json"):
            print(daemon.call_text(method, params))
            return 0
        found = daemon.call(method, params)
    if not found["prompts"]:
        print("No prompt is like that." if query else "No prompt is remembered yet.", file=sys.stderr)
        return 0
    _print(found["prompts"])
    if found.get("nextCursor"):
        print("There are more: repeat it with a higher --limit.", file=sys.stderr)
    return 0


def _print(prompts: list[dict[str, Any]]) -> None:
    from sessiond.cli.render.columns import aligned

    now, home = time.time(), os.path.expanduser("~")  # noqa: PTH111 - importing pathlib would take 5 ms
    rows = [
        [
            human.ago(it["createdAt"], now),
            one_line(human.folder(it.get("cwd") or "", home)),
            one_line(it["prompt"]),
        ]
        for it in prompts
    ]
    for line in aligned(rows, style_for(sys.stdout), ["dim", "blue"]):
        print(line)
