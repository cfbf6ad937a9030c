"""The command forget: deletes sessions so that nothing brings them back, lists forgotten sessions, and revokes that."""
# Without pathlib, whose import would take 5 of the 25 ms that a command may take.
# ruff: noqa: PTH100, PTH111

from __future__ import annotations

import os
import sys

from sessiond import human
from sessiond.cli.parse import stdin
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import whole_id
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.client.blocking import BlockingDaemon

_NOTE = "forgotten"
_PAGE = 500


def forget(args: ParsedArguments) -> int:
    """Send `session/delete` with `forget` for each session, or `forgotten/list`, or `forgotten/revoke`."""
    chosen = [
        name for name in ("project", "list", "revoke") if args.flag(name) or args.value(name) is not None
    ]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} and --{chosen[1]} cannot both be given")
    with connect(args) as daemon:
        if chosen == ["list"]:
            _list(daemon, args)
        elif chosen == ["revoke"]:
            _revoke(daemon, args)
        elif chosen == ["project"]:
            _forget_project(daemon, args)
        else:
            for name in stdin.ids(args):
                _forget(daemon, whole_id(daemon, name), args)
    return 0


def _forget(daemon: BlockingDaemon, session: str, args: ParsedArguments) -> None:
    gone = daemon.call("session/delete", {"sessionId": session, "note": _NOTE, "forget": True})
    purged = False
    if args.flag("purge"):
        purged = bool(
            daemon.call("trash/purge", {"trashId": gone["trashId"], "dryRun": False})["purgedCount"]
        )
    if args.flag("json"):
        import json  # noqa: TID251 - the thin client has no msgspec

        print(json.dumps({**gone, "purged": purged}))
        return
    print(one_line(gone["sessionId"]))
    if purged:
        print("Forgotten, and deleted for good.", file=sys.stderr)
    else:
        print(
            f"Forgotten and moved to the trash; sessiond restore {gone['trashId']} undoes both.",
            file=sys.stderr,
        )


def _forget_project(daemon: BlockingDaemon, args: ParsedArguments) -> None:
    folder = os.path.abspath(os.path.expanduser(args.value("project") or "."))
    sessions: list[dict[str, Any]] = []
    params: dict[str, Any] = {"project": folder, "limit": _PAGE, "includeDrafts": True}
    while True:
        page = daemon.call("session/list", params)
        sessions += page["sessions"]
        if page["nextCursor"] is None:
            break
        params["cursor"] = page["nextCursor"]
    if args.flag("yes"):
        for session in sessions:
            _forget(daemon, session["sessionId"], args)
    else:
        for session in sessions:
            print(
                one_line(session["sessionId"]),
                one_line(session["title"] or session["firstPrompt"] or ""),
                sep="  ",
            )
    count = human.count(len(sessions), "session")
    if args.flag("yes"):
        print(f"{count} forgotten. Later ones are kept: [agents] exclude leaves them out.", file=sys.stderr)
    else:
        print(f"{count} of this project would be forgotten: add --yes", file=sys.stderr)


def _list(daemon: BlockingDaemon, args: ParsedArguments) -> None:
    if args.flag("json"):
        print(daemon.call_text("forgotten/list", {}))
        return
    for session in daemon.call("forgotten/list", {})["sessions"]:
        about = [session["sessionId"], session["forgottenAt"], session["agent"] or "", session["path"] or ""]
        print("  ".join(one_line(word) for word in about if word))


def _revoke(daemon: BlockingDaemon, args: ParsedArguments) -> None:
    ids = stdin.ids(args)
    known = [session["sessionId"] for session in daemon.call("forgotten/list", {})["sessions"]]
    whole = []
    for name in ids:
        matches = [session for session in known if session.startswith(name)]
        if len(matches) != 1:
            many = "several forgotten sessions begin" if matches else "no forgotten session begins"
            raise UsageError(f"{many} with {one_line(name)}", "sessiond forget --list")
        whole += matches
    if args.flag("json"):
        print(daemon.call_text("forgotten/revoke", {"sessionIds": whole}))
        return
    for session in daemon.call("forgotten/revoke", {"sessionIds": whole})["revoked"]:
        print(one_line(session))
    print("They may come back: sessiond import, following and syncs store them again.", file=sys.stderr)
