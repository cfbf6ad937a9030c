"""The commands delete, restore, trash, cleanup and purge."""
# Without pathlib, whose import would take 5 of the 25 ms that a command may take.
# ruff: noqa: PTH100, PTH109, PTH111

from __future__ import annotations

import os
import sys
import time

from sessiond import human
from sessiond.cli.parse import stdin
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import named_in_trash, whole_id
from sessiond.cli.parse.session_choice import can_ask, choose, sessions_near
from sessiond.cli.render.columns import aligned
from sessiond.cli.render.style import style_for
from sessiond.distinctions import short_ids
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.client.blocking import BlockingDaemon

_SKIPPED = {"open": "it is open", "labeled": "it has labels", "readOnly": "it is read-only"}


def delete(args: ParsedArguments) -> int:
    """Send `session/delete` for each session, until one is refused."""
    with connect(args) as daemon:
        for name in stdin.ids(args) or [_chosen_of(sessions_near(daemon, os.getcwd()), args)]:
            params = {"path": _as_path(name)} if _is_path(name) else {"sessionId": whole_id(daemon, name)}
            if (note := args.value("note")) is not None:
                params["note"] = note
            if args.flag("json"):
                print(daemon.call_text("session/delete", params))
                continue
            gone = daemon.call("session/delete", params)
            print(one_line(gone["sessionId"]))
            print(f"Moved to the trash; sessiond restore {gone['trashId']} undoes it.", file=sys.stderr)
    return 0


def restore(args: ParsedArguments) -> int:
    """Send `trash/restore` for each session, until one is refused; for a backup, store what is in it."""
    names = stdin.ids(args)
    if names and (file := _backup_file(names, args)) is not None:
        from sessiond.cli.commands.bundle import take

        return take(args, os.path.abspath(file))
    with connect(args) as daemon:
        for name in names or [_chosen_of(_trashed(daemon), args)]:
            params = named_in_trash(daemon, name)
            if args.flag("json"):
                print(daemon.call_text("trash/restore", params))
                continue
            session = daemon.call("trash/restore", params)["session"]
            print(one_line(session["sessionId"]))
            where = f" to {one_line(session['path'])}" if session["path"] else ""
            print(f"Restored{where}", file=sys.stderr)
    return 0


def _chosen_of(listed: Callable[[str], Sequence[dict[str, Any]]], args: ParsedArguments) -> str:
    """Return the session that the user chooses. Raises `UsageError` if there is none, or no user can be asked."""
    if args.flag("json") or not can_ask():
        raise UsageError(f"{args.command} requires ID…", f"sessiond {args.command} --help")
    chosen = choose(listed, args.command)
    if chosen is None:
        raise UsageError(f"there is no session to {args.command}")
    return chosen


def _trashed(daemon: BlockingDaemon) -> Callable[[str], Sequence[dict[str, Any]]]:
    """Return a function for `choose` that lists the trash."""
    found = daemon.call("trash/list", {"limit": 1_000})["sessions"]
    rows = [
        {
            "sessionId": trashed["trashId"],
            "title": trashed["title"],
            "firstPrompt": None,
            "cwd": trashed["cwd"] or "",
            "updatedAt": trashed["trashedAt"],
        }
        for trashed in found
    ]

    def listed(words: str) -> Sequence[dict[str, Any]]:
        wanted = words.casefold().split()
        return [
            row for row in rows if all(word in f"{row['title']} {row['cwd']}".casefold() for word in wanted)
        ]

    return listed


def _backup_file(names: list[str], args: ParsedArguments) -> str | None:
    """Return the file that the only name is; None if the names are ids of sessions. Raises `UsageError`.

    An id has neither a slash nor a dot.
    """
    from sessiond.sync.bundle.recognition import is_bundle_file

    [name, *others] = names
    is_file = (_is_path(name) or "." in name) and not others
    if is_file and os.path.isdir(name):  # noqa: PTH112 - as above
        from pathlib import Path

        from sessiond.cli.commands.bundle import newest_backup

        newest = newest_backup(Path(name))
        then = "" if newest is None else f"The newest backup in it: sessiond restore {newest}"
        raise UsageError(f"{one_line(name)} is a folder", then)
    if is_file or (not others and is_bundle_file(name)):
        return name
    for option, _ in args.occurrences("identity", "map", "dry-run", "no-size-limit"):
        raise UsageError(f"--{option} applies only to a file of sessiond backup", "sessiond restore --help")
    return None


def trash(args: ParsedArguments) -> int:
    """Send `trash/list`."""
    params: dict[str, Any] = {}
    if (limit := args.number("limit", at_least=1)) is not None:
        params["limit"] = limit
    if (cursor := args.value("cursor")) is not None:
        params["cursor"] = cursor
    with connect() as daemon:
        if args.flag("json"):
            print(daemon.call_text("trash/list", params))
            return 0
        page = daemon.call("trash/list", {**params, "withTotal": True})
    if not page["sessions"]:
        print("The trash is empty.", file=sys.stderr)
        return 0
    print(*_rows(page["sessions"]), sep="\n")
    if (more := page["totalCount"] - len(page["sessions"])) > 0:
        print(f"{more:,} more: sessiond trash --limit {page['totalCount']}", file=sys.stderr)
    return 0


def cleanup(args: ParsedArguments) -> int:
    """Send `session/cleanup`: a dry run, unless --yes is given."""
    params: dict[str, Any] = {"dryRun": not args.flag("yes")}
    if (days := args.number("days")) is not None:
        params["maxAgeMs"] = days * human.DAY * 1_000
    if (count := args.number("keep")) is not None:
        params["maxSessions"] = count
    if tags := [word for _, word in args.occurrences("tag")]:
        params["tags"] = tags
    if days is None and count is None:
        raise UsageError("cleanup needs --days, --keep or both", "sessiond cleanup --help")
    with connect(args) as daemon:
        if args.flag("json"):
            print(daemon.call_text("session/cleanup", params))
            return 0
        found = daemon.call("session/cleanup", params)
    judged = [(item, "" if found["dryRun"] else "moved") for item in found["removed"]]
    judged += [(item, f"stays, {_SKIPPED.get(item['reason'], item['reason'])}") for item in found["skipped"]]
    print(*_judged(judged), sep="\n", end="\n" if judged else "")
    if found["truncated"]:
        print("The list is truncated.", file=sys.stderr)
    gone, remaining = human.count(found["removedCount"], "session"), f"{found['keptCount']:,} stay"
    if not found["dryRun"]:
        print(f"{gone} moved to the trash, {remaining}", file=sys.stderr)
    elif found["removed"]:
        print(f"{gone} would be moved to the trash, {remaining}: add --yes", file=sys.stderr)
    else:
        print(f"Nothing to clean up, {remaining}", file=sys.stderr)
    return 0


def _judged(judged: list[tuple[dict[str, Any], str]]) -> list[str]:
    now, home = time.time(), os.path.expanduser("~")
    name_of = short_ids([item["session"]["sessionId"] for item, _ in judged])
    rows = []
    for item, outcome in judged:
        session = item["session"]
        name = one_line(session["title"] or session["firstPrompt"] or "") or "(no messages)"
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
    return _table(rows)


def _table(rows: list[list[str]]) -> list[str]:
    """Return lines for rows of id, age, size, a text, folder and title; narrow ones have no size, folder or age."""
    return list(aligned(rows, style_for(sys.stdout), ["yellow", "", "dim", "", "blue"], (2, 4, 1)))


def purge(args: ParsedArguments) -> int:
    """Send `trash/purge` for named or for old sessions: a dry run, unless --yes is given."""
    days = args.number("days")
    if (days is None) is (not args.trailing):
        raise UsageError("purge takes either IDs or --days N", "sessiond purge --help")
    names = [] if days is not None else stdin.ids(args)
    really = args.flag("yes")
    with connect(args) as daemon:
        requests: list[dict[str, Any]] = [named_in_trash(daemon, name) for name in names]
        if days is not None:
            requests = [{"olderThanMs": days * human.DAY * 1_000}]
        for params in requests:
            params["dryRun"] = not really
            if args.flag("json"):
                print(daemon.call_text("trash/purge", params))
            else:
                _print_purged(daemon.call("trash/purge", params))
    return 0


def _print_purged(found: dict[str, Any]) -> None:
    purged = found["purged"]
    if not purged:
        print("No session in the trash is that old.", file=sys.stderr)
        return
    print(*_rows(purged), sep="\n")
    if found["truncated"]:
        print("The list is truncated.", file=sys.stderr)
    total = f"{human.count(found['purgedCount'], 'session')}, {human.size(found['purgedBytes'])}"
    if found["dryRun"]:
        print(f"{total}, would be deleted for good: add --yes", file=sys.stderr)
    else:
        print(f"{total}, deleted for good; {found['keptCount']:,} left in the trash", file=sys.stderr)


def _rows(sessions: list[dict[str, Any]]) -> list[str]:
    now, home = time.time(), os.path.expanduser("~")
    ids = [session["sessionId"] for session in sessions]
    name_of = short_ids(ids)
    rows = [
        [
            # A session that was deleted several times is named by the id of the deletion.
            name_of[session["sessionId"]] if ids.count(session["sessionId"]) == 1 else session["trashId"],
            human.ago(session["trashedAt"], now),
            human.size(session["sizeBytes"]),
            one_line(session["note"] or ""),
            one_line(human.folder(session["cwd"], home)) if session["cwd"] else "",
            one_line(session["title"] or "") or "(no messages)",
        ]
        for session in sessions
    ]
    return _table(rows)


def _is_path(name: str) -> bool:
    return "/" in name or name.endswith((".jsonl", ".jsonl.zst"))


def _as_path(name: str) -> str:
    return os.path.abspath(name) if _is_path(name) else name
