"""The commands tree and label."""

from __future__ import annotations

import sys

from sessiond.cli.parse.arguments import UsageError
from sessiond.cli.parse.entry_argument import connect
from sessiond.cli.parse.session_argument import session_id, session_id_to_write
from sessiond.cli.render.style import style_for
from sessiond.client.wire import RpcError
from sessiond.text import one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sessiond.cli.parse.arguments import Given
    from sessiond.client.blocking import BlockingDaemon

_PAGE = 5_000
_TRIES = 3


def tree(given: Given) -> int:
    """Send `session/tree` and print all pages, or show the tree on the whole terminal."""
    if given.flag("interactive"):
        return _interactive(given)
    if given.text("at") is not None:
        raise UsageError("--at requires -i", "sessiond tree --root ENTRY shows an entry and its descendants.")
    params: dict[str, Any] = {}
    for option, field in (("filter", "filter"), ("query", "query"), ("root", "rootId"), ("cursor", "cursor")):
        if (value := given.text(option)) is not None:
            params[field] = value
    with connect() as daemon:
        params["sessionId"] = session_id(daemon, given)
        if given.flag("json"):
            if (limit := given.number("limit", at_least=1)) is not None:
                params["limit"] = limit
            print(daemon.call_text("session/tree", params))
            return 0
        rows, page = _all_rows(daemon, params)
    from sessiond.cli.render.tree_drawing import draw

    for line in draw(rows, page.get("leafId"), style_for(sys.stdout, plain=given.flag("ascii"))):
        print(line)
    if not rows:
        hidden = page.get("entryCount", 0)
        print(
            "No entries match this filter. Try --filter all." if hidden else "The session is empty.",
            file=sys.stderr,
        )
    elif page.get("leafId") is None:
        print("The next entry starts another root.", file=sys.stderr)
    return 0


def _interactive(given: Given) -> int:
    from sessiond.tui.browse import NoTerminal, browse, check_terminal

    for other in ("json", "limit", "cursor", "root"):
        if given.text(other) is not None:
            raise UsageError(f"-i and --{other} cannot both be given")
    try:
        check_terminal()
    except NoTerminal as error:
        raise UsageError(str(error), "sessiond tree draws it as text.") from None
    style = style_for(sys.stdout, plain=given.flag("ascii"))
    with connect() as daemon:
        return browse(
            daemon,
            session_id(daemon, given),
            filter=given.text("filter") or "default",
            query=given.text("query"),
            at=given.text("at"),
            named=lambda entry: daemon.resolved_ids.get(entry, entry),
            boxes=style.boxes,
            encoding=sys.stdout.encoding,
        )


def label(given: Given) -> int:
    """Send `session/label`."""
    text = given.needed("TEXT")
    params: dict[str, Any] = {"entryId": given.needed("ENTRY"), "label": text or None}
    with connect(given) as daemon:
        params["sessionId"] = session_id_to_write(daemon, given)
        if given.flag("json"):
            print(daemon.call_text("session/label", params))
            return 0
        daemon.call("session/label", params)
    name = given.needed("ENTRY")
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
            if error.kind != "cursorExpired" or "cursor" in params or attempt == _TRIES - 1:
                raise
        else:
            return rows, first
    raise AssertionError("unreachable")
