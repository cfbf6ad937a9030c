"""The LSP side: a life cycle for each client, outlines of session files, and our own methods beside it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support import logs
from support.columns import entries_of
from support.daemons import Running, assistant, user
from support.editors import FLAT, HIERARCHICAL, connected, editor, names, symbols
from support.shared import started
from support.wire import Wire, in_thread

OVER_SOCKETS = pytest.mark.parametrize("daemon", ["socket", "process"], indirect=True)
pytestmark = OVER_SOCKETS

TALK = logs.log(
    logs.header(id="lsp-talk"),
    logs.user("Why?", id="q1", parent=None),
    logs.assistant("Because.", id="a1"),
    logs.user("Fix it.", id="q2"),
    logs.assistant("Done.", id="a2"),
    logs.user("Or so.", id="q3", parent="a1"),
    logs.assistant("Done, too.", id="a3"),
    logs.label("q3", "the other way"),
)
OUTLINE = ["Why?", ("Because.", ["Fix it.", "Done.", "[the other way] Or so.", "Done, too."])]


def a_file(folder: Path, data: bytes, name: str = "talk.jsonl") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def unique(data: bytes, cwd: str) -> bytes:
    return data.replace(b"lsp-talk", b"lsp-talk" + cwd.rpartition("-")[2].encode())


# --- life cycle --------------------------------------------------------------------------------------------


async def test_an_editor_is_told_what_the_daemon_can_do(daemon: Running) -> None:
    async with connected(daemon.home) as client:
        params = types.InitializeParams(capabilities=HIERARCHICAL, process_id=None, root_uri=None)
        result = await client.initialize_session(params)
        assert result.server_info is not None
        assert result.server_info.name == "sessiond"
        assert result.capabilities.document_symbol_provider
        sync = result.capabilities.text_document_sync
        assert isinstance(sync, types.TextDocumentSyncOptions)
        assert (sync.open_close, sync.change) == (True, types.TextDocumentSyncKind.Incremental)
        assert result.capabilities.experimental is not None
        ours = result.capabilities.experimental["sessiond"]
        assert ours["protocolVersion"] == 1
        assert "session/append" in ours["methods"]
        await client.shutdown_async(None)
        client.exit(None)


async def test_exit_ends_only_the_client_that_says_it(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    async with editor(daemon.home) as one, editor(daemon.home) as two:
        await one.shutdown_async(None)
        one.exit(None)
        await gone(daemon, 3)
        assert await symbols(two, Path("/nowhere.jsonl")) == []
        assert (await peer.append(session_id, user("on")))["lastSeq"] == 1


async def gone(daemon: Running, left: int) -> None:
    """Wait until only so many clients are attached, this one included."""
    peer = await daemon.attach()
    async with asyncio.timeout(45):
        while len((await peer.call("server/clients"))["clients"]) > left:  # noqa: ASYNC110 - the daemon knows
            await asyncio.sleep(0.005)


async def test_an_editor_that_vanishes_leaves_nothing(daemon: Running) -> None:
    peer = await daemon.attach()
    before = (await peer.call("server/status"))["clientCount"]
    for _ in range(3):
        async with editor(daemon.home):
            pass
    await gone(daemon, before + 1)


def raw(daemon: Running, *steps: tuple[str, Any]) -> list[dict[str, Any]]:
    """The answers to requests that are sent one after the other."""
    with Wire(daemon.home) as wire:
        return [wire.ask(method, params, id=number) for number, (method, params) in enumerate(steps)]


INITIALIZE: tuple[str, dict[str, Any]] = (
    "initialize",
    {"processId": None, "rootUri": None, "capabilities": {"textDocument": {}}},
)
SYMBOLS: tuple[str, dict[str, Any]] = (
    "textDocument/documentSymbol",
    {"textDocument": {"uri": "file:///nowhere.jsonl"}},
)

HOVER = ("textDocument/hover", {**SYMBOLS[1], "position": {"line": 0, "character": 0}})
MONIKER = ("textDocument/moniker", HOVER[1])  # a request of LSP that the server does not offer


def kind(answer: dict[str, Any]) -> str:
    return str(answer["error"]["data"]["kind"]) if "error" in answer else "answered"


@pytest.mark.parametrize(
    ("steps", "kinds"),
    [
        ([SYMBOLS], ["notInitialized"]),
        ([("shutdown", None)], ["notInitialized"]),
        ([("workspace/symbol", {"query": ""})], ["notInitialized"]),
        ([("server/status", None), INITIALIZE], ["answered"] * 2),
        ([INITIALIZE, SYMBOLS, ("server/status", None)], ["answered"] * 3),
        ([INITIALIZE, INITIALIZE], ["answered", "invalidRequest"]),
        ([INITIALIZE, ("shutdown", None), SYMBOLS], ["answered", "answered", "invalidRequest"]),
        ([INITIALIZE, ("shutdown", None), ("session/list", {})], ["answered", "answered", "invalidRequest"]),
        ([INITIALIZE, ("shutdown", None), ("shutdown", None)], ["answered", "answered", "invalidRequest"]),
        ([INITIALIZE, HOVER], ["answered", "answered"]),
        ([INITIALIZE, MONIKER], ["answered", "methodNotFound"]),
        ([INITIALIZE, ("made/up", {})], ["answered", "methodNotFound"]),
        ([INITIALIZE, ("textDocument/documentSymbol", {})], ["answered", "invalidParams"]),
        ([INITIALIZE, ("textDocument/documentSymbol", {"textDocument": 5})], ["answered", "invalidParams"]),
        ([INITIALIZE, ("textDocument/documentSymbol", [1])], ["answered", "invalidParams"]),
        ([INITIALIZE, ("textDocument/documentSymbol", None)], ["answered", "invalidParams"]),
        ([("initialize", [])], ["invalidParams"]),
        ([("initialize", {"capabilities": 5})], ["invalidParams"]),
        ([("made/up", {})], ["methodNotFound"]),
    ],
)  # fmt: skip
async def test_requests_are_answered_as_lsp_says(
    daemon: Running, steps: list[tuple[str, Any]], kinds: list[str]
) -> None:
    assert [kind(answer) for answer in await in_thread(raw, daemon, *steps)] == kinds


async def test_after_shutdown_nothing_but_exit_counts_whatever_is_said_in_between(daemon: Running) -> None:
    def try_it() -> tuple[str, list[dict[str, Any]]]:
        with Wire(daemon.home) as wire:
            wire.ask(*INITIALIZE)
            wire.ask("shutdown")
            wire.tell("textDocument/didClose", {"textDocument": {"uri": "file:///x"}})
            wire.tell("$/setTrace", {"value": "off"})
            refused = kind(wire.ask(*SYMBOLS))
            wire.tell("exit", None)
            return refused, wire.read_all()

    assert await in_thread(try_it) == ("invalidRequest", [])


async def test_an_lsp_request_with_numbers_that_no_float_holds_is_refused(daemon: Running) -> None:
    def try_it() -> list[str]:
        with Wire(daemon.home) as wire:
            wire.ask(*INITIALIZE)
            wire.frame(
                b'{"jsonrpc":"2.0","id":7,"method":"textDocument/documentSymbol","params":{"x":1e999}}'
            )
            return [kind(wire.read() or {}), kind(wire.ask("server/status"))]

    assert await in_thread(try_it) == ["invalidParams", "answered"]


async def test_requests_right_behind_initialize_wait_for_its_answer(daemon: Running) -> None:
    def try_it() -> list[Any]:
        with Wire(daemon.home) as wire:
            for number in range(5):
                method, params = (INITIALIZE, SYMBOLS)[number > 0]
                wire.frame(types_json({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
            return [(wire.read() or {}).get("id") for _ in range(5)]

    first, *rest = await in_thread(try_it)
    assert (first, sorted(rest)) == (0, [1, 2, 3, 4])


def types_json(message: Any) -> bytes:
    import json  # noqa: TID251 - made by hand

    return json.dumps(message).encode()


async def test_a_client_that_shares_no_version_is_told_which_there_are(daemon: Running) -> None:
    options = {"initializationOptions": {"sessiond": {"protocolVersions": [2, 3]}}}
    [answer, status] = await in_thread(raw, daemon, ("initialize", options), ("server/status", None))
    assert answer["error"]["code"] == 1426
    assert answer["error"]["data"] == {
        "kind": "unsupportedVersion", "retryable": False,
        "details": {"supportedVersions": [1], "requestedVersions": [2, 3]},
    }  # fmt: skip
    assert kind(status) == "answered"


async def test_a_client_of_ours_without_lsp_does_not_load_it(daemon: Running) -> None:
    peer = await daemon.attach()
    before = (await peer.call("server/status"))["lspLoaded"]
    shaken = await peer.call("initialize", initializationOptions={"sessiond": {}})
    assert list(shaken["capabilities"]) == ["experimental"]
    assert (await peer.call("server/status"))["lspLoaded"] == before


async def test_options_of_another_program_are_nothing_to_us(daemon: Running) -> None:
    anything: list[Any] = [{"settings": {}}, [], "x", None, 5, {"sessiond": None}]
    for options in anything:
        params = INITIALIZE[1] | {"initializationOptions": options}
        [answer] = await in_thread(raw, daemon, ("initialize", params))
        assert answer["result"]["capabilities"]["documentSymbolProvider"]


# --- outlines ----------------------------------------------------------------------------------------------


async def test_an_outline_nests_where_the_tree_forks(daemon: Running, tmp_path: Path) -> None:
    path = a_file(tmp_path, TALK)
    async with editor(daemon.home) as client:
        outline = await symbols(client, path)
    assert names(outline) == OUTLINE
    flat = flattened(outline)
    assert [(symbol.name, symbol.range.start.line) for symbol in flat] == [
        ("Why?", 1), ("Because.", 2), ("Fix it.", 3), ("Done.", 4),
        ("[the other way] Or so.", 5), ("Done, too.", 6),
    ]  # fmt: skip
    assert [symbol.detail for symbol in flat][2:] == [
        "user (other branch)", "assistant (other branch)", "user", "assistant",
    ]  # fmt: skip


def flattened(outline: list[types.DocumentSymbol]) -> list[types.DocumentSymbol]:
    return [item for symbol in outline for item in (symbol, *flattened(list(symbol.children or [])))]


async def test_an_editor_that_knows_no_nesting_gets_a_flat_list(daemon: Running, tmp_path: Path) -> None:
    path = a_file(tmp_path, TALK)
    async with editor(daemon.home, FLAT) as client:
        found = await symbols(client, path)
    assert all(isinstance(item, types.SymbolInformation) for item in found)
    assert [item.name for item in found][:3] == ["Why?", "Because.", "Fix it."]
    assert {item.location.uri for item in found} == {path.as_uri()}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_a_range_covers_its_line_in_every_position_encoding(
    daemon: Running, tmp_path: Path, encoding: str
) -> None:
    path = a_file(tmp_path, logs.log(logs.header(), logs.user("ünï😀", parent=None)))
    general = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(encoding)])
    capabilities = types.ClientCapabilities(general=general, text_document=HIERARCHICAL.text_document)
    async with connected(daemon.home) as client:
        params = types.InitializeParams(capabilities=capabilities, process_id=None, root_uri=None)
        result = await client.initialize_session(params)
        assert result.capabilities.position_encoding == encoding
        [symbol] = await symbols(client, path)
    assert (symbol.name, symbol.range.start, symbol.range.end.line) == ("ünï😀", types.Position(1, 0), 1)
    assert symbol.range.end.character >= len(path.read_bytes().split(b"\n")[1])


async def test_the_outline_of_an_open_session_has_what_was_just_appended(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    await peer.append(session_id, user("1"), assistant("2"))
    path = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])
    async with editor(daemon.home) as client:
        assert len(flattened(await symbols(client, path))) == 2
        await peer.append(session_id, user("3"))
        assert [symbol.name for symbol in flattened(await symbols(client, path))] == ["1", "2", "3"]


async def test_an_outline_opens_no_session_and_changes_no_file(
    daemon: Running, tmp_path: Path, cwd: str
) -> None:
    data = unique(TALK, cwd) + b'{"torn'
    path = a_file(tmp_path, data)
    peer = await daemon.attach()
    before = (await peer.call("server/status"))["openSessionCount"]
    async with editor(daemon.home) as client:
        assert len(flattened(await symbols(client, path))) == 6
    assert path.read_bytes() == data
    assert (await peer.call("server/status"))["openSessionCount"] == before


async def test_a_copy_of_an_open_session_has_an_outline_too(
    daemon: Running, tmp_path: Path, cwd: str
) -> None:
    original = a_file(tmp_path, unique(TALK, cwd))
    copy = a_file(tmp_path, unique(TALK, cwd), "copy.jsonl")
    peer = await daemon.attach()
    await peer.call("session/open", path=str(original))
    async with editor(daemon.home) as client:
        assert len(flattened(await symbols(client, copy))) == 6


V1 = b'{"type":"session","id":"v1","timestamp":"2025","cwd":"/w"}\n' + b"".join(
    b'{"type":"message","timestamp":"2025","message":{"role":"user","content":"%d"}}\n' % number
    for number in range(3)
)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (V1, ["0", "1", "2"]),
        (b'{"type":"title","title":"slot"}\n' + logs.log(logs.header(), logs.user("x", parent=None)), ["x"]),
        (logs.log(logs.user("headless", parent=None)), ["headless"]),
        (logs.log(logs.header()) + b"\xff\xfe\n" + logs.log(logs.user("after", parent=None)), ["after"]),
        (b"", []),
        (bytes(5000), []),
        (b"Dear diary,\n", []),
        (b"[" * 50_000, []),
    ],
    ids=["v1", "title slot", "no header", "damaged line", "empty", "zeros", "text", "deep"],
)
async def test_any_file_has_the_outline_that_it_deserves(
    daemon: Running, tmp_path: Path, data: bytes, expected: list[str]
) -> None:
    path = a_file(tmp_path, data)
    async with editor(daemon.home) as client:
        found = flattened(await symbols(client, path))
    assert [symbol.name for symbol in found] == expected
    raw_lines = data.split(b"\n")
    for symbol in found:
        assert symbol.name.encode() in raw_lines[symbol.range.start.line]
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    "uri", ["file:///nowhere.jsonl", "untitled:Untitled-1", "", "not a uri", "file:///", "file:///dev/null",
            "file:///x%00y", "http://example.com/x.jsonl", "file://%ff"],
)  # fmt: skip
async def test_a_path_that_is_no_file_has_no_outline(daemon: Running, uri: str) -> None:
    async with editor(daemon.home) as client:
        document = types.TextDocumentIdentifier(uri)
        assert not await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))


async def test_a_path_with_odd_characters_is_found(daemon: Running, tmp_path: Path) -> None:
    path = a_file(tmp_path, TALK, "ü %20 #1 [x].jsonl")
    async with editor(daemon.home) as client:
        assert len(flattened(await symbols(client, path))) == 6


# --- both at once ------------------------------------------------------------------------------------------


async def test_our_methods_go_over_the_same_connection(daemon: Running, cwd: str) -> None:
    async with editor(
        daemon.home, initialization_options={"sessiond": {"clientId": f"ed{cwd[-4:]}"}}
    ) as client:
        told: asyncio.Queue[Any] = asyncio.Queue()

        @client.feature("session/appended")  # type: ignore[untyped-decorator]  # pygls leaves it so
        def hear(note: Any) -> None:
            told.put_nowait(note)

        async def call(method: str, **params: Any) -> Any:
            return await client.protocol.send_request_async(method, params)  # type: ignore[no-untyped-call]

        session_id = (await call("session/create", cwd=cwd)).session.sessionId
        entries = [user("hello", id="a"), assistant("hi", id="b")]
        assert (await call("session/append", sessionId=session_id, entries=entries)).lastSeq == 2
        async with asyncio.timeout(45):
            note = await told.get()
        assert (note.toSeq, note.origin.clientId) == (2, f"ed{cwd[-4:]}")
        path = Path((await call("session/info", sessionId=session_id)).session.path)
        assert [symbol.name for symbol in await symbols(client, path)] == ["hello", "hi"]
        with pytest.raises(JsonRpcException) as refused:
            await call("session/append", sessionId="nothing-there", entries=entries)
        assert refused.value.code == 1404


async def test_a_payload_with_a_nested_jsonrpc_key_survives(daemon: Running, cwd: str) -> None:
    nested = {"jsonrpc": "2.0", "id": 5, "method": "exit", "params": {"jsonrpc": "2.0", "result": None}}
    peer, session_id = await started(daemon, cwd)
    await peer.call("initialize", **INITIALIZE[1])
    await peer.append(session_id, {"type": "custom", "customType": "x", "data": nested, "id": "n"})
    stored = await peer.call("session/entries", sessionId=session_id, entryIds=["n"])
    assert entries_of(stored)[0]["data"] == nested
    method, params = SYMBOLS
    answer = await peer.call(method, **params, extra=nested)
    assert answer == []


async def test_many_editors_at_once(daemon: Running, tmp_path: Path) -> None:
    path = a_file(tmp_path, TALK)

    async def look() -> int:
        async with editor(daemon.home) as client:
            return len(flattened(await symbols(client, path)))

    assert await asyncio.gather(*(look() for _ in range(10))) == [6] * 10


# --- scripts -----------------------------------------------------------------------------------------------


async def test_a_script_of_three_lines_is_answered_line_by_line(daemon: Running, cwd: str) -> None:
    session_id = cwd.rpartition("/")[2] + "-script"
    script = (
        f'{{"jsonrpc":"2.0","id":1,"method":"session/create","params":{{"cwd":"{cwd}","id":"{session_id}"}}}}\n'
        '{"jsonrpc":"2.0","id":2,"method":"server/status"}\n'
        '\r\n  \n{"jsonrpc":"2.0","id":3,"method":"session/list","params":{"includeDrafts":true}}'
    )

    def run() -> list[dict[str, Any]]:
        with Wire(daemon.home) as wire:
            wire.send(script.encode())
            wire.no_more()
            return wire.read_all()

    answers = {entry["id"]: entry for entry in await in_thread(run) if "id" in entry}
    assert answers.keys() == {1, 2, 3}
    assert answers[1]["result"]["session"]["sessionId"] == session_id


async def test_the_requests_of_a_script_are_answered_before_the_end(daemon: Running, cwd: str) -> None:
    peer, session_id = await started(daemon, cwd)
    line = '{"jsonrpc":"2.0","id":%d,"method":"session/append","params":{"sessionId":"%s","entries":[%s]}}\n'
    entry = '{"type":"custom","customType":"x"}'

    def run() -> list[dict[str, Any]]:
        with Wire(daemon.home) as wire:
            wire.send("".join(line % (number, session_id, entry) for number in range(300)).encode())
            wire.no_more()
            return wire.read_all()

    answers = await in_thread(run)
    assert [answer["result"]["lastSeq"] for answer in answers if "id" in answer] == list(range(1, 301))
    await peer.until(lambda client: client.seqs()[-1] == 300)
