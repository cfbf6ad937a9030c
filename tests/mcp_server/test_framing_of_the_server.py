"""For any bytes of a client, each of its requests is answered once, and nothing else is sent."""

import json  # noqa: TID251 - what a client that is not ours would use
from typing import Any

from hypothesis import given, settings, strategies as st

from sessiond.mcp.daemon_access import DaemonAccess
from sessiond.mcp.project import CurrentProject
from sessiond.mcp.server import McpServer
from sessiond.rpc.connection import Connection


class WrittenLines:
    """A transport that keeps what is written, and a connection of a server that writes to it."""

    def __init__(self) -> None:
        self.written = b""
        server = McpServer(DaemonAccess(), CurrentProject(None, "/", is_unlimited=False), allow_write=False)
        self.connection = Connection(server, mode="jsonLines", fixed_mode=True)
        self.connection.connection_made(self)  # type: ignore[arg-type] # all of a transport that is used here

    def write(self, data: bytes) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        self.connection.connection_lost(None)

    def messages(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.written.splitlines()]


def line_of(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


JUNK = st.one_of(
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b" ") + b"\n"),
    st.sampled_from([b"[]\n", b"null\n", b"{}\n", b"\r\n", b"Content-Length: 5\r\n", b'{"id":9}\n']),
)


@settings(max_examples=60)
@given(
    st.lists(st.one_of(st.just(None), JUNK), max_size=12),
    st.integers(1, 50),
)
async def test_requests_between_junk_are_answered(parts: list[bytes | None], size: int) -> None:
    client = WrittenLines()
    stream = line_of({"jsonrpc": "2.0", "id": "first", "method": "initialize",
                      "params": {"protocolVersion": "2025-11-25"}})  # fmt: skip
    ids = ["first"]
    for number, part in enumerate(parts):
        if part is None:
            ids.append(f"ping-{number}")
            part = line_of({"jsonrpc": "2.0", "id": ids[-1], "method": "ping"})
        stream += part
    for at in range(0, len(stream), size):
        client.connection.data_received(stream[at : at + size])
    answered = [message for message in client.messages() if message.get("id") in ids]
    assert [entry["id"] for entry in answered] == ids
    assert all("result" in item for item in answered)
    assert all("error" in message for message in client.messages() if message not in answered)
    client.connection.close()
