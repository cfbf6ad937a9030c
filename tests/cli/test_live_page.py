"""The server of a page: whom it answers, and what it does when a browser does not behave."""

import json  # noqa: TID251 - read as a browser reads it
import os
import secrets
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from sessiond.cli.render import live_page
from sessiond.cli.render.live_page import LivePage
from sessiond.protocol import types as t
from support.homes import wait_until
from support.viewers import Asker

SESSION = t.PageSession(
    session_id="s",
    cwd="/",
    created_at="",
    figures=t.PageFigures(message_count=1, tool_call_count=0, tokens=0, cost=0, models=[]),
)
SECRET = "what was said"


def a_row(body: str) -> t.PageRow:
    return t.PageRow(
        id="a", parent_id=None, type="message", preview="", filter_mask=31, heading="User", body=body
    )


@contextmanager
def served(*rows: t.PageRow) -> Iterator[Asker]:
    page = LivePage()
    data = {"session": SESSION, "first": 0, "rows": rows, "marks": []}
    server = threading.Thread(target=page.serve, args=(lambda _known: data,))
    server.start()
    try:
        yield Asker(page.address)
    finally:
        page.close()
        server.join()


@pytest.fixture
def asker() -> Iterator[Asker]:
    with served(a_row(SECRET)) as found:
        yield found


@pytest.fixture
def key(asker: Asker) -> str:
    with asker.reading(token=asker.token) as lines:
        assert lines.next()["rows"][0]["body"] == SECRET
        return lines.keys["pageKey"]


def handlers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if "process_request" in thread.name}


def test_a_browser_that_leaves_in_the_middle_of_a_page_is_no_news(capfd: pytest.CaptureFixture[str]) -> None:
    with served(a_row("x" * 20_000_000)) as asker:
        with closing(socket.create_connection(("127.0.0.1", asker.port), timeout=60)) as browser:
            here, body = f"127.0.0.1:{asker.port}", f'{{"token":"{asker.token}"}}'
            browser.sendall(
                f"POST /events HTTP/1.1\r\nHost: {here}\r\nOrigin: http://{here}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            assert browser.recv(100).startswith(b"HTTP/1.1 200")
            assert handlers()
            browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wait_until(lambda: not handlers())
    assert capfd.readouterr().err == ""


def test_the_page_that_everybody_may_load_holds_nothing_and_sets_no_cookie(asker: Asker) -> None:
    got = asker.ask("GET", "/?leafId=a&targetId=a")
    assert got.status == 200
    assert SECRET.encode() not in got.body
    assert b"'unsafe-inline'" not in got.body
    assert got.headers["Set-Cookie"] is None
    assert got.headers["Referrer-Policy"] == "no-referrer"
    assert got.headers["Cache-Control"] == "no-store"
    assert asker.ask("GET", "/events").status == asker.ask("GET", "/etc/passwd").status == 404
    assert asker.ask("GET", "//[").status == 404


def test_no_cookie_opens_the_page(asker: Asker, key: str) -> None:
    origin = f"http://127.0.0.1:{asker.port}"
    names = ("sessiond", "token", "pageKey", f"sessiond-{asker.port}")
    jar = "; ".join(f"{name}={key}" for name in names)
    assert asker.ask("POST", "/events", b"{}", Origin=origin, Cookie=jar).status == 403
    assert SECRET.encode() not in asker.ask("GET", "/", Cookie=jar).body


@pytest.mark.parametrize("host", [
    "evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "localhost.evil.example",
    "127.0.0.2:{port}", "user@127.0.0.1", "127.0.0.1:", "127.0.0.1:1:2", "0.0.0.0:{port}", "",
])  # fmt: skip
def test_a_name_that_another_site_has_pointed_to_this_machine_is_refused(
    asker: Asker, key: str, host: str
) -> None:
    name = host.format(port=asker.port)
    body = json.dumps({"pageKey": key}).encode()
    for origin in (f"http://{name}", f"http://127.0.0.1:{asker.port}"):
        got = asker.ask("POST", "/events", body, Host=name, Origin=origin, Sec_Fetch_Site="same-origin")
        assert got.status == 421
        assert SECRET.encode() not in got.body
    assert asker.ask("GET", "/", Host=name).status == 421


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1:9", "[::1]:9", "localhost"])
def test_the_page_may_come_through_a_tunnel_with_another_port(asker: Asker, key: str, host: str) -> None:
    name, body = host.format(port=asker.port), json.dumps({"pageKey": key}).encode()
    with asker.asking("POST", "/events", body, Host=name, Origin=f"http://{name}") as response:
        assert response.status == 200
    assert asker.ask("GET", "/", Host=name).status == 200


@pytest.mark.parametrize("headers", [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "http://localhost:{port}"},
    {"Origin": "https://127.0.0.1:{port}"},
    {"Origin": "http://127.0.0.1:{port}.evil.example"},
    {},
    {"Origin": "http://127.0.0.1:{port}", "Sec_Fetch_Site": "cross-site"},
    {"Origin": "http://127.0.0.1:{port}", "Sec_Fetch_Site": "same-site"},
    {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"},
])  # fmt: skip
def test_a_request_of_another_site_is_refused_with_the_key(
    asker: Asker, key: str, headers: dict[str, str]
) -> None:
    said = {name: value.format(port=asker.port) for name, value in headers.items()}
    for kind in ("application/json", "application/x-www-form-urlencoded", "text/plain"):
        got = asker.ask("POST", "/events", json.dumps({"pageKey": key}).encode(), Content_Type=kind, **said)
        assert got.status == 403
        assert SECRET.encode() not in got.body
        assert got.headers["Access-Control-Allow-Origin"] is None


@pytest.mark.parametrize(("destination", "status"), [
    ("document", 200), ("iframe", 403), ("script", 403), ("image", 403), ("empty", 403), ("style", 403),
])  # fmt: skip
def test_another_site_may_have_a_link_to_the_page_and_nothing_of_it(
    asker: Asker, destination: str, status: int
) -> None:
    for site in ("cross-site", "same-site"):  # the second is another port of this machine
        assert asker.ask("GET", "/", Sec_Fetch_Site=site, Sec_Fetch_Dest=destination).status == status
    assert asker.ask("GET", "/", Origin="http://evil.example").status == 403
    assert asker.ask("OPTIONS", "/events", Origin="http://evil.example").status >= 400


@pytest.mark.parametrize(("user", "may"), [(None, True), (0, True), ("ours", True), ("another", False)])
def test_another_user_is_refused_and_an_unknown_one_needs_the_token(
    asker: Asker, monkeypatch: pytest.MonkeyPatch, user: int | str | None, *, may: bool
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    known = {"ours": 1000, "another": 1001}.get(str(user), user)
    monkeypatch.setattr(live_page, "user_of_peer", lambda _connection: known)
    assert asker.refusal(token="guessed") == 403
    assert asker.ask("GET", "/").status == (200 if may else 403)
    with asker.asking_for_rows(token=asker.token) as response:
        assert response.status == (200 if may else 403)


def test_secrets_are_compared_in_a_time_that_does_not_depend_on_them(
    asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[bytes, bytes]] = []
    compare = secrets.compare_digest

    def noted(said: bytes, secret: bytes) -> bool:
        compared.append((said, secret))
        return compare(said, secret)

    monkeypatch.setattr(secrets, "compare_digest", noted)
    assert asker.refusal(token="guess", pageKey="ключ") == 403
    assert [said for said, _ in compared] == [b"guess", "ключ".encode()]
    assert all(len(secret) == 43 for _, secret in compared)


@pytest.mark.parametrize(("body", "status"), [
    (b"", 400), (b"{", 400), (b"[]", 400), (b'{"token":7}', 400), (b'{"token":"\\ud800"}', 400), (b"[" * 4000, 400),
    (b'{"after":-1}', 400), (b'{"token":null}', 400), (b" " * 4097, 413),
])  # fmt: skip
def test_a_body_that_is_no_request_of_the_page_is_refused(
    asker: Asker, capfd: pytest.CaptureFixture[str], body: bytes, status: int
) -> None:
    got = asker.ask("POST", "/events", body, Origin=f"http://127.0.0.1:{asker.port}")
    assert got.status == status
    wait_until(lambda: not handlers())
    assert capfd.readouterr().err == ""


def test_the_body_of_a_refused_request_is_not_read_as_the_next_request(asker: Asker, key: str) -> None:
    """A form of another site can send it, and its browser would send it over one connection."""
    here, message = f"127.0.0.1:{asker.port}", json.dumps({"pageKey": key})
    hidden = (
        f"POST /events HTTP/1.1\r\nHost: {here}\r\nOrigin: http://{here}\r\n"
        f"Content-Length: {len(message)}\r\n\r\n{message}"
    )
    for path in ("/", "/events"):
        for size in (len(hidden), 5000, "-1", "0x10"):
            with socket.create_connection(("127.0.0.1", asker.port), timeout=60) as browser:
                head = (
                    f"POST {path} HTTP/1.1\r\nHost: {here}\r\nOrigin: null\r\nContent-Length: {size}\r\n\r\n"
                )
                browser.sendall((head + hidden).encode())
                assert b" 200 " not in _everything(browser)


def _everything(browser: socket.socket) -> bytes:
    got = b""
    try:
        while piece := browser.recv(65_536):
            got += piece
    except ConnectionResetError:
        pass
    return got
