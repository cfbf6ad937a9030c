"""The command history: lists the last prompts, or those with some words, and deletes prompts."""

from __future__ import annotations

import os
import sys
import time

from sessiond import human
from sessiond.cli.parse import stdin
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import working_folder
from sessiond.cli.render.style import style_for
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments


def history(args: ParsedArguments) -> int:
    """Send `history/list`, or `history/delete` if the first word is `delete`."""
    query = args.value("QUERY")
    if query == "delete":
        return _delete(args)
    if args.trailing:
        raise UsageError(
            f"history got an unexpected argument {args.trailing[0]!r}",
            "Quote a text of several words.",
        )
    params: dict[str, Any] = {}
    if query is not None:
        params["query"] = query
    if args.value("cwd") is not None:
        params["cwd"] = working_folder(args)
    if (session := args.value("session")) is not None:
        params["sessionId"] = session
    if (cursor := args.value("cursor")) is not None:
        params["cursor"] = cursor
    if (limit := args.number("limit", at_least=1)) is not None:
        params["limit"] = limit
    with connect(args) as daemon:
        if args.flag("json"):
            print(daemon.call_text("history/list", params))
            return 0
        found = daemon.call("history/list", params)
    if not found["prompts"]:
        print("No prompts match." if query else "The history is empty.", file=sys.stderr)
        return 0
    _print(found["prompts"])
    if found["nextCursor"]:
        print("There are more results: use a higher --limit.", file=sys.stderr)
    return 0


def _delete(args: ParsedArguments) -> int:
    """Send `history/delete`."""
    ids = stdin.ids(args)
    if not ids:
        raise UsageError(
            "history delete needs the ids of prompts",
            "sessiond history lists them. To search for the word delete: sessiond history 'delete '",
        )
    with connect(args) as daemon:
        if args.flag("json"):
            print(daemon.call_text("history/delete", {"promptIds": ids}))
            return 0
        deleted = daemon.call("history/delete", {"promptIds": ids})["deletedIds"]
    if deleted:
        print(*map(one_line, deleted), sep="\n")
    print(f"{human.count(len(deleted), 'prompt')} deleted", file=sys.stderr)
    return 0


def _print(prompts: list[dict[str, Any]]) -> None:
    from sessiond.cli.render.columns import aligned

    now, home = time.time(), os.path.expanduser("~")  # noqa: PTH111 - importing pathlib would take 5 ms
    rows = [
        [
            one_line(prompt["promptId"]),
            human.ago(prompt["createdAt"], now),
            one_line(human.folder(prompt["cwd"] or "", home)),
            one_line(prompt["prompt"]),
        ]
        for prompt in prompts
    ]
    for line in aligned(rows, style_for(sys.stdout), ["yellow", "dim", "blue"]):
        print(line)
