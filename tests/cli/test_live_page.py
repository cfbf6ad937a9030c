"""The server of a page: what it does when a browser does not behave."""

import socket
import struct
import threading
from contextlib import closing
from typing import Any

import pytest

from sessiond.cli.render.live_page import LivePage
from sessiond.protocol import types as t
from support.homes import wait_until

SESSION = t.PageSession(
    session_id="s",
    cwd="/",
    created_at="",
    figures=t.PageFigures(message_count=1, tool_call_count=0, tokens=0, cost=0, models=[]),
)
ROW = t.PageRow(
    id="a", parent_id=None, type="message", preview="", filter_mask=31, heading="User", body="x" * 20_000_000
)


def everything(_known: int) -> dict[str, Any]:
    return {"session": SESSION, "first": 0, "rows": [ROW], "marks": []}


def handlers() -> set[threading.Thread]:
    return {it for it in threading.enumerate() if "process_request" in it.name}


def test_a_browser_that_leaves_in_the_middle_of_a_page_is_no_news(capfd: pytest.CaptureFixture[str]) -> None:
    page = LivePage()
    server = threading.Thread(target=page.serve, args=(everything,))
    server.start()
    try:
        with closing(socket.create_connection(("127.0.0.1", page.port), timeout=60)) as browser:
            host = f"Host: 127.0.0.1:{page.port}"
            cookie = f"Cookie: {page.cookie.partition(';')[0]}"
            browser.sendall(f"GET / HTTP/1.1\r\n{host}\r\n{cookie}\r\n\r\n".encode())
            assert browser.recv(100).startswith(b"HTTP/1.1 200")
            assert handlers()
            browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wait_until(lambda: not handlers())
    finally:
        page.close()
        server.join()
    assert capfd.readouterr().err == ""
