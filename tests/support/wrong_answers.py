"""A program between a sync and the daemon of the other side, which corrupts the answers to one method.

`python -m support.wrong_answers KIND METHOD SEED COMMAND…` speaks on its standard streams, without the product's code.
"""

import base64
import contextlib
import json  # noqa: TID251 - the tests' own reader is not the daemon's
import random
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import IO, Any

Spoiled = Iterator[bytes]
"""The bytes in place of an answer. After them, the program answers as before, unless it raises one of the two below."""


class Silence(Exception):
    """Raised to make the program stop reading and writing."""


class End(Exception):
    """Raised to end the program."""


def frame(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def encoded(message: Any) -> bytes:
    return frame(json.dumps(message).encode())


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all members of objects in a value."""
    found = []
    if isinstance(value, dict):
        for name, item in value.items():
            found += [(*path, name), *places(item, (*path, name))]
    elif isinstance(value, list):
        for number, item in enumerate(value[:20]):
            found += places(item, (*path, number))
    return found


def _struck(reply: dict[str, Any], dice: random.Random) -> tuple[Any, Any]:
    path = dice.choice(places(reply["result"]) or [()])
    holder = reply["result"]
    for name in path[:-1]:
        holder = holder[name]
    return (holder, path[-1]) if path else (reply, "result")


def wrong_type(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    holder, name = _struck(reply, dice)
    old = holder[name]
    holder[name] = [1] if not isinstance(old, list) else {"a": old}
    yield encoded(reply)


def missing_member(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    holder, name = _struck(reply, dice)
    del holder[name]
    yield encoded(reply)


def no_result(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    reply["result"] = dice.choice([None, True, 1, "x", [], {}, [[]], -1.5])
    yield encoded(reply)


def wrong_id(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    reply["id"] = dice.choice([987654, "x", None, reply["id"] + 1000])
    yield encoded(reply)


def no_json(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    whole = json.dumps(reply).encode()
    yield frame(dice.choice([whole[:-1], b"\xff\xfe", b"nothing", b"[" * 100_000, b"[]", b"\0" * 50, b"NaN"]))


def not_json_rpc(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    yield encoded(
        dice.choice([{"id": reply["id"]}, {"jsonrpc": "1.0"} | reply | {"jsonrpc": "1.0"}, {}, [reply]])
    )


def an_error_of_another_program(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    error = dice.choice([{"code": "x"}, "no", {"code": 1, "message": "no"}, {"code": 1, "message": 2}, [], 5])
    yield encoded({"jsonrpc": "2.0", "id": reply["id"], "error": error})


def huge_length(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    length = dice.choice([b"999999999", b"9" * 4000, b"-1", b"1e9", b"", b"67108865"])
    yield b"Content-Length: " + length + b"\r\n\r\n" + json.dumps(reply).encode()


def no_frame(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    yield dice.choice([b"x" * 20_000, b"\r\n\r\n", b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", b"\0" * 64])


def cut_frame(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    whole = encoded(reply)
    yield whole[: dice.randrange(len(whole))]
    raise End


def silence(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    yield encoded(reply)[: dice.choice([0, 5, 60])]
    raise Silence


def slow_drip(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    for byte in b"Content-Length: 60000000\r\n\r\n" + b" " * 10_000:
        yield bytes([byte])


def banner(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    yield dice.choice([b"Last login: today\n", b"\x1b[31mwarning\n", b"* * *\r\n\r\n"])
    yield encoded(reply)


def twice(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    yield encoded(reply) * 2


def extra_frames(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    for message in (
        {"jsonrpc": "2.0", "method": "x/y", "params": {"a": 1}},
        {"jsonrpc": "2.0", "method": "session/appended", "params": {"a": 1}},
        {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 7}},
        {"jsonrpc": "2.0", "id": 1, "method": "workspace/configuration", "params": [1]},
    ):
        yield encoded(message)
    yield encoded(reply)


def a_later_version(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    for path in [(), *places(reply["result"])]:
        holder = reply["result"]
        for name in path:
            holder = holder[name]
        if isinstance(holder, dict):
            holder["addedLater"] = {"a": [1]}
    yield encoded(reply)


def other_lines(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    if "lines" in reply["result"]:
        text = dice.choice(
            [b"no line of JSON\n", b"\0" * 30 + b"\n", b'{"type":"mess', b'{"cut":\n', b"\xff\n"]
        )
        before = base64.b64decode(reply["result"]["lines"])
        reply["result"]["lines"] = base64.b64encode(dice.choice([b"", before]) + text).decode()
    yield encoded(reply)


def endless_pages(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    for name in ("nextAfter", "nextOffset"):
        if name in reply["result"]:
            reply["result"][name] = dice.choice([0, 1, -1, 2**70])
    yield encoded(reply)


def uneven_columns(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    columns = [item for item in reply["result"].values() if isinstance(item, list) and item]
    if columns:
        column = dice.choice(columns)
        column += column
    yield encoded(reply)


def other_bytes(reply: dict[str, Any], dice: random.Random) -> Spoiled:
    if "data" in reply["result"]:
        reply["result"]["data"] = dice.choice(["", "AAAA", "é", "=", "A"])
    yield encoded(reply)


KINDS: dict[str, Callable[[dict[str, Any], random.Random], Spoiled]] = {
    item.__name__: item
    for item in (
        wrong_type, missing_member, no_result, wrong_id, no_json, not_json_rpc, an_error_of_another_program,
        huge_length, no_frame, cut_frame, silence, slow_drip, banner, twice, extra_frames, a_later_version,
        other_lines, endless_pages, uneven_columns, other_bytes,
    )
}  # fmt: skip
DRIP_SECONDS = 0.02
"""Seconds between two bytes of the kind `slow_drip`."""
HARMLESS = ("twice", "extra_frames", "a_later_version")
"""Kinds that must not disturb a sync."""
METHODS = ("server/hello", "sync/positions", "sync/ids", "sync/lines", "sync/put", "blob/missing", "blob/get")
"""The methods that a sync calls on the other side."""


def spoiled(kind: str, body: bytes, seed: int) -> Spoiled:
    """The bytes in place of an answer. An error stays as it is."""
    reply = json.loads(body)
    if "result" not in reply:
        return iter([encoded(reply)])
    return KINDS[kind](reply, random.Random(seed))


def _read(stream: IO[bytes]) -> bytes | None:
    length = 0
    while line := stream.readline().strip():
        length = int(line.split(b":")[1])
    return stream.read(length) if length else None


def main() -> None:
    kind, method, seed, *command = sys.argv[1:]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    methods: dict[Any, str] = {}

    def forward(stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError):
            while (body := _read(sys.stdin.buffer)) is not None:
                message = json.loads(body)
                if "method" in message:
                    methods[message.get("id")] = message["method"]
                stream.write(frame(body))
                stream.flush()
            stream.close()

    threading.Thread(target=forward, args=[process.stdin], daemon=True).start()
    try:
        while (body := _read(process.stdout)) is not None:
            is_struck = methods.get(json.loads(body).get("id")) == method
            for data in spoiled(kind, body, int(seed)) if is_struck else [frame(body)]:
                sys.stdout.buffer.write(data)
                sys.stdout.flush()
                if is_struck and kind == "slow_drip":
                    select.select([], [], [], DRIP_SECONDS)
    except Silence:
        threading.Event().wait()
    except (End, BrokenPipeError):
        pass
    finally:
        process.kill()


if __name__ == "__main__":
    main()
