"""The command view: an open session as a page in the browser of this machine, followed live."""

from __future__ import annotations

import asyncio
import sys
import threading
import webbrowser

from sessiond.cli.chosen import session_id
from sessiond.cli.followed import Followed
from sessiond.cli.live_page import LivePage
from sessiond.client import blocking, daemon as asynchronous

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sessiond.cli.arguments import Given


def view(given: Given) -> int:
    """Serve the page until Ctrl-C."""
    with blocking.connect() as daemon:
        session = session_id(daemon, given)
    asyncio.run(_serve(session, given.number("port") or 0, open_browser=not given.flag("no-open")))
    return 0


async def _serve(session: str, port: int, *, open_browser: bool) -> None:
    async with asynchronous.connect(name="sessiond view") as daemon:
        found = (await daemon.open(session)).session
        page = LivePage(port)
        followed = Followed(found, page.tell)
        server = threading.Thread(target=page.serve, args=(followed.page,), daemon=True)
        server.start()
        try:
            await followed.follow(
                daemon, found.session_id, lambda: _say(page.address, open_browser=open_browser)
            )
        finally:
            await asyncio.to_thread(page.close)
            server.join()


def _say(address: str, *, open_browser: bool) -> None:
    print(address, flush=True)
    print("The address is good for one browser. Ctrl-C ends the page.", file=sys.stderr)
    if open_browser:
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
