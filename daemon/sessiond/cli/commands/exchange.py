"""The commands import and export, for sessions of other programs.

Standard output gets what scripts need: the id of each session that was created or has grown, or the exported text.
Reports about lines go to standard error.
"""
# Without pathlib, whose import would take 5 of the 25 ms that a command may take.
# ruff: noqa: PTH100

from __future__ import annotations

import json  # noqa: TID251 - the thin client has no msgspec
import os
import sys

from sessiond import human
from sessiond.cli.exit_codes import DONE, REFUSED
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id
from sessiond.cli.render import progress
from sessiond.text import lines, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import Given

_FEW = 5


def import_(given: Given) -> int:
    """Send `session/import`."""
    params: dict[str, Any] = {"path": os.path.abspath(given.needed("PATH"))}
    if (dialect := given.text("format")) is not None:
        params["format"] = dialect
    if (cwd := given.text("cwd")) is not None:
        params["cwd"] = os.path.abspath(cwd)
    with connect() as daemon:
        if given.flag("json"):
            text = daemon.call_text("session/import", params)
            print(text)
            return DONE if json.loads(text)["sessions"] else REFUSED
        try:
            result = progress.call(daemon, "session/import", params)
        except KeyboardInterrupt:
            print(
                "What was imported until then stays; the same command goes on with the rest.", file=sys.stderr
            )
            raise
    sessions = result["sessions"]
    for session in sessions:
        if session["status"] != "unchanged":
            print(one_line(session["sessionId"]))
    _say(sessions, result["skipped"], result["skippedCount"])
    return DONE if sessions else REFUSED


def export(given: Given) -> int:
    """Send `session/export`."""
    params: dict[str, Any] = {"format": given.text("format") or "markdown"}
    if (leaf := given.text("leaf")) is not None:
        params["leafId"] = leaf
    path = given.text("output")
    if path is None and params["format"] == "html" and sys.stdout.isatty():
        path = "session.html"  # HTML is for a browser, not for a terminal
    if path is not None:
        params["path"] = os.path.abspath(path)
    if given.flag("force"):
        params["overwrite"] = True
    if given.flag("no-redact"):
        params["redact"] = False
    with connect() as daemon:
        params["sessionId"] = session_id(daemon, given)
        if given.flag("json"):
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
            print(f"{human.count(len(pictures), 'picture')} in {folder}", file=sys.stderr)
    _explain_export(result)
    return 0


def _explain_export(result: dict[str, Any]) -> None:
    """Print what the export lost, changed or redacted."""
    for heading, name in (("cannot be held there", "lost"), ("carried as custom entries", "carried")):
        if counts := result[name]:
            named = ", ".join(f"{it['count']} {one_line(it['name'])}" for it in counts)
            print(f"{heading}: {named}", file=sys.stderr)
    if redacted := result["redacted"]:
        kinds: dict[str, int] = {}
        for it in redacted:
            kinds[it["kind"]] = kinds.get(it["kind"], 0) + it["count"]
        named = ", ".join(f"{count} {one_line(kind)}" for kind, count in sorted(kinds.items()))
        print(f"redacted: {named} (--no-redact writes them out)", file=sys.stderr)
    if result.get("redactionIncomplete"):
        print(
            "only common kinds of keys were looked for: install kingfisher-secret-scanner beside sessiond",
            file=sys.stderr,
        )
    if missing := result["missingBlobs"]:
        print(f"{human.count(len(missing), 'blob')} could not be found: see --json", file=sys.stderr)


def _say(sessions: list[dict[str, Any]], skipped: list[dict[str, Any]], skipped_count: int) -> None:
    """Print a short report about the imported files."""
    counts = dict.fromkeys(("created", "grown", "unchanged"), 0)
    for session in sessions:
        counts[session["status"]] += 1
    parts = [f"{count} {status}" for status, count in counts.items() if count]
    parts += [f"{skipped_count} skipped"] if skipped_count else []
    print(", ".join(parts) or "There was nothing to import.", file=sys.stderr)
    if len(sessions) == 1:
        _explain(sessions[0])
    else:
        _name_drafts([it for it in sessions if it["isDraft"] and it["status"] != "unchanged"])
    for file in skipped[:_FEW]:
        print(f"skipped {one_line(file['path'])}: {one_line(file['message'])}", file=sys.stderr)
    if skipped_count > _FEW:
        print(f"and {skipped_count - _FEW} more: --json lists them", file=sys.stderr)


def _name_drafts(drafts: list[dict[str, Any]]) -> None:
    """Print the sessions without an assistant message, which `list` omits."""
    if not drafts:
        return
    are = "is a draft" if len(drafts) == 1 else "are drafts"
    print(f"{len(drafts)} {are}, without an answer yet: sessiond list --drafts shows them", file=sys.stderr)
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
        print("Nobody has answered in it, so it is a draft: sessiond list --drafts", file=sys.stderr)
