"""The commands tree and label."""

from __future__ import annotations

import sys

from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id, session_id_to_write
from sessiond.cli.render.off_path import print_missing_history
from sessiond.cli.render.style import style_for
from sessiond.client.wire import RpcError
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import ParsedArguments
    from sessiond.client.blocking import BlockingDaemon

_PAGE = 5_000
_TRIES = 3


def tree(args: ParsedArguments) -> int:
    """Send `session/tree` and print all pages, or show the tree on the whole terminal."""
    if args.flag("interactive"):
        return _interactive(args)
    if args.value("at") is not None:
        raise UsageError("--at requires -i", "sessiond tree --root ENTRY shows an entry and its descendants.")
    params: dict[str, Any] = {}
    for option, field in (("filter", "filter"), ("query", "query"), ("root", "rootId")):
        if (value := args.value(option)) is not None:
            params[field] = value
    if args.flag("json"):
        return _print_page(args, params)
    if args.value("cursor") is not None:
        raise UsageError("--cursor requires --json", "Without --json, all pages are printed.")
    is_selection = "query" in params or params.get("filter") == "labeledOnly"
    params |= {"layout": "path", "openAll": args.flag("expand") or is_selection}
    with connect() as daemon:
        params["sessionId"] = session_id(daemon, args)
        rows, page = _all_rows(daemon, params)
        session = daemon.call("session/info", {"sessionId": params["sessionId"]})["session"]
    from sessiond.cli.render.tree_drawing import draw

    for line in draw(rows, page.get("leafId"), style_for(sys.stdout, plain=args.flag("ascii"))):
        print(line)
    if not rows:
        hidden = page.get("entryCount", 0)
        print(
            "No entries match this filter. Try --filter all." if hidden else "The session is empty.",
            file=sys.stderr,
        )
    elif page.get("leafId") is None:
        print("The next entry starts another root.", file=sys.stderr)
    print_missing_history(session)
    return 0


def _print_page(args: ParsedArguments, params: dict[str, Any]) -> int:
    """Print a page of rows in the order of the log."""
    if args.flag("expand"):
        raise UsageError(
            "--json and --expand cannot both be given", "--json prints the rows of all branches."
        )
    if (cursor := args.value("cursor")) is not None:
        params["cursor"] = cursor
    if (limit := args.number("limit", at_least=1)) is not None:
        params["limit"] = limit
    with connect() as daemon:
        params["sessionId"] = session_id(daemon, args)
        print(daemon.call_text("session/tree", params))
    return 0


def _interactive(args: ParsedArguments) -> int:
    from sessiond.tui.browse import NoTerminalError, browse, check_terminal

    for other in ("json", "limit", "cursor", "root", "expand"):
        if args.value(other) is not None:
            raise UsageError(f"-i and --{other} cannot both be given")
    try:
        check_terminal()
    except NoTerminalError as error:
        raise UsageError(str(error), "sessiond tree draws it as text.") from None
    style = style_for(sys.stdout, plain=args.flag("ascii"))
    with connect() as daemon:
        browse(
            daemon,
            session_id(daemon, args),
            filter=args.value("filter") or "default",
            query=args.value("query"),
            at=args.value("at"),
            named=lambda entry: daemon.resolved_ids.get(entry, entry),
            boxes=style.boxes,
            encoding=sys.stdout.encoding,
        )
    return 0


def label(args: ParsedArguments) -> int:
    """Send `session/label`."""
    text = args.required("TEXT")
    params: dict[str, Any] = {"entryId": args.required("ENTRY"), "label": text or None}
    with connect(args) as daemon:
        params["sessionId"] = session_id_to_write(daemon, args)
        if args.flag("json"):
            print(daemon.call_text("session/label", params))
            return 0
        daemon.call("session/label", params)
    name = args.required("ENTRY")
    entry = one_line(daemon.resolved_ids.get(name, name))
    print(f"{entry} is labeled [{one_line(text)}]." if text else f"{entry} has no label now.")
    return 0


def _all_rows(daemon: BlockingDaemon, params: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return every row, and the first page. Begins again when the session has changed between two pages."""
    for attempt in range(_TRIES):
        try:
            first = page = daemon.call("session/tree", params | {"limit": _PAGE})
            rows = list(page["nodes"])
            while cursor := page.get("nextCursor"):
                page = daemon.call("session/tree", params | {"limit": _PAGE, "cursor": cursor})
                rows += page["nodes"]
        except RpcError as error:
            if error.kind != "cursorExpired" or attempt == _TRIES - 1:
                raise
        else:
            return rows, first
    raise AssertionError("unreachable")
