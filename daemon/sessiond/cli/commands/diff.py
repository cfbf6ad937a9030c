"""The command diff: compares two branches of a session."""

from __future__ import annotations

import sys

from sessiond import human
from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id
from sessiond.cli.render.columns import aligned, behind
from sessiond.cli.render.content_text import in_short, speaker
from sessiond.cli.render.style import style_for
from sessiond.client.wire import RpcError
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.cli.render.style import Style
    from sessiond.client.blocking import BlockingDaemon

_SHOWN = 12
"""Entries of each side: the first ones, and always the last one, which shows the result of the branch."""
_MAX_SHOWN = 10_000
"""Entries of each side with --all: as many as a comparison lists."""
_FILES = 20
_LONGEST_NAME = 128


def diff(args: ParsedArguments) -> int:
    """Send `session/compare`."""
    if args.flag("all") and args.flag("stat"):
        raise UsageError("--all and --stat cannot both be given")
    params: dict[str, Any] = {"leftId": args.required("A"), "rightId": args.required("B")}
    with connect() as daemon:
        try:
            params["sessionId"] = session_id(daemon, args, asks=False)
            if args.flag("json"):
                print(daemon.call_text("session/compare", params))
                return 0
            found = daemon.call("session/compare", params)
        except RpcError:
            if args.value("ID") is None:
                _refuse_sessions(daemon, args.required("A"), args.required("B"))
            raise
        shown = _MAX_SHOWN if args.flag("all") else 0 if args.flag("stat") else _SHOWN
        entries = _entries_by_id(daemon, params["sessionId"], [*_ends(found, shown), found["ancestorId"]])
    for line in _rendered(found, entries, shown, style_for(sys.stdout)):
        print(line)
    return 0


def _refuse_sessions(daemon: BlockingDaemon, *names: str) -> None:
    """Raise `UsageError` if one of the names, which were taken for entries, names a session."""
    for name in names:
        found = daemon.call("session/resolve", {"query": name[:_LONGEST_NAME], "limit": 1})
        if found["sessions"]:
            session = one_line(name)
            raise UsageError(
                f"{session} is a session, not an entry",
                f"Name two of its entries: sessiond diff {session} A B",
            )


def _ends(found: dict[str, Any], shown: int) -> Iterator[str]:
    for side in ("left", "right"):
        yield from _some(found[side], shown)


def _some(side: dict[str, Any], shown: int) -> list[str]:
    """Return the first ids of a side and the last one, `shown` in all."""
    ids, count = side["entryIds"], side["stats"]["entryCount"]
    if count <= shown:
        return list(ids)
    return [*ids[: shown - 1], side["leafId"]] if shown else []


def _entries_by_id(daemon: BlockingDaemon, session: str, ids: list[str | None]) -> dict[str, dict[str, Any]]:
    """Return the entries with some ids, by id."""
    known_ids = [entry_id for entry_id in ids if entry_id is not None]
    found: dict[str, dict[str, Any]] = {}
    for start in range(0, len(known_ids), 200):
        page = daemon.call(
            "session/entries", {"sessionId": session, "entryIds": known_ids[start : start + 200]}
        )
        found |= {item["entry"]["id"]: item["entry"] for item in page["items"]}
    return found


def _rendered(found: dict[str, Any], entries: dict[str, Any], shown: int, style: Style) -> Iterator[str]:
    ancestor = found["ancestorId"]
    if ancestor is None:
        yield "The branches have no entry in common."
    else:
        yield from aligned(
            [["common ancestor", one_line(ancestor), *_words(entries.get(ancestor))]],
            style,
            ("dim", "bold", ""),
        )
    left, right = found["left"], found["right"]
    for side, color, sign in ((left, "red", "-"), (right, "green", "+")):
        yield ""
        yield style(f"{sign} {one_line(side['leafId'] or 'nothing')}  {_summary(side)}", color, "bold")
        yield from _entries(side, entries, shown, color, sign, style)
        yield from _files("modified", side["modifiedFiles"], side["modifiedFileCount"], style)
        yield from _files("read", side["readFiles"], side["readFileCount"], style)


def _summary(side: dict[str, Any]) -> str:
    stats = side["stats"]
    parts = [
        human.count(stats["entryCount"], "entry", "entries"),
        f"about {human.amount(side['tokens'])} tokens",
    ]
    if spent := stats["tokens"]["total"]:
        parts.append(f"{human.amount(spent)} spent")
    if cost := stats["cost"]["total"]:
        parts.append(human.money(cost))
    return ", ".join(parts) if side["entryIds"] else "no entries"


def _entries(
    side: dict[str, Any], entries: dict[str, Any], shown: int, color: str, sign: str, style: Style
) -> Iterator[str]:
    some = _some(side, shown)
    left_out = side["stats"]["entryCount"] - len(some)
    advice = " (--all shows them)" if shown < _MAX_SHOWN else ""
    rows = [[one_line(value), *_words(entries.get(value))] for value in some]
    for number, line in enumerate(behind([style(sign, color)] * len(some), 1, rows, style, (color,))):
        if left_out and number == len(some) - 1:
            yield style(f"  {human.count(left_out, 'more entry', 'more entries')}{advice}", "dim")
        yield line


def _words(entry: dict[str, Any] | None) -> list[str]:
    return ["?", ""] if entry is None else [speaker(entry), in_short(entry)]


def _files(name: str, files: list[str], count: int, style: Style) -> Iterator[str]:
    for file in files[:_FILES]:
        yield f"    {style(name, 'dim')}  {one_line(file)}"
    if count > _FILES:
        yield style(f"    and {count - _FILES} more {name}", "dim")
