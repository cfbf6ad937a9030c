"""Bad input gets a typed error or a reported problem. Nobody is harmed, no byte of a file changes."""

import asyncio
import errno
import json  # noqa: TID251 - what goes over the wire is made by hand here
import os
import random
from pathlib import Path
from typing import Any

import pytest

from sessiond.rpc.framing import MAX_FRAME
from support import logs
from support.columns import entries_of, messages_of, seqs_of
from support.daemons import Peer, Running, assistant, refusal, user
from support.shared import started
from support.wire import Wire, in_thread

OVER_SOCKETS = pytest.mark.parametrize("daemon", ["socket", "process"], indirect=True)
STATUS = b'{"jsonrpc":"2.0","id":"alive","method":"server/status"}'


async def is_unharmed(peer: Peer, session_id: str) -> None:
    """Another client is served as if nothing had happened."""
    before = (await peer.call("session/info", sessionId=session_id))["session"]["lastSeq"]
    assert (await peer.append(session_id, user("still here")))["lastSeq"] == before + 1
    await peer.until(lambda client: before + 1 in client.seqs())


# --- frames ------------------------------------------------------------------------------------------------


@OVER_SOCKETS
@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "parse"),
        (b"Content-Length: -5\r\n\r\n{}", "parse"),
        (b"Content-Length: 1e3\r\n\r\n", "parse"),
        (b"Content-Length: 99999999999999999999\r\n\r\n", "tooLarge"),
        (b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", "parse"),
        (b"Content-Type: text/plain\r\n\r\n{}", "parse"),
        (b"\x00\x01\x02\xff" * 100, "parse"),
        (b"X" * 9000, "parse"),
        (b"Content-Length: 50\r\n\r\n{}", "parse"),
        (b"Content-Length: %d\r\n\r\n" % (MAX_FRAME + 1), "tooLarge"),
    ],
)
async def test_bytes_that_are_no_frame_are_refused_and_end_only_their_connection(
    daemon: Running, cwd: str, sent: bytes, kind: str
) -> None:
    peer, session_id = await started(daemon, cwd)

    def try_it() -> list[dict[str, Any]]:
        with Wire(daemon.home) as wire:
            wire.frame(STATUS)
            wire.send(sent)
            wire.no_more()
            return wire.read_all()

    alive, complaint = await in_thread(try_it)
    assert alive["id"] == "alive"
    assert (complaint["id"], complaint["error"]["data"]["kind"]) == (None, kind)
    if kind == "tooLarge":
        assert complaint["error"]["code"] == 1413
        assert complaint["error"]["data"]["details"]["limitBytes"] == MAX_FRAME
    await is_unharmed(peer, session_id)


@OVER_SOCKETS
async def test_a_message_that_is_too_large_is_refused_when_its_header_has_come(
    daemon: Running, cwd: str
) -> None:
    """The peer may send the rest nevertheless: it is discarded, and the peer can read the error."""
    peer, session_id = await started(daemon, cwd)

    def try_it() -> tuple[list[dict[str, Any]], int]:
        with Wire(daemon.home) as wire:
            wire.send(b"Content-Length: %d\r\n\r\n" % (MAX_FRAME + 1))
            told = wire.read_all()
            for _ in range(10):
                wire.send(b"x" * 1_000_000)
            return told, MAX_FRAME + 1

    [complaint], announced = await in_thread(try_it)
    data = complaint["error"]["data"]
    assert data["kind"] == "tooLarge"
    assert data["details"] == {"limitBytes": MAX_FRAME, "actualBytes": announced}
    await is_unharmed(peer, session_id)


@OVER_SOCKETS
async def test_a_header_without_end_is_refused_at_its_limit(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)

    def try_it() -> list[dict[str, Any]]:
        with Wire(daemon.home) as wire:
            wire.send(b"Content-Length: 2\r\n" + b"X-Padding: 12345\r\n" * 500)
            return wire.read_all()

    [complaint] = await in_thread(try_it)
    assert complaint["error"]["data"]["kind"] == "parse"
    await is_unharmed(peer, session_id)


@OVER_SOCKETS
async def test_a_line_without_end_is_refused_and_not_kept(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)

    def try_it() -> list[dict[str, Any]]:
        with Wire(daemon.home) as wire:
            wire.send(b'{"jsonrpc":"2.0","id":1,"method":"server/status","params":{"x":"')
            sent = 0
            try:
                while sent < MAX_FRAME + 1_000_000:
                    wire.send(b"x" * 1_000_000)
                    sent += 1_000_000
            except (BrokenPipeError, ConnectionResetError):
                pass
            return wire.read_all()

    [complaint] = await in_thread(try_it)
    assert complaint["error"]["data"]["kind"] == "tooLarge"
    await is_unharmed(peer, session_id)


@OVER_SOCKETS
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "parse"),
        (b"{", "parse"),
        (b"{]", "parse"),
        (b"nonsense", "parse"),
        (b'{"jsonrpc":"2.0","id":1,"method":"server/status"', "parse"),
        (b'\xff\xfe{"jsonrpc":"2.0"}', "parse"),
        (b'{"jsonrpc":"2.0","id":1,"method":"server/status","params":{"x":"\xff"}}', "parse"),
        (b"[" * 100_000, "parse"),
        (b'{"a":' * 100_000, "parse"),
        (b"null", "invalidRequest"),
        (b"7", "invalidRequest"),
        (b'"text"', "invalidRequest"),
        (b"[]", "invalidRequest"),
        (b"[%b]" % STATUS, "invalidRequest"),
        (b"{}", "invalidRequest"),
        (b'{"jsonrpc":"1.0","id":1,"method":"server/status"}', "invalidRequest"),
        (b'{"jsonrpc":"2.0","id":1,"method":7}', "invalidRequest"),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"server/status"}', "invalidRequest"),
        (b'{"jsonrpc":"2.0","id":[1],"method":"server/status"}', "invalidRequest"),
        (b'{"jsonrpc":"2.0","id":1,"method":"server/nothing"}', "methodNotFound"),
        (b'{"jsonrpc":"2.0","id":1,"method":""}', "methodNotFound"),
        (b'{"jsonrpc":"2.0","id":1,"method":"%b"}' % (b"x" * 10_000), "methodNotFound"),
        (b'{"jsonrpc":"2.0","id":1,"method":"session/list","params":[]}', "invalidParams"),
        (b'{"jsonrpc":"2.0","id":1,"method":"session/list","params":5}', "invalidParams"),
        (b'{"jsonrpc":"2.0","id":1,"method":"session/info","params":%b1%b}' % (b'{"a":' * 900, b"}" * 900),
         "invalidParams"),
    ],
)  # fmt: skip
async def test_a_whole_frame_that_makes_no_sense_is_answered_and_the_connection_goes_on(
    daemon: Running, body: bytes, kind: str
) -> None:
    def try_it() -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        with Wire(daemon.home) as wire:
            wire.frame(body)
            wire.frame(STATUS)
            return wire.read(), wire.read()

    complaint, alive = await in_thread(try_it)
    assert complaint["error"]["data"]["kind"] == kind
    assert complaint["error"]["message"]
    assert len(complaint["error"]["message"]) < 500
    assert alive["id"] == "alive"


@OVER_SOCKETS
async def test_random_bytes_harm_nobody(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    chance = random.Random(7)
    good = b"Content-Length: %d\r\n\r\n%b" % (len(STATUS), STATUS)

    def mangled() -> bytes:
        data = bytearray(good * 5)
        for _ in range(chance.randint(1, 10)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        return bytes(data[: chance.randint(1, len(data))])

    def try_it() -> None:
        for _ in range(200):
            with Wire(daemon.home) as wire:
                try:
                    wire.send(mangled())
                    wire.no_more()
                    wire.read_all()
                except (BrokenPipeError, ConnectionResetError):
                    pass

    await in_thread(try_it)
    await is_unharmed(peer, session_id)


async def test_a_request_id_in_use_is_not_answered_twice(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    peer.connection.send_body(b'{"jsonrpc":"2.0","id":"call-0","method":"session/list"}')
    peer.connection.send_body(b'{"jsonrpc":"2.0","id":"call-0","method":"session/list"}')
    await is_unharmed(peer, session_id)


async def test_a_notification_of_a_method_is_not_answered_and_does_nothing(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    peer.connection.notify("session/append", {"sessionId": session_id, "entries": [user("x")]})
    peer.connection.notify("no/such")
    assert (await peer.call("session/info", sessionId=session_id))["session"]["lastSeq"] == 0


# --- params ------------------------------------------------------------------------------------------------

HOSTILE_IDS = ["../x", "../../../../etc/passwd", "nul\0byte", "a/b", "..", "*", "~root", "line\nline",
               "\ud7ff\uffff", "%2e%2e%2f", "x" * 128, "CON", "-rf"]  # fmt: skip
SESSION_METHODS: dict[str, dict[str, Any]] = {
    "session/open": {}, "session/close": {}, "session/info": {}, "session/entries": {}, "session/path": {},
    "session/tree": {}, "session/context": {}, "session/flush": {}, "session/subscribe": {}, "session/fork": {},
    "session/rename": {"title": "x"}, "session/tag": {"add": ["x"]},
    "session/branch": {"entryId": None}, "session/label": {"entryId": "x"},
    "session/append": {"entries": [{"type": "custom", "customType": "x"}]},
    "view/page": {}, "view/path": {}, "view/entry": {"entryId": "x"}, "state/get": {}, "state/beginTask": {},
}  # fmt: skip


@pytest.mark.parametrize("method", SESSION_METHODS)
async def test_a_hostile_id_names_no_session(memory: Running, method: str) -> None:
    peer = await memory.attach()
    before = memory.everything()
    for session_id in HOSTILE_IDS:
        refused = await refusal(peer.call(method, sessionId=session_id, **SESSION_METHODS[method]))
        assert refused.kind == "sessionNotFound"
    no_ids: list[Any] = ["", "x" * 129, "x" * 10_000, 7, [], {}]
    for no_id in no_ids:
        refused = await refusal(peer.call(method, sessionId=no_id, **SESSION_METHODS[method]))
        assert refused.kind == "invalidParams"
    assert memory.everything() == before


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/path", {"leafId": "nobody"}),
        ("session/tree", {"rootId": "nobody"}), ("session/context", {"leafId": "nobody"}),
        ("session/branch", {"entryId": "nobody"}), ("session/label", {"entryId": "nobody"}),
        ("view/entry", {"entryId": "nobody"}), ("state/get", {"leafId": "nobody"}),
        ("session/fork", {"leafId": "nobody"}),
        ("session/entries", {"entryIds": ["nobody"]}), ("session/entries", {"aroundId": "nobody"}),
        ("session/append", {"entries": [{"type": "custom", "customType": "x", "parentId": "nobody"}]}),
        ("session/branch", {"entryId": "a", "expectedLeafId": "nobody"}),
    ],
)  # fmt: skip
async def test_an_entry_that_is_not_there_is_named(
    memory: Running, cwd: str, method: str, params: dict[str, Any]
) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1", id="a"))
    refused = await refusal(peer.call(method, sessionId=session_id, **params))
    assert (refused.kind, refused.details["entryId"]) == ("entryNotFound", "nobody")


@pytest.mark.parametrize("method", ["entries", "path", "tree"])
@pytest.mark.parametrize(
    "cursor",
    ["", "-1", "-5", "x", "1.5.5", "99999999", "0.-1", "0.99999999", "٣", "1" * 30, "\0", "nan", "5.x"],
)
async def test_a_cursor_that_was_never_given_is_refused_or_finds_nothing(
    memory: Running, cwd: str, method: str, cursor: str
) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1"), user("2"))
    try:
        page = await peer.call(f"session/{method}", sessionId=session_id, cursor=cursor)
    except Exception as error:  # noqa: BLE001 - the kind is looked at
        assert getattr(error, "kind", "") == "cursorExpired"  # noqa: PT017
    else:
        assert page.get("items", page.get("nodes")) == []


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/list", {"limit": 0}), ("session/list", {"limit": 10_001}), ("session/list", {"limit": -1}),
        ("session/list", {"limit": 2**70}), ("session/list", {"limit": "5"}),
        ("session/list", {"sort": "size"}), ("session/list", {"tags": "x"}),
        ("session/create", {}), ("session/create", {"cwd": 5}),
        ("session/create", {"cwd": "/x", "ephemeral": "yes"}), ("session/continue", {"cwd": None}),
        ("session/fork", {}), ("session/fork", {"sessionId": "abcdefgh", "path": "/x"}),
        ("session/fork", {"sessionId": "abcdefgh", "position": "after"}), ("session/open", {"path": "x\0"}),
        ("session/create", {"cwd": "/x", "terminal": {"id": "x", "pid": 0}}),
        ("session/create", {"cwd": "/x", "terminal": "tty"}),
        ("session/subscribe", {"sessionId": "abcdefgh", "after": -1}),
        ("session/subscribe", {"sessionId": "abcdefgh", "after": 1}),
        ("session/subscribe", {"sessionId": "abcdefgh", "after": {"seq": 1}}),
        ("session/subscribe", {"sessionId": "abcdefgh", "after": {"logId": "x", "seq": "1"}}),
    ],
)  # fmt: skip
async def test_wrong_params_are_refused_with_the_place(
    memory: Running, method: str, params: dict[str, Any]
) -> None:
    peer = await memory.attach()
    refused = await refusal(peer.call(method, **params))
    assert (refused.kind, refused.code, refused.data["retryable"]) == ("invalidParams", -32602, False)
    assert refused.details["path"].startswith("$")


async def test_a_mistyped_method_is_answered_with_the_nearest(memory: Running) -> None:
    refused = await refusal((await memory.attach()).call("session/apend"))
    assert (refused.kind, refused.details["didYouMean"]) == ("methodNotFound", ["session/append"])


async def test_a_page_of_ids_is_bounded(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("—" * 499_000, id="big"), user("y", id="small"))
    ids = ["big", "small"] * 500
    first = await peer.call("session/entries", sessionId=session_id, entryIds=ids, limit=1000)
    assert len(first["items"]) < 5
    rest = await peer.call("session/entries", sessionId=session_id, entryIds=ids, cursor=first["nextCursor"])
    assert [entry["id"] for entry in entries_of(first) + entries_of(rest)] == ids[
        : len(seqs_of(first)) + len(seqs_of(rest))
    ]


# --- files -------------------------------------------------------------------------------------------------

HEADER = logs.log(logs.header(id="bad-file-1"))
CYCLE = logs.log(
    logs.header(id="cycle-file"), logs.user("a", id="a", parent="c"), logs.user("b", id="b", parent="a"),
    logs.user("c", id="c", parent="b"), logs.user("s", id="s", parent="s"),
    logs.user("d", id="d", parent="c"),
)  # fmt: skip
TWICE = logs.log(
    logs.header(id="twice-file"), logs.user("one", id="a", parent=None), logs.user("two", id="b", parent="a"),
    logs.user("other", id="a", parent="b"), logs.user("three", id="c", parent="a"),
)  # fmt: skip
NO_SESSION = {
    "empty": b"",
    "a newline": b"\n",
    "blank lines": b"\n\n \n",
    "binary": bytes(range(256)) * 40,
    "zeros": bytes(5000),
    "text": b"Dear diary,\nnothing happened.\n",
    "other json": b'{"name":"x","version":"1"}\n',
    "an array": b"[1,2,3]\n",
    "a torn header": HEADER[:-20],
    "utf-16": HEADER.decode().encode("utf-16"),
    "a deep nest": b"[" * 100_000,
    "a header without id": b'{"type":"session","version":3}\n',
    "a header with a version that is no number": b'{"type":"session","version":"new","id":"x"}\n',
    "a long line": b'{"type":"sess' + b"x" * 3_000_000,
}
DAMAGED = {
    "entries without a header": logs.log(logs.user("a", parent=None), logs.user("b")),
    "a bad header before entries": b'{"type":"session"\n' + logs.log(logs.user("a", parent=None)),
    "binary before entries": bytes(range(256)) + b"\n" + logs.log(logs.user("a", parent=None)),
}
ODD = {
    "only a header": HEADER,
    "a cycle": CYCLE,
    "duplicate ids": TWICE,
    "an unknown parent": HEADER + logs.log(logs.user("x", parent="nobody")),
    "a parent further down": HEADER
    + logs.log(logs.user("x", id="x", parent="y"), logs.user("y", id="y", parent=None)),
    "binary between lines": HEADER + bytes(range(10)) + b"\xff\xfe\n" + logs.log(logs.user("x", parent=None)),
    "no entry": HEADER
    + b'[1]\n"x"\n7\nnull\n{}\n{"type":5}\n{"type":"message"}\n{"type":"message","id":5}\n',
    "a deep nest": HEADER
    + b'{"type":"custom","id":"n","parentId":null,"data":%b%b}\n' % (b"[" * 500_000, b"]" * 500_000),
    "lone surrogates": HEADER
    + b'{"type":"message","id":"s","parentId":null,"message":{"role":"user","content":"\\ud800"}}\n',
    "a future version": HEADER.replace(b'"version":3', b'"version":9'),
    "version 0": HEADER.replace(b'"version":3', b'"version":0'),
    "a hostile id in the header": HEADER.replace(b"bad-file-1", b"../../../tmp/x-file"),
    "a long id in the header": HEADER.replace(b"bad-file-1", b"x" * 10_000),
    "a byte order mark": b"\xef\xbb\xbf" + HEADER + logs.log(logs.user("x", parent=None)),
    "carriage returns": HEADER.replace(b"\n", b"\r\n")
    + logs.log(logs.user("x", parent=None)).replace(b"\n", b"\r\n"),
    "a leaf to nowhere": HEADER + logs.log(logs.user("x", parent=None), logs.leaf("nobody")),
    "two headers": HEADER + HEADER + logs.log(logs.user("x", parent=None)),
    "ids that are no text": HEADER
    + b'{"type":"custom","id":["a"],"parentId":{"b":1}}\n{"type":"custom","id":""}\n',
    "a parent that is no text": HEADER + b'{"type":"custom","customType":"x","id":"p","parentId":[1]}\n',
    "numbers out of range": HEADER
    + b'{"type":"custom","customType":"x","id":"p","parentId":null,"data":1e999}\n',
    "messages of nobody": HEADER + b'{"type":"message","id":"m","parentId":null}\n'
    b'{"type":"message","id":"n","parentId":"m","message":7}\n'
    b'{"type":"message","id":"o","parentId":"n","message":{"role":["user"]}}\n'
    b'{"type":"message","id":"q","parentId":"o","message":{"role":"user"}}\n',
    "labels and compactions of nothing": HEADER + b'{"type":"label","id":"l","parentId":null}\n'
    b'{"type":"compaction","id":"k","parentId":"l"}\n{"type":"branch_summary","id":"j","parentId":"k"}\n',
}  # fmt: skip


REPORTED = ODD.keys() - {
    "only a header", "a parent further down", "lone surrogates", "a future version", "version 0",
    "a byte order mark", "a hostile id in the header", "a long id in the header",
    "carriage returns", "numbers out of range",
    "messages of nobody", "labels and compactions of nothing", "two headers",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where nothing else is."""
    made = tmp_path / "files"
    made.mkdir()
    return made


async def read_everything(peer: Peer, **named: str) -> dict[str, Any]:
    """All that one can ask of a file without writing."""
    opened: dict[str, Any] = await peer.call("session/open", **named)
    session_id = opened["session"]["sessionId"]
    if len(session_id) > 128:
        return opened  # nothing can be asked of it by name
    for method in ("info", "entries", "path", "tree", "context"):
        await peer.call(f"session/{method}", sessionId=session_id)
    for filter_ in ("all", "noTools", "userOnly", "labeledOnly"):
        await peer.call("session/tree", sessionId=session_id, filter=filter_, query="x")
    await peer.call("session/subscribe", sessionId=session_id, after=await peer.position(session_id, 0))
    await peer.call("session/flush")
    return opened


@pytest.mark.parametrize("name", NO_SESSION)
async def test_a_file_that_is_no_session_is_refused_and_left_as_it_is(
    daemon: Running, folder: Path, name: str
) -> None:
    path = folder / "file.jsonl"
    path.write_bytes(NO_SESSION[name])
    peer = await daemon.attach()
    for method in ("open", "fork"):
        refused = await refusal(peer.call(f"session/{method}", path=str(path)))
        assert (refused.kind, refused.code, refused.details["path"]) == ("sessionDamaged", 1500, str(path))
        assert refused.details["byteOffset"] >= 0
        assert refused.details["line"] >= 1
    assert path.read_bytes() == NO_SESSION[name]
    assert [file.name for file in folder.iterdir()] == ["file.jsonl"]


@pytest.mark.parametrize("name", DAMAGED)
async def test_a_file_with_entries_but_no_header_is_read_only_under_an_id_that_stays(
    daemon: Running, folder: Path, name: str
) -> None:
    path = folder / "file.jsonl"
    path.write_bytes(DAMAGED[name])
    peer = await daemon.attach()
    opened = await read_everything(peer, path=str(path))
    session = opened["session"]
    assert session["readOnly"]
    assert session["sessionId"].startswith("damaged-")
    assert opened["problems"]
    again = await peer.call("session/open", path=str(path))
    assert again["session"]["sessionId"] == session["sessionId"]
    refused = await refusal(peer.append(session["sessionId"], user("x")))
    assert (refused.kind, refused.code) == ("readOnly", 1423)
    forked = await peer.call("session/fork", sessionId=session["sessionId"], cwd="/work/rescued")
    assert forked["session"]["entryCount"] >= 1
    assert path.read_bytes() == DAMAGED[name]


@pytest.mark.parametrize("name", ODD)
async def test_an_odd_file_is_read_and_reported_and_left_as_it_is(
    daemon: Running, folder: Path, cwd: str, name: str
) -> None:
    path = folder / "file.jsonl"
    data = ODD[name].replace(b"-file", b"-file" + cwd.rpartition("-")[2].encode())
    path.write_bytes(data)
    peer = await daemon.attach()
    opened = await read_everything(peer, path=str(path))
    assert len(opened.get("problems", [])) == opened["session"]["problemCount"]
    assert bool(opened.get("problems")) == (name in REPORTED)
    assert path.read_bytes() == data
    assert [file.name for file in folder.iterdir()] == ["file.jsonl"]


@pytest.mark.parametrize(
    ("name", "kind"), [("a future version", "unsupportedVersion"), ("version 0", "unsupportedVersion")]
)
async def test_a_version_that_is_not_known_is_read_and_not_written(
    memory: Running, tmp_path: Path, name: str, kind: str
) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(ODD[name])
    peer = await memory.attach()
    session = (await peer.call("session/open", path=str(path)))["session"]
    assert session["readOnly"]
    refused = await refusal(peer.append(session["sessionId"], user("x")))
    assert (refused.kind, refused.code, refused.details["supportedVersions"]) == (kind, 1426, [1, 2, 3])
    assert path.read_bytes() == ODD[name]


@pytest.mark.parametrize("name", ["a cycle", "duplicate ids", "no entry", "binary between lines"])
async def test_an_odd_file_can_be_gone_on_with_and_keeps_its_lines(
    memory: Running, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(ODD[name])
    peer = await memory.attach()
    session_id = (await peer.call("session/open", path=str(path)))["session"]["sessionId"]
    await peer.append(session_id, user("on"), assistant("and on"))
    assert path.read_bytes().startswith(ODD[name])
    assert len(messages_of(await peer.call("session/context", sessionId=session_id))) >= 2


async def test_a_path_to_nothing_or_to_no_file_is_no_session(memory: Running, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "loop.jsonl").symlink_to(tmp_path / "loop.jsonl")
    peer = await memory.attach()
    paths = ["/nowhere/x.jsonl", "/dev/null", "/dev/zero", "/" + "x" * 10_000, "/proc/self/mem/x"]
    for path in [*paths, *map(str, tmp_path.iterdir())]:
        async with asyncio.timeout(5):
            refused = await refusal(peer.call("session/open", path=path))
        assert refused.kind in ("sessionNotFound", "sessionDamaged")


async def test_a_copy_of_an_open_session_is_refused(memory: Running, tmp_path: Path, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    await peer.append(session_id, user("1"), assistant("2"))
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(memory.files()[0].read_bytes())
    refused = await refusal(peer.call("session/open", path=str(copy)))
    assert (refused.kind, refused.details["sessionId"]) == ("alreadyExists", session_id)
    assert str(copy) in refused.message
    assert str(memory.files()[0]) in refused.message
    await is_unharmed(peer, session_id)


async def test_a_file_that_may_not_be_written_is_read_only(
    memory: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_file = os.open

    def refuse_writing(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if flags & os.O_RDWR and str(path).endswith("file.jsonl"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # nothing else stops root
        return open_file(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refuse_writing)
    path = tmp_path / "file.jsonl"
    path.write_bytes(HEADER)
    peer = await memory.attach()
    session = (await peer.call("session/open", path=str(path)))["session"]
    assert session["readOnly"]
    refused = await refusal(peer.append(session["sessionId"], user("x")))
    assert (refused.kind, refused.code, refused.details["path"]) == ("readOnly", 1423, str(path))
    assert path.read_bytes() == HEADER


async def test_the_daemon_says_nothing_of_bodies_in_its_errors(memory: Running, cwd: str) -> None:
    peer, session_id = await started(memory, cwd)
    refused = await refusal(peer.append(session_id, {"type": "message", "message": {"secret": "hunter2"}}))
    assert "hunter2" not in json.dumps(refused.data) + refused.message
