"""The command compact: replaces the older part of a session by a summary, or previews that."""

from __future__ import annotations

import sys

from sessiond import human
from sessiond.cli.parse import stdin
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id, session_id_to_write
from sessiond.cli.render import leaving_entries, progress
from sessiond.cli.render.bars import bar, percent
from sessiond.cli.render.style import style_for
from sessiond.text import lines, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.cli.render.style import Style
    from sessiond.client.blocking import BlockingDaemon

_BAR = 24
_SETTINGS = (
    ("keep-recent", "keepRecentTokens"),
    ("context-window", "contextWindow"),
    ("reserve", "reserveTokens"),
)
_NOTHING = {
    "alreadyCompacted": ("Nothing to compact: the path ends with a compaction.", ""),
    "nothingToSummarize": (
        "Nothing to compact: all entries count as recent.",
        "Use a smaller --keep-recent N.",
    ),
    "callsUnanswered": (
        "Nothing to compact now: a tool call has no result yet.",
        "Try again after the result is appended.",
    ),
}


def compact(args: ParsedArguments) -> int:
    """Send `session/compact`, or `session/prepareCompaction` for a dry run."""
    params: dict[str, Any] = {}
    if settings := chosen_settings(args):
        params["settings"] = settings
    if (instructions := args.value("instructions")) is not None:
        params["instructions"] = instructions
    if args.flag("dry-run"):
        if args.value("summary") is not None:
            raise UsageError("--dry-run and --summary cannot both be given")
        return _preview(args, params)
    if (summary := stdin.text(args, "summary")) is not None:
        params["summary"] = summary
    with connect(args) as daemon:
        name = params["sessionId"] = session_id_to_write(daemon, args)
        if args.flag("json"):
            print(daemon.call_text("session/compact", params))
            return 0
        done = progress.call(daemon, "session/compact", params)
    show_summary(done)
    tokens = f"{human.amount(done['tokensBefore'])} tokens became {human.amount(done['tokensAfter'])}"
    print(f"{done['recordId']} replaces all entries before {one_line(done['firstKeptEntryId'])}: {tokens}.")
    if (before := done.get("previousLeafId")) is not None:
        print(f"To undo it: sessiond branch {one_line(name)} {one_line(before)}")
    return 0


def chosen_settings(args: ParsedArguments) -> dict[str, Any]:
    """Return the compaction settings among the options, with their names on the wire."""
    chosen = {field: args.number(option) for option, field in _SETTINGS}
    return {field: number for field, number in chosen.items() if number is not None}


def show_summary(done: dict[str, Any]) -> None:
    """Print a summary, unless the user gave it."""
    if done["summary"] is not None and done["summarizedBy"] != "given":
        print(*(f"  {line}".rstrip() for line in lines(done["summary"])), "", sep="\n")


def _preview(args: ParsedArguments, params: dict[str, Any]) -> int:
    with connect() as daemon:
        params["sessionId"] = session_id(daemon, args)
        if args.flag("json"):
            print(daemon.call_text("session/prepareCompaction", params))
            return 0
        prepared = daemon.call("session/prepareCompaction", params)
        if prepared["reason"] is not None:
            reason_text, then = _NOTHING.get(
                prepared["reason"], (f"Nothing to compact: {prepared['reason']}.", "")
            )
            print(reason_text)
            if then:
                print(then, file=sys.stderr)
            return 0
        print(*_preview_lines(daemon, params["sessionId"], prepared), sep="\n")
    return 0


def _preview_lines(daemon: BlockingDaemon, name: str, prepared: dict[str, Any]) -> Iterator[str]:
    style = style_for(sys.stdout)
    leaves = prepared["entryIdsToSummarize"]
    yield from leaving_entries.entries(daemon, name, leaves, [prepared["firstKeptEntryId"]])
    yield ""
    count = human.count(len(leaves), "entry", "entries")
    yield f"A summary would replace {count}. The entry with the filled mark and all later entries stay."
    if prepared["splitTurn"]:
        cut = human.count(len(prepared["turnPrefixIds"]), "entry", "entries")
        yield f"The newest turn would be split: {cut} of it would be summarized."
    if prepared["previousSummary"] is not None:
        yield "The summary would include the summary of the previous compaction."
    yield from leaving_entries.files(prepared["fileOperations"])
    yield from _tokens(prepared, style)


def _tokens(prepared: dict[str, Any], style: Style) -> Iterator[str]:
    """Yield lines with the use of the window now and after the compaction."""
    settings = prepared["settings"]
    window, reserve = settings["contextWindow"], settings["reserveTokens"]
    color = "red" if prepared["needed"] else "green"
    for heading, tokens, note in (
        (
            "now ",
            prepared["tokensBefore"],
            f", full above {human.amount(max(window - reserve, 0))}",
        ),
        ("then", prepared["tokensAfter"], " and the summary"),
    ):
        share = tokens / window if window else 1.0
        text = f"{percent(share)}, {human.amount(tokens)} of {human.amount(window)} tokens{note}"
        yield f"{style(heading, 'dim')}  {style(bar(share, _BAR, style), color)}  {text}"
        color = "green"
