"""The yardstick: what any asyncio server in Python with msgspec must spend on a framed request.

`python -m scripts.benchmarks.echo_server SOCKET REPLY_BYTES`. It reads Content-Length frames, decodes the
head of the request, answers with a result of a given size, and writes once per read. It does nothing else.
"""

import asyncio
import re
import sys

import msgspec

HEADER = re.compile(rb"Content-Length: ([0-9]+)\r\n\r\n").match


class Request(msgspec.Struct):
    id: int
    method: str
    params: msgspec.Raw


class Reply(msgspec.Struct):
    id: int
    result: msgspec.Raw
    jsonrpc: str = "2.0"


class Echo(asyncio.Protocol):
    """One connection."""

    result = msgspec.Raw(b"{}")
    decode = msgspec.json.Decoder(Request).decode
    encode = msgspec.json.Encoder().encode

    def __init__(self) -> None:
        self.held = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        data = self.held + data
        at = 0
        replies = []
        while (header := HEADER(data, at)) is not None:
            end = header.end() + int(header[1])
            if end > len(data):
                break
            body = self.encode(Reply(self.decode(data[header.end() : end]).id, self.result))
            replies.append(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            at = end
        self.held = data[at:]
        self.transport.write(b"".join(replies))


async def serve(path: str) -> None:
    server = await asyncio.get_running_loop().create_unix_server(Echo, path, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    Echo.result = msgspec.Raw(msgspec.json.encode({"filler": "x" * max(0, int(sys.argv[2]) - 13)}))
    asyncio.run(serve(sys.argv[1]))
