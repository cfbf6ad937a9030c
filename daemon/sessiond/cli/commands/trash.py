"""The commands delete, restore, trash, cleanup and purge."""
# Without pathlib, whose import would take 5 of the 25 ms that a command may take.
# ruff: noqa: PTH100, PTH111

from __future__ import annotations

import os
import sys
import time

from sessiond import human
from sessiond.cli.commands.sessions import short_ids
from sessiond.cli.parse import stdin
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import whole_id, whole_id_in_trash
from sessiond.cli.render.columns import aligned
from sessiond.cli.render.style import style_for
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import Given
    from sessiond.client.blocking import BlockingDaemon

_SPARED = {"open": "it is open", "labeled": "it has labels", "readOnly": "it is read-only"}


def delete(given: Given) -> int:
    """Send `session/delete` for each session, until one is refused."""
    names = stdin.ids(given)
    with connect(given) as daemon:
        for name in names:
            params = {"path": _as_path(name)} if _is_path(name) else {"sessionId": whole_id(daemon, name)}
            if (reason := given.text("reason")) is not None:
                params["reason"] = reason
            if given.flag("json"):
                print(daemon.call_text("session/delete", params))
                continue
            gone = daemon.call("session/delete", params)
            print(one_line(gone["sessionId"]))
            print(f"Moved to {one_line(gone['trashed'])}; sessiond restore brings it back.", file=sys.stderr)
    return 0


def restore(given: Given) -> int:
    """Send `session/restore` for each session, until one is refused."""
    names = stdin.ids(given)
    with connect(given) as daemon:
        for name in names:
            params = _in_trash(daemon, name)
            if given.flag("json"):
                print(daemon.call_text("session/restore", params))
                continue
            session = daemon.call("session/restore", params)["session"]
            print(one_line(session["sessionId"]))
            print(f"Back at {one_line(session['path'] or 'its place in memory')}", file=sys.stderr)
    return 0


def _in_trash(daemon: BlockingDaemon, name: str) -> dict[str, Any]:
    """Return the params that name a session in the trash: its path there, or its whole id."""
    return {"trashed": _as_path(name)} if _is_path(name) else {"sessionId": whole_id_in_trash(daemon, name)}


def trash(given: Given) -> int:
    """Send `trash/list`."""
    params: dict[str, Any] = {}
    if (limit := given.number("limit", at_least=1)) is not None:
        params["limit"] = limit
    if (cursor := given.text("cursor")) is not None:
        params["cursor"] = cursor
    with connect() as daemon:
        if given.flag("json"):
            print(daemon.call_text("trash/list", params))
            return 0
        page = daemon.call("trash/list", params)
    if not page["sessions"]:
        print("The trash is empty.", file=sys.stderr)
        return 0
    print(*_rows(page["sessions"]), sep="\n")
    if (more := page["total"] - len(page["sessions"])) > 0:
        print(f"{more:,} more: sessiond trash --limit {page['total']}", file=sys.stderr)
    return 0


def cleanup(given: Given) -> int:
    """Send `session/cleanup`: a dry run, unless --yes is given."""
    params: dict[str, Any] = {"dryRun": not given.flag("yes")}
    if (days := given.number("days")) is not None:
        params["maxAgeSeconds"] = days * human.DAY
    if (count := given.number("keep")) is not None:
        params["maxSessions"] = count
    if tags := [word for _, word in given.many("tag")]:
        params["tags"] = tags
    if days is None and count is None:
        raise UsageError("cleanup needs --days, --keep or both", "sessiond cleanup --help")
    with connect(given) as daemon:
        if given.flag("json"):
            print(daemon.call_text("session/cleanup", params))
            return 0
        found = daemon.call("session/cleanup", params)
    judged = [(it, "" if found["dryRun"] else "moved") for it in found["removed"]]
    judged += [(it, f"stays, {_SPARED[it['because']]}") for it in found["spared"]]
    print(*_judged(judged), sep="\n", end="\n" if judged else "")
    gone, kept = human.count(len(found["removed"]), "session"), f"{found['kept']:,} stay"
    if not found["dryRun"]:
        print(f"{gone} moved to the trash, {kept}", file=sys.stderr)
    elif found["removed"]:
        print(f"{gone} would go to the trash, {kept}: add --yes", file=sys.stderr)
    else:
        print(f"Nothing to clean up, {kept}", file=sys.stderr)
    return 0


def _judged(judged: list[tuple[dict[str, Any], str]]) -> list[str]:
    now, home = time.time(), os.path.expanduser("~")
    name_of = short_ids([it["session"]["sessionId"] for it, _ in judged])
    rows = []
    for it, outcome in judged:
        session = it["session"]
        name = one_line(session["title"] or session["firstPrompt"] or "") or "(nothing said)"
        rows.append(
            [
                name_of[session["sessionId"]],
                human.ago(session["updatedAt"], now),
                human.size(session["sizeBytes"]),
                outcome,
                one_line(human.folder(session["cwd"], home)),
                name,
            ]
        )
    return list(aligned(rows, style_for(sys.stdout), ["yellow", "", "dim", "", "blue"]))


def purge(given: Given) -> int:
    """Send `session/purge` for named or for old sessions: a dry run, unless --yes is given."""
    days = given.number("days")
    if (days is None) is (not given.rest):
        raise UsageError("purge takes either IDs or --days N", "sessiond purge --help")
    names = [] if days is not None else stdin.ids(given)
    really = given.flag("yes")
    with connect(given) as daemon:
        asked: list[dict[str, Any]] = [_in_trash(daemon, name) for name in names]
        if days is not None:
            asked = [{"olderThanSeconds": days * human.DAY}]
        for params in asked:
            params["dryRun"] = not really
            if given.flag("json"):
                print(daemon.call_text("session/purge", params))
            else:
                _say_purged(daemon.call("session/purge", params))
    return 0


def _say_purged(found: dict[str, Any]) -> None:
    purged = found["purged"]
    if not purged:
        print("Nothing in the trash is that old.", file=sys.stderr)
        return
    print(*_rows(purged), sep="\n")
    what = f"{human.count(len(purged), 'session')}, {human.size(found['purgedBytes'])}"
    if found["dryRun"]:
        print(f"{what}, would be gone for good: add --yes", file=sys.stderr)
    else:
        print(f"{what}, gone for good; {found['kept']:,} left in the trash", file=sys.stderr)


def _rows(sessions: list[dict[str, Any]]) -> list[str]:
    now, home = time.time(), os.path.expanduser("~")
    name_of = short_ids([it["sessionId"] for it in sessions])
    rows = [
        [
            name_of[it["sessionId"]],
            human.ago(it["trashedAt"], now),
            human.size(it["sizeBytes"]),
            one_line(it["reason"]),
            one_line(human.folder(it["cwd"], home)) if it["cwd"] else "",
            one_line(it["title"] or "") or "(nothing said)",
        ]
        for it in sessions
    ]
    return list(aligned(rows, style_for(sys.stdout), ["yellow", "", "dim", "", "blue"]))


def _is_path(name: str) -> bool:
    return "/" in name or name.endswith(".jsonl")


def _as_path(name: str) -> str:
    return os.path.abspath(name) if _is_path(name) else name
