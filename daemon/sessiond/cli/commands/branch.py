"""The command branch: moves the leaf to an earlier entry, with or without a summary of the branch that it leaves."""

from __future__ import annotations

import sys

from sessiond import human
from sessiond.cli.commands.compact import show_summary
from sessiond.cli.parse import stdin
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id, session_id_to_write
from sessiond.cli.render import leaving_entries, progress
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments


def branch(args: ParsedArguments) -> int:
    """Send `session/branch`, or `session/prepareBranch` for a dry run."""
    target = args.required("ENTRY")
    params: dict[str, Any] = {"entryId": None if target == "root" else target}
    if (instructions := args.value("instructions")) is not None:
        if not args.flag("summarize") and not args.flag("dry-run"):
            raise UsageError("--instructions requires --summarize")
        params["instructions"] = instructions
    if args.flag("dry-run"):
        if others := [name for name in ("summarize", "summary", "expect") if args.occurrences(name)]:
            raise UsageError(f"--dry-run and --{others[0]} cannot both be given")
        return _preview(args, params)
    if args.flag("summarize") and args.value("summary") is not None:
        raise UsageError("--summarize and --summary cannot both be given")
    if (summary := stdin.text(args, "summary")) is not None:
        params["summary"] = summary
    if args.flag("summarize"):
        params["summarize"] = True
    if (expected := args.value("expect")) is not None:
        params["expectedLeafId"] = expected
    with connect(args) as daemon:
        params["sessionId"] = session_id_to_write(daemon, args)
        if args.flag("json"):
            print(daemon.call_text("session/branch", params))
            return 0
        moved = progress.call(daemon, "session/branch", params)
    show_summary(moved)
    if args.flag("summarize") and moved["summary"] is None:
        print("No entries were left behind, so there is no summary.", file=sys.stderr)
    leaf = moved.get("leafId")
    print(f"The leaf is now {one_line(leaf)}." if leaf else "The leaf is now before the first entry.")
    return 0


def _preview(args: ParsedArguments, params: dict[str, Any]) -> int:
    with connect() as daemon:
        name = params["sessionId"] = session_id(daemon, args)
        if args.flag("json"):
            print(daemon.call_text("session/prepareBranch", params))
            return 0
        prepared = daemon.call("session/prepareBranch", params)
        left = prepared["entryIdsToSummarize"]
        if not left:
            print("No entries would be left behind.")
            return 0
        print(*leaving_entries.entries(daemon, name, left), "", sep="\n")
    count = human.count(len(left), "entry", "entries")
    tokens = human.amount(prepared["tokens"])
    common = prepared["commonAncestorId"]
    print(f"{count} would be left behind, about {tokens} tokens; {_ancestor_text(common)}")
    for line in leaving_entries.files(prepared["fileOperations"]):
        print(line)
    if prepared["editorText"] is not None:
        target = prepared["resumeAtId"] or "root"
        print(f"To rephrase that message: sessiond branch {one_line(name)} {one_line(target)}")
    return 0


def _ancestor_text(common_id: str | None) -> str:
    return (
        f"the common ancestor is {one_line(common_id)}."
        if common_id
        else "the branches have no common ancestor."
    )
