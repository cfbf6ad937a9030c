"""A client of `sessiond mcp` that sends exactly the JSON lines of a test."""

import contextlib
import json  # noqa: TID251 - what a client that is not ours would use
import select
import subprocess
from collections.abc import Iterator
from typing import Any, Literal

from support.commands import Shell
from support.homes import sessiond
from support.patience import BOUND

Message = dict[str, Any]
STATELESS = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class McpRefused(Exception):
    """Raised when the server answers with a JSON-RPC error."""

    def __init__(self, error: Message) -> None:
        super().__init__(error)
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class McpClient:
    """One running server and its two streams."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.notes: list[Message] = []
        """The notifications of the server, and its requests."""
        self.meta: Message | None = None
        """The `_meta` of each request."""
        self._last_id = 0
        self._buffer = b""

    def send_line(self, line: bytes | str) -> None:
        """Send one line with any content."""
        assert self.process.stdin is not None
        self.process.stdin.write((line.encode() if isinstance(line, str) else line) + b"\n")
        self.process.stdin.flush()

    def send(self, message: Message) -> None:
        self.send_line(json.dumps({"jsonrpc": "2.0", **message}))

    def notify(self, method: str, **params: Any) -> None:
        self.send({"method": method, "params": params})

    def start(self, method: str, **params: Any) -> int:
        """Send a request and return its id."""
        self._last_id += 1
        if self.meta is not None:
            params = {"_meta": self.meta, **params}
        self.send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def next_message(self, seconds: float = BOUND) -> Message:
        """The next message of the server, of any kind."""
        assert self.process.stdout is not None
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], seconds)
            assert ready, "the server sent nothing in time"
            piece = self.process.stdout.read1()  # type: ignore[attr-defined] # a buffered pipe has it
            assert piece, "the server has ended"
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: Message = json.loads(line)
        return message

    def response(self, id: int | str | None) -> Message:
        """The response to a request, or to a line whose id was not readable."""
        while True:
            message = self.next_message()
            if "method" in message:
                self.notes.append(message)
            elif message.get("id") == id:
                return message

    def call(self, method: str, **params: Any) -> Any:
        """The result of a request. Raises `McpRefused`."""
        response = self.response(self.start(method, **params))
        if "error" in response:
            raise McpRefused(response["error"])
        return response["result"]

    def initialize(self, version: str = "2025-11-25", **capabilities: Any) -> Any:
        """Begin a connection with a handshake."""
        client = {"name": "herons", "version": "1"}
        result = self.call(
            "initialize", protocolVersion=version, capabilities=capabilities, clientInfo=client
        )
        self.notify("notifications/initialized")
        return result

    def tool(self, name: str, **arguments: Any) -> str:
        """The text of a tool that succeeds."""
        result = self.call("tools/call", name=name, arguments=arguments)
        assert not result["isError"], result
        text: str = result["content"][0]["text"]
        return text

    def failing_tool(self, name: str, **arguments: Any) -> str:
        """The text of a tool that reports an error to the model."""
        result = self.call("tools/call", name=name, arguments=arguments)
        assert result["isError"], result
        text: str = result["content"][0]["text"]
        return text

    def close(self) -> int:
        """End the input and return the exit status of the server."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(BOUND)


@contextlib.contextmanager
def an_mcp_client(
    shell: Shell, *options: str, era: Literal["handshake", "stateless", "none"] = "handshake", **more: str
) -> Iterator[McpClient]:
    """A server in the folder of a shell, and a client of this era."""
    with subprocess.Popen(
        sessiond("mcp", *options),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=shell.folder,
        env=shell.environment(**more),
    ) as process:
        client = McpClient(process)
        try:
            if era == "handshake":
                client.initialize()
            elif era == "stateless":
                client.meta = STATELESS
            yield client
        finally:
            if process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    process.stdin.close()
            process.kill()
