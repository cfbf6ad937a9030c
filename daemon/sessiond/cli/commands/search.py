"""The command search: finds entries by their words, and prints them by session, each with the command that shows it."""

from __future__ import annotations

import sys
import time

from sessiond import human
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.session_argument import agent_filter, period_filter, place_filter, whole_id
from sessiond.cli.render.found_entries import (
    WAIT_MS,
    print_unsearched,
    request_found,
    session_head,
    show_command,
)
from sessiond.cli.render.style import is_own_terminal, style_for
from sessiond.client.blocking import connect
from sessiond.text import fit, one_line, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.cli.render.style import Style

_INDENT = "    "


def search(args: ParsedArguments) -> int:
    """Send `session/search`."""
    params = _params(args)
    with connect() as daemon:
        if "sessionId" in params:
            params["sessionId"] = whole_id(daemon, params["sessionId"])
        if args.flag("json"):
            print(daemon.call_text("session/search", params))
            return 0
        found = request_found(daemon, "session/search", params, field="hits")
    style = style_for(sys.stdout)
    sessions: dict[str, list[dict[str, Any]]] = {}  # in the order of the best hit of each
    for hit in found["hits"]:
        sessions.setdefault(hit["sessionId"], []).append(hit)
    print(*(_formatted(hits, style) for hits in sessions.values()), sep="\n\n", end="\n" if sessions else "")
    _print_notes(found, is_limited="project" in params or "cwd" in params)
    return 0


def _params(args: ParsedArguments) -> dict[str, Any]:
    query = args.required("QUERY")
    if not query.strip():
        raise UsageError("QUERY is empty", "sessiond list shows every session.")
    params: dict[str, Any] = {"query": query if args.flag("exact") else with_beginnings(query)}
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
    if not args.flag("no-redact") and not is_own_terminal(sys.stdout):
        params["redact"] = True
    if args.flag("wait"):
        params["waitMs"] = WAIT_MS
    if (limit := args.number("limit", at_least=1)) is not None:
        params["limit"] = limit
    return params


def with_beginnings(query: str) -> str:
    """Return a query that also finds words that only begin with its words, if these have at least three characters.

    Phrases in quotation marks stay as they are.
    """
    parts = query.split('"')
    for number in range(0, len(parts), 2):  # those outside of quotation marks
        words = parts[number].split(" ")
        parts[number] = " ".join(
            f"{word}*" if len(word) > 2 and word[-1].isalnum() else word for word in words
        )
    return '"'.join(parts)


def _formatted(hits: Sequence[dict[str, Any]], style: Style) -> str:
    """Return the hits of one session below its title."""
    lines = [session_head(hits[0], style)]
    for hit in hits:
        lines.append(_INDENT + _marked(hit["snippet"], _in_code_points(hit["snippet"], hit["ranges"]), style))
        notes = [human.ago(hit["timestamp"] or "", time.time()), one_line(hit.get("role") or hit["type"])]
        if not hit["onPath"]:
            notes.append("(on another branch)")
        command = show_command(hit["sessionId"], hit.get("labeledEntryId") or hit.get("entryId"))
        fits = style.columns is None or width(_INDENT + "  ".join((*notes, command))) <= style.columns
        gap = "  " if fits else f"\n{_INDENT}"
        lines.append(_INDENT + "  ".join((style(notes[0], "dim"), *notes[1:])) + gap + style(command, "dim"))
    return "\n".join(lines)


def _in_code_points(text: str, ranges: Sequence[dict[str, int]]) -> list[tuple[int, int]]:
    """Convert the ranges of a result, which count UTF-16 code units because the client has made no handshake."""
    units = text.encode("utf-16-le", "surrogatepass")

    def place(unit: int) -> int:
        return len(units[: 2 * unit].decode("utf-16-le", "surrogatepass"))

    return [(place(range_["start"]), place(range_["end"])) for range_ in ranges]


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
    if not print_unsearched(found) and not found["hits"]:
        print("No matches. All words must occur in one entry.", file=sys.stderr)
        if is_limited:
            print("  --all searches the sessions of all projects.", file=sys.stderr)
    if found.get("nextCursor"):
        print("There are more results: use a higher --limit.", file=sys.stderr)
