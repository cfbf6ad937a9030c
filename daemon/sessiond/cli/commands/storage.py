"""The command storage: how much space the sessions take, packing them, what agents will delete, and reclaiming it."""

from __future__ import annotations

import json  # noqa: TID251 - the results of two requests are printed as one object
import os
import sys
import time

from sessiond import human
from sessiond.cli.exit_codes import FAILURE, SUCCESS
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.render import progress
from sessiond.cli.render.bars import bar, percent
from sessiond.cli.render.style import style_for
from sessiond.client.blocking import connect
from sessiond.text import fit, one_line, pad, width, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.cli.render.style import Style

_DEFAULT_COLUMNS = 80
_BAR = 20
_SMALL_BAR = 8
_NAME = 40
_MIN_NAME = 12
_MONTHS = 12
_FEW = 3
_ACTION = "archive|reclaim"
_HELP = "sessiond storage --help"
_WITH_AGE = 48
_WITH_FOLDER = 70
"""The columns of a terminal from which the age and the folder of a session are shown."""


def storage(args: ParsedArguments) -> int:
    """Send `storage/report`, print its result, and then send `storage/agents`, which takes longer."""
    action = args.value(_ACTION)
    if action == "archive":
        return _archive(args)
    if action is not None:
        return _reclaim(args)
    if unusable := args.occurrences("days", "yes", "undo"):
        raise UsageError(f"--{unusable[0][0]} requires reclaim", _HELP)
    limit = args.number("limit", at_least=1)
    params: dict[str, Any] = {} if limit is None else {"limit": limit}
    style = style_for(sys.stdout)
    with connect() as daemon:
        found = daemon.call("storage/report", params)
        if not args.flag("json"):
            print(*_report(found, style), sep="\n", flush=True)
        if not args.flag("no-agents"):
            found["agentFolders"] = progress.call(daemon, "storage/agents", {})["agents"]
    if args.flag("json"):
        print(json.dumps(found, ensure_ascii=False))
    elif found.get("agentFolders"):
        print(*_agent_folders(found["agentFolders"], style), sep="\n")
    return 0


def _archive(args: ParsedArguments) -> int:
    """Send `storage/archive` and print its totals."""
    if args.value("AGENT") is not None or args.occurrences("yes", "undo", "limit", "no-agents"):
        raise UsageError("storage archive takes only --days and --json", _HELP)
    days = args.number("days", at_least=0)
    params = {} if days is None else {"unusedDays": days}
    with connect() as daemon:
        found = progress.call(daemon, "storage/archive", params)
    if args.flag("json"):
        print(json.dumps(found, ensure_ascii=False))
    else:
        count, failed = human.count(found["sessionCount"], "session"), found["failedCount"]
        print(f"{count} packed: {human.size(found['sizeBytes'])} into {human.size(found['packedBytes'])}")
        if failed:
            print(
                f"{human.count(failed, 'session')} could not be packed: the log of the daemon says why",
                file=sys.stderr,
            )
    return FAILURE if found["failedCount"] else SUCCESS


def _reclaim(args: ParsedArguments) -> int:
    """Send `storage/reclaim` or `storage/giveBack`. Without --yes, ask if this is a terminal, else change nothing."""
    from sessiond.agents import names

    action, agent = args.value(_ACTION), args.value("AGENT")
    if action != "reclaim" or agent is None:
        raise UsageError("storage takes archive or reclaim AGENT", _HELP)
    undo, is_json = args.flag("undo"), args.flag("json")
    params: dict[str, Any] = {"agent": names.name_of(agent)}
    if undo and args.value("days") is not None:
        raise UsageError("--days cannot be combined with --undo: all files are moved back", _HELP)
    if (days := args.number("days", at_least=1)) is not None:
        params["olderThanDays"] = days
    with connect() as daemon:
        if undo:
            found = progress.call(daemon, "storage/giveBack", params)
        else:
            found = progress.call(daemon, "storage/reclaim", {**params, "dryRun": True})
            if not is_json:
                _print_reclaimed(found)
            is_wanted = args.flag("yes") or (not is_json and bool(found["fileCount"]) and _confirms())
            if is_wanted and found["fileCount"]:
                found = progress.call(daemon, "storage/reclaim", {**params, "dryRun": False})
            elif not is_json:
                return SUCCESS
    if is_json:
        print(json.dumps(found, ensure_ascii=False))
    elif undo:
        count, size = human.count(found["fileCount"], "file"), human.size(found["sizeBytes"])
        print(f"{count}, {size}, moved back")
        _print_skipped(found)
    else:
        _print_reclaimed(found)
    return FAILURE if undo and found["skippedCount"] else SUCCESS


def _confirms() -> bool:
    if not sys.stdin.isatty():
        print("Nothing was moved. --yes moves them.", file=sys.stderr)
        return False
    try:
        return input("Move them? [y/N] ").strip().casefold() in ("y", "yes")
    except EOFError:
        return False


def _print_reclaimed(found: dict[str, Any]) -> None:
    count, size = human.count(found["fileCount"], "file"), human.size(found["sizeBytes"])
    if found["dryRun"]:
        print(f"{count}, {size}, can be moved: their content is here, entry by entry")
        _print_skipped(found)
    else:
        print(f"{count}, {size}, moved; their originals take {human.size(found['keptBytes'])} here")
        print("To move them back: the same command with --undo")


def _print_skipped(found: dict[str, Any]) -> None:
    for skipped in found["skipped"][:_FEW]:
        print(f"stays: {one_line(skipped['path'])}: {one_line(skipped['message'])}", file=sys.stderr)
    if (more := found["skippedCount"] - len(found["skipped"][:_FEW])) > 0:
        print(f"{human.count(more, 'other file')} stays: --json names them", file=sys.stderr)


def _report(found: dict[str, Any], style: Style) -> Iterator[str]:
    """Yield the lines of a report: a table of bars for each grouping, and the largest sessions."""
    free = found["freeBytes"]
    room = "" if free is None else f", {human.size(free)} free"
    yield style(f"{human.size(found['totalBytes'])} in all{room}", "bold")
    known = [kind for kind in found["kinds"] if kind["count"]]
    yield from _table("kind", known, "file", style)
    yield from _table("agent", found["agents"], "session", style)
    projects = found["projects"]
    yield from _table(
        "project", [{**row, "title": _folder(row["key"])} for row in projects], "session", style
    )
    if (more := found["projectCount"] - len(projects)) > 0:
        yield style(f"and {human.count(more, 'smaller project')}", "dim")
    months = found["months"]
    yield from _table("month", months[:_MONTHS], "session", style)
    if months[_MONTHS:]:
        older = human.size(sum(month["sizeBytes"] for month in months[_MONTHS:]))
        yield style(f"and {older} of {human.count(len(months) - _MONTHS, 'earlier month')}", "dim")
    if found["sessions"]:
        yield ""
        yield style("largest sessions", "dim")
        now = time.time()
        for session in found["sessions"]:
            yield _session(session, now, style)


def _table(title: str, rows: list[dict[str, Any]], noun: str, style: Style) -> Iterator[str]:
    """Yield an empty line, a heading, and a line for each row with the bar of its share."""
    if not rows:
        return
    total = sum(row["sizeBytes"] for row in rows) or 1
    most = max(row["sizeBytes"] for row in rows) or 1
    names = [one_line(row["title"]) for row in rows]
    sizes = [human.size(row["sizeBytes"]) for row in rows]
    shares = [percent(row["sizeBytes"] / total) for row in rows]
    counts = [human.count(row["count"], noun) for row in rows]
    widths = [max(map(width, texts)) for texts in (sizes, shares, counts)]
    left = (style.columns or _DEFAULT_COLUMNS) - sum(2 + columns for columns in widths)
    name_width = min(max(width(name) for name in (*names, title)), _NAME)
    bar_width = next((columns for columns in (_BAR, _SMALL_BAR) if left - 2 - columns >= name_width), 0)
    if not bar_width:
        name_width = max(min(name_width, left), _MIN_NAME)
    yield ""
    yield style(f"by {title}", "dim")
    for row, name, *numbers in zip(rows, names, sizes, shares, counts, strict=True):
        cells = [style(pad(fit(name, name_width, style.ellipsis), name_width), "cyan")]
        if bar_width:
            cells.append(style(bar(row["sizeBytes"] / most, bar_width, style), "green"))
        cells += [" " * (columns - width(text)) + text for text, columns in zip(numbers, widths, strict=True)]
        yield "  ".join(cells).rstrip()


def _session(session: dict[str, Any], now: float, style: Style) -> str:
    """Return the line of a session: its size, the beginning of its id, its age, its folder and its title."""
    columns = style.columns or _DEFAULT_COLUMNS
    cells = [f"{human.size(session['logBytes'] + session['blobBytes']):>8}"]
    if columns >= _WITH_AGE:
        cells.append(pad(human.ago(session["updatedAt"], now), 11))
    if columns >= _WITH_FOLDER:
        folder = _folder(session["cwd"]).rpartition("/")[2]
        cells.append(pad(fit(folder, 16, style.ellipsis), 16))
    cells.append(pad(one_line(session["sessionId"])[:8], 8))
    left = columns - sum(width(cell) + 2 for cell in cells)
    cells[-1] = style(cells[-1], "yellow")
    title = one_line(session["title"] or "") or "no title"
    return "  ".join((*cells, fit(title, max(left, _MIN_NAME), style.ellipsis)))


def _agent_folders(found: list[dict[str, Any]], style: Style) -> Iterator[str]:
    """Yield a table of the agents' own folders, and sentences about what the agents delete."""
    rows = [
        {
            "title": row["title"],
            "count": row["fileCount"],
            "sizeBytes": row["sessionBytes"] + row["otherBytes"],
        }
        for row in sorted(found, key=lambda row: -row["sessionBytes"] - row["otherBytes"])
    ]
    yield from _table("folders of agents", rows, "session file", style)
    columns = style.columns or _DEFAULT_COLUMNS
    for row in found:
        if (deletion := row["deletion"]) is None:
            continue
        yield ""
        is_urgent = bool(deletion["missingCount"])
        said = one_line(deletion["message"])
        if is_urgent and not row["isFollowed"]:
            said += f" To keep them: sessiond agents follow {row['agent']}"
        for line in wrap(said, columns):
            yield style(line, "yellow") if is_urgent else line
        yield from (style(line, "dim") for line in wrap(one_line(deletion["remark"]), columns))
        for path in deletion["missing"][:_FEW]:
            yield f"  {one_line(path)}"


def _folder(key: str) -> str:
    return one_line(human.folder(key, os.path.expanduser("~"))) or "no folder"  # noqa: PTH111 - as in sessions
