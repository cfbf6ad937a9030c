"""Editors as they are: with the capabilities of real ones, with none, several on one daemon, in a hurry, leaving."""

import asyncio
import json  # noqa: TID251 - messages are written as an editor writes them
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support import logs
from support.daemons import Running, assistant, user
from support.editors import connected, document, edit, editor, execute, place, said, show, symbols
from support.shared import started
from support.wire import Wire, in_thread

REAL = [
    "emacs_v29.1", "neovim_v0.6.1", "neovim_v0.7.0", "neovim_v0.8.0", "neovim_v0.9.1", "neovim_v0.10.0",
    "neovim_v0.11.0", "visual_studio_code_v1.65.2",
]  # fmt: skip


async def everything(client: Any, path: Path) -> dict[str, Any]:
    """One answer of each feature; pytest-lsp warns, which is an error here, where one is beyond the client."""
    here, at = document(path), place(path, 3, 'a1"').position
    whole = types.Range(types.Position(0, 0), types.Position(9, 0))
    answers = {
        "symbols": await client.text_document_document_symbol_async(types.DocumentSymbolParams(here)),
        "hover": await client.text_document_hover_async(types.HoverParams(here, at)),
        "definition": await client.text_document_definition_async(types.DefinitionParams(here, at)),
        "references": await client.text_document_references_async(
            types.ReferenceParams(types.ReferenceContext(include_declaration=True), here, at)
        ),
        "highlight": await client.text_document_document_highlight_async(
            types.DocumentHighlightParams(here, at)
        ),
        "folding": await client.text_document_folding_range_async(types.FoldingRangeParams(here)),
        "selection": await client.text_document_selection_range_async(types.SelectionRangeParams(here, [at])),
        "links": await client.text_document_document_link_async(types.DocumentLinkParams(here)),
        "lenses": await client.text_document_code_lens_async(types.CodeLensParams(here)),
        "hints": await client.text_document_inlay_hint_async(types.InlayHintParams(here, whole)),
        "completion": await client.text_document_completion_async(types.CompletionParams(here, at)),
        "actions": await client.text_document_code_action_async(
            types.CodeActionParams(here, said(3, 0, 0), types.CodeActionContext([]))
        ),
        "workspace": await client.workspace_symbol_async(types.WorkspaceSymbolParams("")),
        "diagnostics": await client.text_document_diagnostic_async(types.DocumentDiagnosticParams(here)),
    }
    for item in getattr(answers["completion"], "items", None) or []:
        await client.completion_item_resolve_async(item)
    return answers


@pytest.mark.filterwarnings("ignore::EncodingWarning")  # pytest-lsp reads its own files without saying theirs
@pytest.mark.parametrize("name", REAL)
async def test_editors_get_what_they_can_take(served: Running, forked: Path, name: str) -> None:
    capabilities = pytest_lsp.client_capabilities(name.replace("_v", "@v", 1))
    options = {"sessiond": {"lsp": {"codeLens": True}}}
    async with editor(served.home, capabilities, initialization_options=options) as client:
        show(client, forked)
        answers = await everything(client, forked)
        assert [
            name
            for name, answer in answers.items()
            if not answer and name not in ("links", "workspace", "diagnostics")
        ] == []
        answer = await execute(client, "sessiond.branch", path=str(forked), entryId="q3")
        assert answer["leafId"] == "q3"


async def test_an_editor_that_declares_nothing_gets_the_plainest(served: Running, forked: Path) -> None:
    async with connected(served.home) as client:
        nothing = types.InitializeParams(
            capabilities=types.ClientCapabilities(), process_id=None, root_uri=None
        )
        await client.initialize_session(nothing)
        show(client, forked)
        answers = await everything(client, forked)
        assert all(isinstance(symbol, types.SymbolInformation) for symbol in answers["symbols"])
        assert all(isinstance(action, types.Command) for action in answers["actions"])
        assert isinstance(answers["definition"], types.Location)


# --- what many ask, and what others do ---------------------------------------------------------------------


async def test_a_search_over_all_sessions_finds_entries(served: Running, cwd: str) -> None:
    peer, session_id = await started(served, cwd)
    await peer.append(session_id, user("Where do the geese go?"), assistant("South, mostly."))
    path = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])
    async with editor(served.home) as client:

        async def search(query: str) -> list[Any]:
            return list(await client.workspace_symbol_async(types.WorkspaceSymbolParams(query)) or [])

        async with asyncio.timeout(45):
            while not (found := await search("geese")):  # noqa: ASYNC110 - the index tells nobody
                await asyncio.sleep(0.05)  # the index takes texts in when it has time
        [hit] = found
        assert isinstance(hit.location, types.Location)
        assert (hit.location.uri, hit.location.range.start.line) == (path.as_uri(), 1)
        assert "geese" in hit.name
        assert [item.name for item in await search("")] == ["Where do the geese go?"]
        assert await search('"" * \\') == []


async def test_sessions_and_hits_that_look_the_same_begin_their_container_with_what_differs(
    served: Running, tmp_path: Path
) -> None:
    folder = tmp_path / "atlas"
    folder.mkdir()
    for answer in ("South.", "South.", "To the lake."):
        peer, session_id = await started(served, str(folder))
        await peer.append(session_id, user("Where do the cranes go?"), assistant(answer))
        await peer.call("session/rename", sessionId=session_id, title="Of cranes")
    await peer.call("session/search", query="cranes", waitMs=20_000)
    async with editor(
        served.home, workspace_folders=[types.WorkspaceFolder(folder.as_uri(), "atlas")]
    ) as client:
        for query, name in (("", "Of cranes"), ("cranes", "Where do the cranes go?")):
            found = await client.workspace_symbol_async(types.WorkspaceSymbolParams(query)) or []
            containers = [symbol.container_name for symbol in found if symbol.name == name]
            assert len(set(containers)) == 3, containers
            assert all(" · " in (container or "") for container in containers)


async def test_a_search_begins_with_the_projects_of_the_open_folders(served: Running, tmp_path: Path) -> None:
    paths = []
    for name in ("atlas", "library"):
        (tmp_path / name).mkdir()
        peer, session_id = await started(served, str(tmp_path / name))
        await peer.append(session_id, user(f"Where do the geese of {name} go?"), assistant("South."))
        paths.append(tmp_path / name)
    await peer.call("session/search", query="geese", waitMs=20_000)
    folders = [types.WorkspaceFolder(paths[1].as_uri(), "library")]
    async with editor(served.home, workspace_folders=folders) as client:

        async def search(query: str) -> list[str]:
            return [
                symbol.name
                for symbol in await client.workspace_symbol_async(types.WorkspaceSymbolParams(query)) or []
            ]

        assert await search("geese") == ["Where do the geese of library go?"]
        assert await search("atlas") == ["Where do the geese of atlas go?"]


async def test_an_entry_has_a_document_at_an_address(served: Running, forked: Path) -> None:
    peer = await served.attach()
    await peer.call("session/open", path=str(forked))
    async with editor(served.home) as client:
        ask = client.workspace_text_document_content_async
        uri = "sessiond://session/forked-1/entry/a1.md"
        assert "Because 😀." in (await ask(types.TextDocumentContentParams(uri))).text
        for other in ("sessiond://session/forked-1/entry/nobody.md", "file:///etc/passwd", ""):
            with pytest.raises(JsonRpcException) as refused:
                await ask(types.TextDocumentContentParams(other))
            assert refused.value.code == 1404


REFRESHED = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
        inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
        diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
    ),
    text_document=types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities()),
)
REFRESHES = {
    types.WORKSPACE_CODE_LENS_REFRESH, types.WORKSPACE_INLAY_HINT_REFRESH, types.WORKSPACE_DIAGNOSTIC_REFRESH,
}  # fmt: skip


def refreshes(client: Any) -> asyncio.Queue[str]:
    """Return the kinds of values that the editor is told to request again."""
    asked: asyncio.Queue[str] = asyncio.Queue()

    def offer(method: str) -> None:
        @client.feature(method)  # type: ignore[untyped-decorator]
        def refresh(*_: Any) -> None:
            asked.put_nowait(method)

    for method in REFRESHES:
        offer(method)
    return asked


async def all_of(asked: asyncio.Queue[str]) -> None:
    seen: set[str] = set()
    async with asyncio.timeout(45):
        while seen != REFRESHES:
            seen.add(await asked.get())


async def test_an_editor_asks_again_after_others_have_appended(served: Running, cwd: str) -> None:
    peer, session_id = await started(served, cwd)
    await peer.append(session_id, user("1", id="q1"), assistant("2", id="a1"))
    path = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])
    async with editor(served.home, REFRESHED) as client:
        asked = refreshes(client)
        show(client, path)
        await symbols(client, path)  # so that the text has arrived
        await peer.call("session/label", sessionId=session_id, entryId="q1", label="here")
        await all_of(asked)
        whole = types.Range(types.Position(0, 0), types.Position(9, 0))
        hints = await client.text_document_inlay_hint_async(types.InlayHintParams(document(path), whole))
        # The text is not loaded again yet: it ends before the label's own line.
        assert [str(hint.label).rpartition(" tok")[2] for hint in hints or []] == [" · ★ here", ""]


async def test_an_editor_asks_again_after_another_program_has_written(served: Running, cwd: str) -> None:
    folder = served.home / "data/sessions/--w--"
    folder.mkdir(parents=True)
    path = folder / "2026_other.jsonl"
    path.write_bytes(logs.log(logs.header(), logs.user("x", parent=None)))
    async with editor(served.home, REFRESHED) as client:
        asked = refreshes(client)
        show(client, path)
        await symbols(client, path)

        async def write() -> None:
            for number in range(225):  # until the watch of the folders has begun
                with open(path, "ab") as file:
                    file.write(b'{"type":"custom","id":"c%d","parentId":"e1","customType":"x"}\n' % number)
                await asyncio.sleep(0.2)

        writing = asyncio.create_task(write())
        await all_of(asked)
        writing.cancel()


async def test_an_editor_is_told_of_files_by_itself_where_it_watches(served: Running, forked: Path) -> None:
    watches = types.WorkspaceClientCapabilities(
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
        inlay_hint=types.InlayHintWorkspaceClientCapabilities(refresh_support=True),
    )
    async with connected(served.home) as client:
        registered: asyncio.Queue[types.RegistrationParams] = asyncio.Queue()
        asked: asyncio.Queue[str] = asyncio.Queue()

        @client.feature(types.CLIENT_REGISTER_CAPABILITY)  # type: ignore[untyped-decorator]
        def register(params: types.RegistrationParams) -> None:
            registered.put_nowait(params)

        @client.feature(types.WORKSPACE_INLAY_HINT_REFRESH)  # type: ignore[untyped-decorator]
        def refresh(*_: Any) -> None:
            asked.put_nowait("")

        capabilities = types.ClientCapabilities(workspace=watches)
        await client.initialize_session(
            types.InitializeParams(capabilities=capabilities, process_id=None, root_uri=None)
        )
        async with asyncio.timeout(45):
            [registration] = (await registered.get()).registrations
        assert registration.method == types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        show(client, forked)
        change = types.FileEvent(forked.as_uri(), types.FileChangeType.Changed)
        client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
        async with asyncio.timeout(45):
            await asked.get()


# --- several, in a hurry, leaving --------------------------------------------------------------------------


async def test_each_editor_has_its_own_text_and_its_own_encoding(served: Running, forked: Path) -> None:
    utf8 = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind.Utf8])
    async with editor(served.home) as one, editor(served.home, types.ClientCapabilities(general=utf8)) as two:
        for client, text in ((one, "1️⃣ 😀"), (two, "2️⃣ 😀")):
            show(client, forked)
            edit(client, forked, forked.read_text(encoding="utf-8").replace("Why?", text))
        for client, text in ((one, "1️⃣ 😀"), (two, "2️⃣ 😀")):
            found = await client.text_document_hover_async(
                types.HoverParams(document(forked), types.Position(1, 1))
            )
            assert found is not None
            assert text in str(found.contents)


async def test_one_that_leaves_in_the_middle_of_things_hurts_nobody(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    path.write_bytes(logs.log(logs.header(), *[logs.user("x" * 100, parent=None) for _ in range(5_000)]))
    async with editor(served.home) as stays:
        for _ in range(3):
            async with editor(served.home) as leaves:
                show(leaves, path)
                asked = [asyncio.ensure_future(symbols(leaves, path)) for _ in range(5)]
                await asyncio.sleep(0)
            for task in asked:
                task.cancel()
        assert len(await symbols(stays, path)) == 5_000


async def test_a_request_that_is_canceled_is_answered_once(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl"
    path.write_bytes(logs.log(logs.header(), *[logs.user("x" * 2_000, parent=None) for _ in range(20_000)]))

    def try_it() -> list[Any]:
        with Wire(served.home) as wire:
            wire.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {"textDocument": {}}})
            params = {"textDocument": {"uri": path.as_uri()}}
            ask = {"jsonrpc": "2.0", "id": 7, "method": "textDocument/documentLink", "params": params}
            cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 7}}
            wire.frame(json.dumps(ask).encode())
            wire.frame(json.dumps(cancel).encode())
            first = wire.read() or {}
            return [first["id"], first["error"]["data"]["kind"], wire.ask("server/status")["id"] is not None]

    assert await in_thread(try_it) == [7, "canceled", True]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("textDocument/didOpen", {}), ("textDocument/didOpen", None), ("textDocument/didChange", {"textDocument": 5}),
        ("textDocument/didChange", {"textDocument": {"uri": "file:///x", "version": 1}, "contentChanges": [{}]}),
        ("textDocument/didClose", {"textDocument": {"uri": "never-opened"}}),
        ("textDocument/didOpen", {"textDocument": {"uri": "file:///x", "text": "\ud83d"}}),
        ("workspace/didChangeWatchedFiles", {"changes": 5}), ("made/up", {}), ("$/made/up", None),
    ],
)  # fmt: skip
async def test_notifications_that_make_no_sense_change_nothing(
    served: Running, forked: Path, method: str, params: Any
) -> None:
    def try_it() -> Any:
        with Wire(served.home) as wire:
            wire.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {"textDocument": {}}})
            wire.frame(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())
            asked = {"textDocument": {"uri": forked.as_uri()}}
            return wire.ask("textDocument/documentSymbol", asked, id=3)["id"]

    assert await in_thread(try_it) == 3


@pytest.fixture
async def large(served: Running, tmp_path: Path) -> AsyncIterator[tuple[Any, Path]]:
    """A text that is too large to be kept, in an editor that has opened it."""
    path = tmp_path / "large.jsonl"
    path.write_bytes(logs.log(logs.header(), *[logs.user("x" * 1_000, parent=None) for _ in range(3_000)]))
    async with editor(served.home) as client:
        show(client, path)
        yield client, path


async def test_a_text_too_large_to_keep_is_read_from_its_file(large: tuple[Any, Path]) -> None:
    client, path = large
    told: list[str] = []
    client.protocol.fm.features[types.WINDOW_SHOW_MESSAGE] = lambda params: told.append(params.message)
    assert len(await symbols(client, path)) == 3_000
    edit(client, path, "x", said(1, 0, 0))
    assert await symbols(client, path) == []  # what stands where is not known any more
    edit(client, path, "y", said(1, 0, 0))
    assert await symbols(client, path) == []
    [message] = told
    assert "shows nothing for large.jsonl until it is saved" in message
    client.text_document_did_save(types.DidSaveTextDocumentParams(document(path)))
    assert len(await symbols(client, path)) == 3_000


async def test_a_text_too_large_for_a_message_does_not_end_the_connection(
    served: Running, forked: Path
) -> None:
    def try_it() -> list[Any]:
        with Wire(served.home) as wire:
            wire.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {"textDocument": {}}})
            here = {"uri": forked.as_uri(), "languageId": "jsonl", "version": 1}
            head = {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": here}}
            wire.frame(json.dumps(head).encode()[:-3] + b',"text":"' + b"x" * (65 << 20) + b'"}}}')
            asked = {"textDocument": {"uri": forked.as_uri()}}
            before = wire.ask("textDocument/documentSymbol", asked, id=3)["result"]
            change = {"text": "x", "range": said_as_json(1)}
            wire.tell("textDocument/didChange", {"textDocument": here, "contentChanges": [change]})
            return [len(before), wire.ask("textDocument/documentSymbol", asked, id=4)["result"]]

    assert await in_thread(try_it) == [6, []]


def said_as_json(line: int) -> dict[str, Any]:
    place = {"line": line, "character": 0}
    return {"start": place, "end": place}
