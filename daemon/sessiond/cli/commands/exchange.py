"""The commands import and export, for sessions of other programs.

Standard output is for scripts: the id of each session that was created or has grown, or the exported text.
Reports about lines go to standard error.
"""
# Without pathlib, whose import would take 5 of the 25 ms that a command may take.
# ruff: noqa: PTH100

from __future__ import annotations

import json  # noqa: TID251 - the thin client has no msgspec
import os
import sys

from sessiond import human
from sessiond.cli.exit_codes import FAILURE, SUCCESS
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id
from sessiond.cli.render import progress
from sessiond.cli.render.off_path import print_off_path
from sessiond.text import lines, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.client.blocking import BlockingDaemon

_FEW = 5
_FOR_BUNDLES = ("identity", "map", "dry-run", "no-size-limit")
"""Options of import that apply only to a bundle."""


def import_(args: ParsedArguments) -> int:
    """Send `session/import`; for a bundle, store its sessions."""
    if _is_bundle(args):
        from sessiond.cli.commands.bundle import take

        return take(args, os.path.abspath(args.required("PATH")))
    params: dict[str, Any] = {"path": os.path.abspath(args.required("PATH"))}
    if (dialect := args.value("format")) is not None:
        params["format"] = dialect
    if (cwd := args.value("cwd")) is not None:
        params["cwd"] = os.path.abspath(cwd)
    whole: dict[str, Any] = {"sessions": [], "skipped": [], "nextCursor": None}
    with connect() as daemon:
        try:
            for result in _pages(daemon, params):
                whole["sessions"] += result["sessions"]
                whole["skipped"] += result["skipped"]
                if not args.flag("json"):
                    _print_ids(result["sessions"])
        except KeyboardInterrupt:
            print(
                "Sessions that were already imported stay. Run the same command again to import the rest.",
                file=sys.stderr,
            )
            raise
    if args.flag("json"):
        print(json.dumps(whole, ensure_ascii=False))
    else:
        _explain_import(whole["sessions"], whole["skipped"])
    return SUCCESS if whole["sessions"] else FAILURE


def _is_bundle(args: ParsedArguments) -> bool:
    """Return whether the file is a bundle, by its bytes. Raises `UsageError` for an option of the other kind."""
    from sessiond.sync.bundle.recognition import is_bundle_file

    is_bundle = is_bundle_file(args.required("PATH"))
    wrong = ("format", "cwd") if is_bundle else _FOR_BUNDLES
    for name, _ in args.occurrences(*wrong):
        problem = (
            "does not apply to a bundle" if is_bundle else "applies only to a bundle, which this file is not"
        )
        raise UsageError(f"--{name} {problem}", "sessiond import --help")
    return is_bundle


def _pages(daemon: BlockingDaemon, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Send requests until all files are imported, and yield each result."""
    cursor: str | None = None
    while True:
        page = params if cursor is None else {**params, "cursor": cursor}
        result = progress.call(daemon, "session/import", page)
        yield result
        if (cursor := result["nextCursor"]) is None:
            return


def _print_ids(sessions: list[dict[str, Any]]) -> None:
    """Print the ids of the sessions that were created or have grown."""
    for session in sessions:
        if session["status"] != "unchanged":
            print(one_line(session["sessionId"]))


def export(args: ParsedArguments) -> int:
    """Send `session/export`."""
    params: dict[str, Any] = {"format": args.value("format") or "markdown"}
    if (leaf := args.value("leaf")) is not None:
        params["leafId"] = leaf
    path = args.value("output")
    if path is None and params["format"] == "html" and sys.stdout.isatty():
        path = "session.html"  # HTML is for a browser, not for a terminal
    if path is not None:
        params["path"] = os.path.abspath(path)
    if args.flag("force"):
        params["overwrite"] = True
    if args.flag("no-redact"):
        params["redact"] = False
    with connect() as daemon:
        params["sessionId"] = session_id(daemon, args)
        if args.flag("json"):
            print(daemon.call_text("session/export", params))
            return 0
        result = progress.call(daemon, "session/export", params)
    if result["path"] is None:
        # On a terminal, control sequences of a transcript would take effect; a pipe gets the exact text.
        sys.stdout.write("\n".join(lines(result["text"])) if sys.stdout.isatty() else result["text"])
    else:
        print(f"{human.size(result['sizeBytes'])} in {one_line(result['path'])}", file=sys.stderr)
        if pictures := result["picturePaths"]:
            folder = one_line(os.path.dirname(pictures[0]))  # noqa: PTH120 - see above
            print(f"{human.count(result['pictureCount'], 'picture')} in {folder}", file=sys.stderr)
    _explain_export(result)
    return 0


def _explain_export(result: dict[str, Any]) -> None:
    """Print what the export left out, lost, changed or redacted."""
    print_off_path(result)
    for heading, name in (
        ("not representable in this format", "lost"),
        ("carried as custom entries", "carried"),
    ):
        if counts := result[name]:
            named = ", ".join(f"{count['count']} {one_line(count['name'])}" for count in counts)
            unlisted = result[f"{name}Count"] - sum(count["count"] for count in counts)
            others = f", {unlisted} others" if unlisted else ""
            print(f"{heading}: {named}{others}", file=sys.stderr)
    if redacted := result["redactedCounts"]:
        named = ", ".join(f"{count} {one_line(kind)}" for kind, count in sorted(redacted.items()))
        print(f"redacted: {named} (--no-redact disables redaction)", file=sys.stderr)
    if result.get("redactionIncomplete"):
        print(
            "redaction found only common kinds of keys: install kingfisher-secret-scanner beside sessiond to find more",
            file=sys.stderr,
        )
    if missing := result["missingBlobCount"]:
        print(f"{human.count(missing, 'blob')} could not be found: see --json", file=sys.stderr)


def _explain_import(sessions: list[dict[str, Any]], skipped: list[dict[str, Any]]) -> None:
    """Print a short report about the imported files."""
    counts = dict.fromkeys(("created", "grown", "unchanged"), 0)
    for session in sessions:
        counts[session["status"]] += 1
    parts = [f"{count} {status}" for status, count in counts.items() if count]
    parts += [f"{len(skipped)} skipped"] if skipped else []
    print(", ".join(parts) or "There was nothing to import.", file=sys.stderr)
    if len(sessions) == 1:
        _explain(sessions[0])
    else:
        _name_drafts(
            [session for session in sessions if session["isDraft"] and session["status"] != "unchanged"]
        )
    for file in skipped[:_FEW]:
        print(f"skipped {one_line(file['path'])}: {one_line(file['message'])}", file=sys.stderr)
    if len(skipped) > _FEW:
        print(f"and {len(skipped) - _FEW} more: --json lists them", file=sys.stderr)


def _name_drafts(drafts: list[dict[str, Any]]) -> None:
    """Print the sessions without an assistant message, which `list` omits."""
    if not drafts:
        return
    are = "is a draft" if len(drafts) == 1 else "are drafts"
    print(
        f"{len(drafts)} {are} without an assistant message: sessiond list --drafts shows them",
        file=sys.stderr,
    )
    for session in drafts[:_FEW]:
        print(f"draft {one_line(session['sessionId'])} of {one_line(session['path'])}", file=sys.stderr)
    if len(drafts) > _FEW:
        print(f"and {len(drafts) - _FEW} more: --json lists them", file=sys.stderr)


def _explain(session: dict[str, Any]) -> None:
    """Print a report about the lines of one file."""
    for heading, name in (("converted lines", "convertedLines"), ("preserved lines", "preservedLines")):
        if counts := session[name]:
            named = ", ".join(f"{count} {one_line(kind)}" for kind, count in sorted(counts.items()))
            print(f"{heading}: {named}", file=sys.stderr)
    if session["heldBackCount"]:
        held_back = human.count(session["heldBackCount"], "line")
        print(f"{held_back} left for the next import: the file is being written", file=sys.stderr)
    for problem in session["problems"][:_FEW]:
        print(f"line {problem['line']}: {one_line(problem['message'])}", file=sys.stderr)
    if session["problemCount"] > _FEW:
        print(f"and {session['problemCount'] - _FEW} more problems: --json lists them", file=sys.stderr)
    if session["isDraft"]:
        print(
            "The session is a draft, because it has no assistant message: sessiond list --drafts",
            file=sys.stderr,
        )
