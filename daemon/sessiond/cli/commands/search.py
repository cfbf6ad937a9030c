"""The command search: finds entries by their words, and prints the command that shows each."""

from __future__ import annotations

import os
import sys
import time

from sessiond import human
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.session_argument import agent_filter, period_filter, place_filter, whole_id
from sessiond.cli.render.style import style_for
from sessiond.client.blocking import connect
from sessiond.text import fit, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.cli.render.style import Style

_INDENT = "    "
_WAIT_MS = 60_000
"""The maximum time that `--wait` waits for the index."""


def search(args: ParsedArguments) -> int:
    """Send `session/search`."""
    params: dict[str, Any] = {"query": args.required("QUERY")}
    if not params["query"].strip():
        raise UsageError("QUERY is empty", "sessiond list shows every session.")
    place = place_filter(args)
    if args.value("session") is None or args.flag("here") or args.value("cwd") is not None:
        params |= place
    for option in ("role", "tag", "label"):
        if values := [value for _, value in args.occurrences(option)]:
            params[option + "s"] = values
    params |= agent_filter(args) | period_filter(args)
    for option, field in (("session", "sessionId"), ("cursor", "cursor")):
        if (value := args.value(option)) is not None:
            params[field] = value
    if args.flag("wait"):
        params["waitMs"] = _WAIT_MS
    if (limit := args.number("limit", at_least=1)) is not None:
        params["limit"] = limit
    with connect() as daemon:
        if "sessionId" in params:
            params["sessionId"] = whole_id(daemon, params["sessionId"])
        if args.flag("json"):
            print(daemon.call_text("session/search", params))
            return 0
        found = daemon.call("session/search", params)
    style = style_for(sys.stdout)
    print(*(_formatted(hit, style) for hit in found["hits"]), sep="\n\n", end="\n" if found["hits"] else "")
    _print_notes(found, is_limited="project" in params or "cwd" in params)
    return 0


def _formatted(hit: dict[str, Any], style: Style) -> str:
    session, entry = one_line(hit["sessionId"]), hit.get("labeledEntryId") or hit.get("entryId")
    head = [
        style(human.ago(hit["timestamp"] or "", time.time()), "dim"),
        one_line(hit.get("role") or hit["type"]),
        style(one_line(hit.get("title") or "untitled"), "bold"),
        style(one_line(human.folder(hit["cwd"], os.path.expanduser("~"))), "blue"),  # noqa: PTH111 - as in sessions
    ]
    if origin := hit.get("origin"):
        from sessiond.agents import names

        head.insert(2, style(one_line(names.short_name_of(origin["agent"])), "cyan"))
    if not hit["onPath"]:
        head.append("(on another branch)")
    command = f"sessiond show {session}" + (f" --entry {one_line(entry)}" if entry else "")
    return "\n".join(
        (
            "  ".join(head),
            _INDENT + _marked(hit["snippet"], _in_code_points(hit["snippet"], hit["ranges"]), style),
            _INDENT + style(command, "dim"),
        )
    )


def _in_code_points(text: str, ranges: Sequence[dict[str, int]]) -> list[tuple[int, int]]:
    """Convert the ranges of a result, which count UTF-16 code units because the client has made no handshake."""
    units = text.encode("utf-16-le", "surrogatepass")

    def place(unit: int) -> int:
        return len(units[: 2 * unit].decode("utf-16-le", "surrogatepass"))

    return [(place(it["start"]), place(it["end"])) for it in ranges]


def _marked(snippet: str, ranges: Sequence[tuple[int, int]], style: Style) -> str:
    """Return the snippet with colored matches; without color if it contains characters unsafe for a terminal."""
    if style.columns is not None:
        snippet = fit(snippet, max(style.columns - len(_INDENT), 20), style.ellipsis)
    harmless = one_line(snippet)
    if harmless != snippet:
        return harmless
    parts, at = [], 0
    for start, end in ranges:
        parts += [snippet[at:start], style(snippet[start:end], "bold", "yellow")]
        at = max(at, end)
    return "".join([*parts, snippet[at:]])


def _print_notes(found: dict[str, Any], *, is_limited: bool) -> None:
    unsearched = found["unsearched"]
    if unsearched["sessionCount"]:
        left = human.count(unsearched["sessionCount"], "session"), human.size(unsearched["sizeBytes"])
        print(f"{left[0]} ({left[1]}) could not be searched yet. --wait waits for them.", file=sys.stderr)
    elif not found["hits"]:
        print("No matches. All words must occur in one entry; word* matches a prefix.", file=sys.stderr)
        if is_limited:
            print("  --all searches the sessions of all projects.", file=sys.stderr)
    if found.get("nextCursor"):
        print("There are more results: use a higher --limit.", file=sys.stderr)
