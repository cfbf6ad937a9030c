"""The command view: a session as a page in a local browser, updated live."""

from __future__ import annotations

import asyncio
import contextlib
import json  # noqa: TID251 - a reader of --json would use it
import sys
import tempfile
import threading
import webbrowser
from functools import partial
from html import escape
from pathlib import Path

from sessiond.cli.parse.session_argument import session_id
from sessiond.cli.render.followed_session import Followed
from sessiond.cli.render.live_page import LivePage
from sessiond.client import blocking, daemon as asynchronous

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from sessiond.cli.parse.arguments import ParsedArguments


def view(args: ParsedArguments) -> int:
    """Serve the page until Ctrl-C."""
    with blocking.connect() as daemon:
        session = session_id(daemon, args)
    report = _print_as_json if args.flag("json") else _print_address
    show = report if args.flag("no-open") else partial(_open, report)
    with contextlib.ExitStack() as left:
        asyncio.run(_serve(session, args.number("port") or 0, lambda address: show(address, left)))
    return 0


async def _serve(session: str, port: int, show: Callable[[str], None]) -> None:
    async with asynchronous.connect(name="sessiond view") as daemon:
        found = (await daemon.open(session, bind=False)).session
        page = LivePage(port)
        followed = Followed(page.publish)
        server = threading.Thread(target=page.serve, args=(followed.page,), daemon=True)
        server.start()
        try:
            await followed.follow(daemon, found.session_id, lambda: show(page.address))
        finally:
            await asyncio.to_thread(page.close)
            server.join()


def _print_address(address: str, _left: contextlib.ExitStack) -> None:
    print(address, flush=True)
    print("The address can be opened once. Ctrl-C stops the server.", file=sys.stderr)


def _print_as_json(address: str, _left: contextlib.ExitStack) -> None:
    print(json.dumps({"address": address}), flush=True)


def _open(report: Callable[..., None], address: str, left: contextlib.ExitStack) -> None:
    """Open a private file that redirects to the page, since other users can see the browser's command line."""
    report(address, left)
    leads = Path(left.enter_context(tempfile.TemporaryDirectory(prefix="sessiond-view-"))) / "view.html"
    leads.write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">\n', encoding="utf-8"
    )
    threading.Thread(target=webbrowser.open, args=(leads.as_uri(),), daemon=True).start()
