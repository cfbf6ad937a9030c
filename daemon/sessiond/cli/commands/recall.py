"""The command recall: prints the passages of all sessions that answer a question, grouped by session."""

from __future__ import annotations

import sys
import time

from sessiond import human
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.session_argument import agent_filter, place_filter
from sessiond.cli.render.found_entries import (
    WAIT_MS,
    print_unsearched,
    request_found,
    session_head,
    show_command,
)
from sessiond.cli.render.style import style_for
from sessiond.client.blocking import connect
from sessiond.text import one_line, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.cli.render.style import Style

_INDENT = "    "
_DEFAULT_COLUMNS = 80


def recall(args: ParsedArguments) -> int:
    """Send `session/recall`."""
    params: dict[str, Any] = {"question": args.required("QUESTION")}
    if not params["question"].strip():
        raise UsageError("QUESTION is empty", "sessiond list shows every session.")
    if also := [value for _, value in args.occurrences("also")]:
        params["also"] = also
    params |= place_filter(args) | agent_filter(args)
    for option, field in (("budget", "budgetTokens"), ("limit", "limit")):
        if (number := args.number(option, at_least=1)) is not None:
            params[field] = number
    if args.flag("wait"):
        params["waitMs"] = WAIT_MS
    with connect() as daemon:
        if args.flag("json"):
            print(daemon.call_text("session/recall", params))
            return 0
        found = request_found(daemon, "session/recall", params, field="passages")
    style = style_for(sys.stdout)
    sessions: dict[str, list[dict[str, Any]]] = {}
    for passage in found["passages"]:
        sessions.setdefault(passage["sessionId"], []).append(passage)
    groups = [_formatted_session(passages, style) for passages in sessions.values()]
    print(*groups, sep="\n\n", end="\n" if groups else "")
    _print_notes(found, is_limited="project" in params or "cwd" in params)
    return 0


def _formatted_session(passages: list[dict[str, Any]], style: Style) -> str:
    return "\n".join(
        (session_head(passages[0], style), *(_formatted(passage, style) for passage in passages))
    )


def _formatted(passage: dict[str, Any], style: Style) -> str:
    columns = max((style.columns or _DEFAULT_COLUMNS) - len(_INDENT), 20)
    notes = [
        style(human.ago(passage["timestamp"] or "", time.time()), "dim"),
        one_line(passage.get("role") or passage["type"]),
    ]
    if passage["newest"]:
        notes.append("(newest about this)")
    if newer := passage.get("newerEntryId"):
        notes.append(f"(older: see {one_line(newer)})")
    if not passage["onPath"]:
        notes.append("(on an abandoned branch)")
    command = show_command(passage["sessionId"], passage.get("entryId"))
    lines = ["  " + "  ".join(notes)]
    lines += [_INDENT + line for line in wrap(one_line(passage["text"]), columns)]
    if neighbor := passage.get("neighbor"):
        text = one_line(f"{neighbor['role']}: {neighbor['text']}")
        lines += [_INDENT + style(line, "dim") for line in wrap(text, columns)]
    return "\n".join([*lines, _INDENT + style(command, "dim")])


def _print_notes(found: dict[str, Any], *, is_limited: bool) -> None:
    is_complete = not print_unsearched(found)
    if not found["passages"] and not found["omittedCount"]:
        if is_complete:
            more = " --all asks the sessions of all projects." if is_limited else ""
            print(f"Nothing was found. --also WORDS asks in other words.{more}", file=sys.stderr)
    elif found["omittedCount"]:
        count = human.count(found["omittedCount"], "passage")
        print(f"{count} did not fit: use a higher --budget or --limit.", file=sys.stderr)
    if found["redactionIncomplete"]:
        print("Some kinds of secrets were not looked for: Kingfisher is not installed.", file=sys.stderr)
