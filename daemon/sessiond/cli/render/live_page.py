"""An HTTP server on 127.0.0.1 that serves one page to one browser and sends it updates.

The page is the same for everybody and holds nothing of the session. Its script asks for the session with the token of
the address, which is valid once, and from then on with a key. Both are in the body of a request: a server on another
port of this machine would receive cookies, too. Requests of other sites and of other users are refused, with the token
as well (decision 0062).
"""

import os
import queue
import re
import secrets
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition
from typing import Annotated, Any, Final

import msgspec

from sessiond.export import html
from sessiond.rpc.tcp_peer import user_of_peer

_MAX_WAITING = 1_000
_HEARTBEAT = 15.0
"""Seconds between empty lines on a quiet stream, by which a closed browser is noticed."""
_FAREWELL = 1.0
"""Seconds for the pages to read that the server ends."""
_MAX_REQUEST_BYTES = 4096
_OUR_HOST = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:[0-9]{1,5})?")
"""A name of this machine. The port may be another one, that of a tunnel."""

_NOT_FOUND: Final = "Not found. The page is at /."
_HEADERS: Final = {
    "Cache-Control": "no-store", "Connection": "close", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}  # fmt: skip


class _Request(msgspec.Struct, rename="camel"):
    """A request of the page: the token or its key, and how many rows it has."""

    token: str = ""
    page_key: str = ""
    after: Annotated[int, msgspec.Meta(ge=0)] = 0


class LivePage:
    """The server. `serve` receives a function for the data that a page begins with; `publish` sends updates."""

    def __init__(self, port: int = 0) -> None:
        self._data: Callable[[int], dict[str, Any]] = lambda _known: {}
        token = secrets.token_urlsafe(32)
        self._token: str | None = token
        self._page_key = secrets.token_urlsafe(32)
        self._server_key = secrets.token_urlsafe(32)
        self._lock = (
            Condition()
        )  # protects the token, the data of `stream`, and the readers; notified when one leaves
        self._readers: list[queue.Queue[bytes | None]] = []
        self._server = _Server(self, port)
        self.port: int = self._server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}/#token={token}"

    def serve(self, data: Callable[[int], dict[str, Any]]) -> None:
        """Serve in this thread until `close`. `data` is called with the number of rows that a page already has."""
        self._data = data
        self._server.serve_forever()

    def close(self) -> None:
        """Stop the server and end every stream. Each page that reads receives a last event."""
        with self._lock:
            for reader in self._readers:
                reader.put(_line({"ended": True}))
                reader.put(None)
            self._lock.wait_for(lambda: not self._readers, _FAREWELL)
        self._server.shutdown()
        self._server.server_close()

    def publish(self, change: Callable[[], dict[str, Any]]) -> None:
        """Make a change and send its result to every reader. A loading page sees all of it or nothing."""
        with self._lock:
            update = change()
            if self._readers:
                event = _line(update)
                for reader in self._readers:
                    reader.put(event if reader.qsize() < _MAX_WAITING else None)

    def admits(self, request: _Request) -> bool:
        """Return whether a request has the key of the page, or the token, which is valid once."""
        with self._lock:
            has_token = self._token is not None and _is_same(request.token, self._token)
            if has_token:
                self._token = None
            return _is_same(request.page_key, self._page_key) or has_token

    def stream(self, after: int, write: Callable[[bytes], object]) -> None:
        """Send the keys and the rows beyond the first `after`, then updates until the browser or the server ends."""
        reader: queue.Queue[bytes | None] = queue.Queue()
        with self._lock:
            missed = self._data(after)
            self._readers.append(reader)
        try:
            write(_line({"pageKey": self._page_key, "serverKey": self._server_key}))
            write(_line(missed))
            while True:
                try:
                    event = reader.get(timeout=_HEARTBEAT)
                except queue.Empty:
                    event = b"\n"
                if event is None:
                    return
                write(event)
        except OSError:
            return  # the browser has closed the connection
        finally:
            with self._lock:
                self._readers.remove(reader)
                self._lock.notify_all()


def _line(message: object) -> bytes:
    return msgspec.json.encode(message) + b"\n"


def _is_same(said: str, secret: str) -> bool:
    return secrets.compare_digest(said.encode(), secret.encode())


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
        if not self._is_refused():
            if self.path.partition("?")[0] == "/":
                self._send(HTTPStatus.OK, html.served_page(), "text/html; charset=utf-8")
            else:
                self._say(HTTPStatus.NOT_FOUND, _NOT_FOUND)

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or len(length) > 9 or int(length) > _MAX_REQUEST_BYTES:
            self._say(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "This server accepts only the requests of its page."
            )
            return
        body = self.rfile.read(int(length))
        if self._is_refused():
            return
        try:
            request = msgspec.json.decode(body, type=_Request)
        except (msgspec.DecodeError, RecursionError):
            self._say(HTTPStatus.BAD_REQUEST, "This server accepts only the requests of its page.")
            return
        if self.path != "/events":
            self._say(HTTPStatus.NOT_FOUND, _NOT_FOUND)
        elif not self.server.page.admits(request):
            self._say(
                HTTPStatus.FORBIDDEN,
                "This token is wrong or was already used. Run sessiond view for a new one.",
            )
        else:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/x-ndjson")
            self._finish_headers()
            self.server.page.stream(request.after, self.wfile.write)

    def _is_refused(self) -> bool:
        """Refuse a request of another user, for another host, or of another site."""
        host = self.headers.get("Host", "")
        if user_of_peer(self.connection) not in (None, 0, os.geteuid()):
            # 0 is also the user of a program that forwards connections.
            self._say(HTTPStatus.FORBIDDEN, "This page belongs to another user of this machine.")
        elif not _OUR_HOST.fullmatch(host):
            self._say(HTTPStatus.MISDIRECTED_REQUEST, "This server accepts only the host 127.0.0.1.")
        elif not self._is_from_our_page(f"http://{host}"):
            self._say(HTTPStatus.FORBIDDEN, "This server accepts only the requests of its page.")
        else:
            return False
        return True

    def _is_from_our_page(self, origin: str) -> bool:
        """Return whether the page sent a request, or it opens the page, to which any site may have a link."""
        site = self.headers.get("Sec-Fetch-Site", "none")
        if self.command == "GET":
            opens = self.headers.get("Sec-Fetch-Dest") == "document"
            return self.headers.get("Origin", origin) == origin and (site in ("none", "same-origin") or opens)
        return self.headers.get("Origin") == origin and site in ("none", "same-origin")

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._send(status, f"{text}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self._finish_headers()
        self.wfile.write(body)

    def _finish_headers(self) -> None:
        """Each connection carries one request, so that a refused body is never read as the next one."""
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: a terminal shows the address, and this would write into it."""
