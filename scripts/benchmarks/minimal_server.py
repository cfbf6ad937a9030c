"""The measured limit: a server without layers that does only what the protocol requires for two methods.

`python -m scripts.benchmarks.minimal_server SOCKET FOLDER`. It reads frames, validates the envelope, refuses an id that
is in flight, decodes typed params, and encodes a typed result. For `session/append` it also checks the entry, gives it
an id, a parent and a time, writes the lines of one read to a file with one `write`, and answers after that. It has no
other method, no LSP, no limits, no durability, no subscribers, no index, and it loses the data of a failed write.
"""

import asyncio
import os
import re
import sys
import time
from pathlib import Path
from typing import Literal

import msgspec

HEADER = re.compile(rb"Content-Length: ([0-9]+)\r\n\r\n").match


class Head(msgspec.Struct, frozen=True, gc=False):
    jsonrpc: Literal["2.0"]
    id: int | str
    method: str
    params: msgspec.Raw = msgspec.Raw(b"{}")


class Named(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    session_id: str


class Append(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    session_id: str
    entries: list[msgspec.Raw]
    durability: Literal["written", "synced"]


class Content(msgspec.Struct):
    role: str


class Entry(msgspec.Struct):
    type: str
    message: Content
    id: str | None = None


class Result(msgspec.Struct, rename="camel", omit_defaults=True):
    session_id: str = ""
    leaf_id: str = ""
    last_seq: int = 0


class Reply(msgspec.Struct):
    id: int | str
    result: Result
    jsonrpc: str = "2.0"


class Minimal(asyncio.Protocol):
    """One connection. All connections append to the same file."""

    file = -1
    rows: dict[str, int] = {}  # noqa: RUF012 - of the process
    leaf = ""
    decode = msgspec.json.Decoder(Head).decode
    decode_named = msgspec.json.Decoder(Named).decode
    decode_append = msgspec.json.Decoder(Append).decode
    decode_entry = msgspec.json.Decoder(Entry).decode
    encode = msgspec.json.Encoder().encode

    def __init__(self) -> None:
        self.held = b""
        self.in_flight: set[int | str] = set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        data = self.held + data
        at = 0
        heads, lines, frames = list[Head](), list[bytes](), list[bytes]()
        while (header := HEADER(data, at)) is not None:
            end = header.end() + int(header[1])
            if end > len(data):
                break
            body = data[header.end() : end]
            if not body.isascii():
                body.decode()
            head = self.decode(body)
            if head.id in self.in_flight:
                raise ValueError(head.id)
            self.in_flight.add(head.id)
            heads.append(head)
            at = end
        self.held = data[at:]
        results = [self.result_of(head, lines) for head in heads]
        if lines:
            os.write(self.file, b"".join(lines))
        for head, result in zip(heads, results, strict=True):
            self.in_flight.remove(head.id)
            body = self.encode(Reply(head.id, result))
            frames.append(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.transport.write(b"".join(frames))

    def result_of(self, head: Head, lines: list[bytes]) -> Result:
        if head.method != "session/append":
            return Result(session_id=self.decode_named(head.params).session_id)
        cls = type(self)
        for raw in self.decode_append(head.params).entries:
            entry = self.decode_entry(raw)
            name = entry.id or os.urandom(4).hex()
            place = b'{"type":"%b","id":"%b","parentId":"%b","timestamp":"%b",' % (
                entry.type.encode(), name.encode(), cls.leaf.encode(),
                time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime()).encode(),
            )  # fmt: skip
            lines.append(place + bytes(raw)[1:] + b"\n")
            self.rows[name] = len(self.rows)
            cls.leaf = name
        return Result(leaf_id=cls.leaf, last_seq=len(self.rows))


async def serve(path: str) -> None:
    server = await asyncio.get_running_loop().create_unix_server(Minimal, path, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    Minimal.file = os.open(
        Path(sys.argv[2], "minimal.jsonl"), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC, 0o600
    )
    asyncio.run(serve(sys.argv[1]))
