"""A bridge from streamable HTTP to `sessiond mcp`, for programs that test MCP servers over HTTP only.

Each session of a client has a separate server process. The bridge has no separate stream (GET): messages that a server
sends besides responses is dropped. It serves one request of a session at a time.
"""

import json  # noqa: TID251 - messages of other programs
import subprocess
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.commands import Shell
from support.homes import sessiond
from support.mcp_clients import McpClient
from support.patience import BOUND

_SESSION = "Mcp-Session-Id"


@contextmanager
def served_over_http(shell: Shell, *options: str) -> Iterator[str]:
    """Serve `sessiond mcp` in the folder of a shell, and yield the address."""
    clients: dict[str, McpClient] = {}
    locks: dict[str, threading.Lock] = {}

    def opened() -> str:
        process = subprocess.Popen(
            sessiond("mcp", *options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=shell.folder,
            env=shell.environment(),
        )
        session = uuid.uuid4().hex
        clients[session], locks[session] = McpClient(process), threading.Lock()
        return session

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            session = self.headers.get(_SESSION) or opened()
            if session not in clients:
                self._answer(404)
                return
            with locks[session]:
                clients[session].send_line(json.dumps(message))
                is_request = "method" in message and "id" in message
                response = clients[session].response(message["id"]) if is_request else None
            self._answer(202 if response is None else 200, response, session)

        def do_GET(self) -> None:
            self._answer(405)

        def do_DELETE(self) -> None:
            self._answer(405)

        def log_message(self, format: str, *args: Any) -> None:
            return

        def _answer(
            self, status: int, message: dict[str, Any] | None = None, session: str | None = None
        ) -> None:
            body = b"" if message is None else json.dumps(message).encode()
            self.send_response(status)
            if session is not None:
                self.send_header(_SESSION, session)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(BOUND)
        for client in clients.values():
            with client.process:
                client.close()
