"""Programs that listen in the place of the daemon and send answers that a daemon never sends.

`python -m support.wrong_listeners KIND SOCKET` is one of them, which prints READY. It does not use the product's code.
"""

import contextlib
import itertools
import json  # noqa: TID251 - another program has no msgspec
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from support.wrong_answers import encoded, frame

Talk = Callable[[socket.socket], None]


def http_server(client: socket.socket) -> None:
    client.recv(65_536)
    client.sendall(b"HTTP/1.1 400 Bad Request\r\nServer: x\r\nContent-Length: 11\r\n\r\nBad Request")


def echo(client: socket.socket) -> None:
    while data := client.recv(65_536):
        client.sendall(data)


def silence(client: socket.socket) -> None:
    while client.recv(65_536):
        pass


def reads_nothing(client: socket.socket) -> None:
    threading.Event().wait()


def bytes_without_end(client: socket.socket) -> None:
    while True:
        client.sendall(b"x" * 65_536)


def a_byte_now_and_then(client: socket.socket) -> None:
    while True:
        client.sendall(b"C")
        threading.Event().wait(0.02)


def a_body_without_end(client: socket.socket) -> None:
    client.sendall(b"Content-Length: 99999999999999\r\n\r\n")
    bytes_without_end(client)


def a_slow_body(client: socket.socket) -> None:
    client.sendall(b"Content-Length: 60000000\r\n\r\n")
    a_byte_now_and_then(client)


def less_than_no_bytes(client: socket.socket) -> None:
    client.recv(65_536)
    client.sendall(b"Content-Length: -5\r\n\r\n{}")
    silence(client)


def notifications_without_end(client: socket.socket) -> None:
    while True:
        client.sendall(encoded({"jsonrpc": "2.0", "method": "x/y", "params": {}}) * 100)


def requests_without_end(client: socket.socket) -> None:
    for number in itertools.count():
        client.sendall(encoded({"jsonrpc": "2.0", "id": number, "method": "client/summarize", "params": 5}))


def closes(client: socket.socket) -> None:
    client.recv(65_536)


def random_bytes(client: socket.socket) -> None:
    client.recv(65_536)
    client.sendall(os.urandom(5_000))


def other_ids(client: socket.socket) -> None:
    for request in _requests(client):
        client.sendall(encoded({"jsonrpc": "2.0", "id": "other", "result": {"to": request["id"]}}))


def _requests(client: socket.socket) -> Iterator[dict[str, Any]]:
    with client.makefile("rb") as stream:
        while True:
            length = 0
            while line := stream.readline().strip():
                length = int(line.partition(b":")[2])
            if not length:
                return
            yield json.loads(stream.read(length))


def answering(results: Mapping[str, Callable[[Any], Any]]) -> Talk:
    """A daemon that answers the requests for these methods with the results of the functions for their params."""

    def answer(client: socket.socket) -> None:
        for request in _requests(client):
            if (make := results.get(request["method"])) is not None:
                result = make(request.get("params"))
                client.sendall(encoded({"jsonrpc": "2.0", "id": request["id"], "result": result}))

    return answer


def _always(member: str, value: Any) -> Talk:
    def answer(client: socket.socket) -> None:
        for request in _requests(client):
            client.sendall(encoded({"jsonrpc": "2.0", "id": request["id"], member: value}))

    return answer


def _text(text: bytes) -> Talk:
    def answer(client: socket.socket) -> None:
        for request in _requests(client):
            id = json.dumps(request["id"]).encode()
            client.sendall(frame(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id, text)))

    return answer


_MEMBERS: Final = (
    "session", "sessions", "entries", "entry", "clients", "version", "pid", "agents", "items", "nodes", "hits", "rows",
    "passages", "prompts", "totalCount", "uptimeMs", "draining", "path", "text", "leafId", "sessionId", "lastSeq",
)  # fmt: skip

KINDS: Final[dict[str, Talk]] = {
    item.__name__: item
    for item in (
        http_server, echo, silence, reads_nothing, bytes_without_end, a_byte_now_and_then, a_body_without_end,
        a_slow_body, less_than_no_bytes, notifications_without_end, requests_without_end, closes, random_bytes,
        other_ids,
    )
} | {
    "a_number": _always("result", 5),
    "a_list": _always("result", []),
    "null": _always("result", None),
    "no_members": _always("result", {}),
    "members_that_are_lists": _always("result", {name: [None, 3, "x", {}] for name in _MEMBERS}),
    "members_that_are_null": _always("result", dict.fromkeys(_MEMBERS)),
    "members_that_are_objects": _always("result", {name: {"a": 1} for name in _MEMBERS}),
    "an_error_that_is_a_number": _always("error", 5),
    "an_error_of_other_types": _always("error", {"code": "x", "message": ["a"], "data": {"kind": [1]}}),
    "an_error_without_a_kind": _always("error", {"code": -32601, "message": "Method not found"}),
    "neither": _always("other", 1),
    "too_deep": _text(b"[" * 100_000 + b"]" * 100_000),
    "too_long_a_number": _text(b"9" * 100_000),
    "no_utf_8": _text(b'{"text":"\xff\xfe"}'),
}  # fmt: skip


WITHOUT_ANSWER: Final = (
    "silence", "reads_nothing", "bytes_without_end", "a_byte_now_and_then", "a_slow_body", "other_ids",
    "notifications_without_end", "requests_without_end", "closes", "less_than_no_bytes",
)  # fmt: skip
"""Kinds that a client gives up only after some time."""


class Listener:
    """A program at a socket, in a thread for each connection."""

    def __init__(self, talk: Talk, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._talk = talk
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._clients: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                self._clients.append(client)
                threading.Thread(target=self._serve, args=[client], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._talk(client)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        for item in (self._socket, *self._clients):
            with contextlib.suppress(OSError):
                item.shutdown(socket.SHUT_RDWR)
            item.close()


def main() -> None:
    kind, path = sys.argv[1:]
    Listener(KINDS[kind], Path(path))
    print("READY", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
