"""An HTTP server on 127.0.0.1 that serves one page to one browser and sends it updates.

The first request with the token of the address gets a cookie that no script and no other site can use; requests
without it are refused. Requests with another `Host`, such as those of a site whose name resolves to this machine, are
refused too.
"""

import queue
import secrets
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from sessiond.export import html

_MAX_WAITING = 1_000
_HEARTBEAT = 15.0
"""Seconds between comments on a quiet stream, by which a closed browser is noticed."""

_USED = "This address was already used. Run sessiond view again for a new one."

_HEADERS = {
    "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}  # fmt: skip


class LivePage:
    """The server. `serve` receives a function for the data that a page begins with; `publish` sends updates."""

    def __init__(self, port: int = 0) -> None:
        self._data: Callable[[int], dict[str, Any]] = lambda _known: {}
        self._token: str | None = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        self._lock = Lock()  # protects the data of `page` and `stream`, and the readers
        self._readers: list[queue.Queue[bytes | None]] = []
        self._server = _Server(self, port)
        self.port: int = self._server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}/?token={self._token}"

    def serve(self, data: Callable[[int], dict[str, Any]]) -> None:
        """Serve in this thread until `close`. `data` is called with the number of rows that a page already has."""
        self._data = data
        self._server.serve_forever()

    def close(self) -> None:
        """Stop the server and end every stream."""
        with self._lock:
            for reader in self._readers:
                reader.put(None)
        self._server.shutdown()
        self._server.server_close()

    def publish(self, change: Callable[[], dict[str, Any]]) -> None:
        """Make a change and send its result to every reader. A loading page sees all of it or nothing."""
        with self._lock:
            update = change()
            if self._readers:
                event = f"data: {html.json_for_script(update)}\n\n".encode()
                for reader in self._readers:
                    reader.put(event if reader.qsize() < _MAX_WAITING else None)

    def admits(self, token: str) -> bool:
        """Return whether this is the token, which is valid once."""
        with self._lock:
            good = self._token is not None and secrets.compare_digest(token.encode(), self._token.encode())
            if good:
                self._token = None
            return good

    def knows(self, cookie: str) -> bool:
        """Return whether a request has the cookie of the admitted browser."""
        return secrets.compare_digest(cookie.encode(), self._cookie.encode())

    @property
    def cookie(self) -> str:
        """The cookie that the admitted browser gets."""
        return f"{self.cookie_name}={self._cookie}; HttpOnly; SameSite=Strict; Path=/"

    @property
    def cookie_name(self) -> str:
        """The cookie's name contains the port, because browsers send cookies to all ports of a host."""
        return f"sessiond-{self.port}"

    def page(self) -> bytes:
        """Return the page with the current rows."""
        with self._lock:
            data = self._data(0)
        return html.page(data["session"], data["rows"], live=f"/events?after={len(data['rows'])}")

    def stream(self, after: int, write: Callable[[bytes], object]) -> None:
        """Send updates to a page that has `after` rows, until the browser or the server ends."""
        reader: queue.Queue[bytes | None] = queue.Queue()
        with self._lock:
            missed = self._data(after)
            self._readers.append(reader)
        try:
            write(f"data: {html.json_for_script(missed)}\n\n".encode())
            while True:
                try:
                    event = reader.get(timeout=_HEARTBEAT)
                except queue.Empty:
                    event = b": still here\n\n"
                if event is None:
                    return
                write(event)
        except OSError:
            return  # the browser has closed the connection
        finally:
            with self._lock:
                self._readers.remove(reader)


class _Server(ThreadingHTTPServer):
    """The sockets and threads of one page."""

    daemon_threads = True

    def __init__(self, page: LivePage, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.page = page

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report exceptions, except when the browser has closed the connection during a response."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "sessiond"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        if self.headers.get("Host") not in (
            f"127.0.0.1:{self.server.page.port}",
            f"localhost:{self.server.page.port}",
        ):
            self._say(HTTPStatus.MISDIRECTED_REQUEST, "This server accepts only the host 127.0.0.1.")
        elif url.path == "/" and "token" in query:
            self._let_in(query)
        elif not self.server.page.knows(self._cookie()):
            self._say(HTTPStatus.FORBIDDEN, _USED)
        elif url.path == "/":
            self._send(HTTPStatus.OK, self.server.page.page(), "text/html; charset=utf-8")
        elif url.path == "/events":
            self._stream(query.get("after", ["0"])[0])
        else:
            self._say(HTTPStatus.NOT_FOUND, "Not found. The page is at /.")

    def _let_in(self, query: dict[str, list[str]]) -> None:
        if not self.server.page.admits(query["token"][0]):
            self._say(HTTPStatus.FORBIDDEN, _USED)
            return
        params = urlencode([(name, query[name][0]) for name in ("leafId", "targetId") if name in query])
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", f"/?{params}" if params else "/")
        self.send_header("Set-Cookie", self.server.page.cookie)
        self.send_header("Content-Length", "0")
        self._finish_headers()

    def _stream(self, after: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self._finish_headers()
        self.close_connection = True
        self.server.page.stream(int(after) if after.isdecimal() and len(after) < 10 else 0, self.wfile.write)

    def _cookie(self) -> str:
        try:
            found = SimpleCookie(self.headers.get("Cookie", "")).get(self.server.page.cookie_name)
        except CookieError:
            return ""
        return "" if found is None else found.value

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._send(status, f"{text}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self._finish_headers()
        self.wfile.write(body)

    def _finish_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because the request line contains the token."""
