"""Promises for any bytes at all: one function each, which raises if its promise is broken.

They run under hypothesis, under atheris, and over `tests/data/fuzz`, where what once broke one of them is kept.
"""

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import UNSET

from campaigns.campaign import hold
from sessiond.protocol.methods import METHODS
from sessiond.rpc.framing import Framer, FramingError
from sessiond.rpc.message import BadMessage, decode_message, encode_result
from sessiond.server import errors
from sessiond.server.connection.handshake import read_greeting
from sessiond.server.handlers.routes import ROUTES
from sessiond.session.context.context import build_context
from sessiond.session.state.statistics import Tally, tally_tree
from sessiond.session.tree import steps
from sessiond.session.tree.tree import Tree
from sessiond.store.files.file_bytes import SLICE
from sessiond.store.files.seekable import NoSeekTable, SeekTable, compressed, salvaged

_PARTS: Final = 64
_MAX_FRAME: Final = 4_096
_MAX_HEADER: Final = 256
_METHODS: Final = sorted(METHODS)


def framing(data: bytes) -> None:
    """However a stream is cut, the same messages come out of it, and nothing is raised but what ends it."""
    assert _framed([data[1:]]) == _framed(list(_cut(data[1:], data[:1])))


def _framed(pieces: Sequence[bytes]) -> tuple[list[bytes], type[Exception] | None]:
    framer, bodies = Framer(_MAX_FRAME, _MAX_HEADER), []
    try:
        for piece in pieces:
            bodies += framer.feed(piece)
            assert framer.expects <= max(_MAX_FRAME, _MAX_HEADER)
        bodies += framer.eof()
    except FramingError as error:
        return bodies + error.bodies, type(error)
    assert all(len(body) <= _MAX_FRAME for body in bodies)
    return bodies, None


def _cut(data: bytes, how: bytes) -> Iterator[bytes]:
    size = 1 + (how[0] % 64 if how else 0)
    for at in range(0, len(data), size):
        yield data[at : at + size]


def message(data: bytes) -> None:
    """A body is a message, or is refused with an id that can be answered; what is passed on is JSON in UTF-8."""
    try:
        head, body = decode_message(data)
    except BadMessage as error:
        hold(error.id is None or isinstance(error.id, int | str), "an id that nobody can be answered with")
        return
    assert isinstance(msgspec.json.decode(body.decode().encode(), type=dict[str, msgspec.Raw]), dict)
    if isinstance(head.id, int | str):
        encode_result(head.id, None)
    assert head.method is not UNSET or head.result is not UNSET or head.error is not UNSET


def params(data: bytes) -> None:
    """Params are what a method takes, or are refused with a place; what was understood is understood again."""
    method, body = _METHODS[data[0] % len(_METHODS)] if data else _METHODS[0], data[1:]
    try:
        head, _ = decode_message(
            b'{"jsonrpc":"2.0","id":1,"method":"%b","params":%b}' % (method.encode(), body)
        )
    except BadMessage:
        return
    if head.params is UNSET or head.method != method:  # the bytes made another message of it
        return
    with contextlib.suppress(errors.InvalidParams, errors.UnsupportedProtocol):
        read_greeting(head.params)
    try:
        understood = _understood(method, head.params)
    except errors.InvalidParams as refusal:
        hold(refusal.place.startswith("$"), "a refusal without a place")
        return
    again = msgspec.json.encode(understood)
    assert msgspec.json.encode(_understood(method, msgspec.Raw(again))) == again


def _understood(method: str, params: msgspec.Raw) -> object:
    route = ROUTES[method]
    try:
        return route.decode(params)
    except (msgspec.DecodeError, RecursionError):
        return route.decode_slowly(params)


def log(data: bytes) -> None:
    """Reading a log does not fail; however it is cut, the same rows and problems come out; a context can be built."""
    whole, cut = _read([data[1:]]), _read(list(_cut(data[1:], data[:1])))
    assert _rows(whole) == _rows(cut)

    def read_rows(rows: Sequence[int]) -> list[bytes]:
        return [whole.entry(row, data[1:][slice(*whole.span(row))]) for row in rows]

    steps.run(build_context(whole, whole.leaf, read_rows))
    steps.run(tally_tree(Tally(), whole, read_rows))


def _read(pieces: Sequence[bytes]) -> Tree:
    tree = Tree()
    for piece in pieces:
        tree.read(piece)
    tree.finish()
    return tree


def _rows(tree: Tree) -> object:
    rows = [(tree.id(row), tree.type(row), tree.parent(row), tree.span(row)) for row in range(tree.committed)]
    return rows, tree.problems, tree.leaf_id, tree.title, tree.tags, tree.labels, tree.tail


def packed(data: bytes) -> None:
    """A packed log is refused, or has as many bytes as its table says; damage reads as lines of question marks."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        unreadable: list[str] = []
        for part in itertools.islice(salvaged(file.fileno(), unreadable), _PARTS):
            hold(0 < len(part) <= SLICE, "a slice of another size")
        try:
            table = SeekTable(file.fileno())
        except NoSeekTable:
            return
        size = min(table.size, _PARTS * SLICE)
        content = table.read(file.fileno(), 0, size)
        hold(len(content) == size, f"{len(content)} bytes of {size}")
        for damage in table.damages:
            hold(
                set(content[damage.start : damage.end]) <= set(b"?\n"), f"bytes of a damaged frame: {damage}"
            )


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "framing": framing,
    "message": message,
    "params": params,
    "log": log,
    "packed": packed,
}

_DATA: Final = Path(__file__).parents[1] / "data"
_SESSION: Final = b"""{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"hi"}}
{"type":"compaction","id":"c","parentId":"a","summary":"s","firstKeptEntryId":"a","tokensBefore":1}
{"type":"label","id":"l","parentId":"c","targetId":"a","label":"x"}
{"type":"leaf","id":"f","parentId":"a","targetId":"a"}
"""


def _packed(content: bytes) -> bytes:
    with tempfile.TemporaryFile() as file:
        file.write(content)
        file.flush()
        return b"".join(compressed(file.fileno(), len(content)))


def seeds(target: str) -> list[bytes]:
    """Return the first inputs of a fuzzer: good input, and input that once was a defect."""
    requests = [
        b'{"jsonrpc":"2.0","id":1,"method":"session/append","params":{"sessionId":"s","entries":[{"type":"x"}]}}',
        b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"\\ud83d\\ude00"}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}',
    ]
    good = {
        "framing": [
            b"\x05"
            + b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(request), request) for request in requests),
            b"\x02content-type: x\r\nCONTENT-LENGTH:2 \r\n\r\n{}",
            b"\x03" + b"\r\n".join(requests) + b"\n",
        ],
        "message": requests,
        "params": [
            bytes([number])
            + b'{"sessionId":"abcdefgh","entries":[{"type":"custom"}],"limit":3,"query":"q","cwd":"/"}'
            for number in range(len(_METHODS))
        ]
        + [b'\x00{"capabilities":{},"initializationOptions":{"sessiond":{"protocolVersions":[1]}}}'],
        "packed": [_packed(_SESSION), _packed(_SESSION * 4_000), _packed(b""), _packed(b"x" * 1_300_000)],
        "log": [b"\x07" + _SESSION]
        + [b"\x10" + path.read_bytes()[:4_000] for path in sorted((_DATA / "conformance").glob("*.jsonl"))],
    }
    return good[target] + kept(target)


def kept(target: str) -> list[bytes]:
    """Return inputs that once were defects."""
    return [path.read_bytes() for path in sorted((_DATA / "fuzz" / target).glob("*")) if path.is_file()]
