"""Diagnostics: every problem that the core reports, where it is, with what helps; pushed, or when asked for."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from sessiond.session.tree.problems import PROBLEMS
from support import logs
from support.daemons import Running
from support.dialect_files import bytes_of
from support.editors import choose, document, edit, editor, said, show, texts_at

ASKS = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
)
ROOT = logs.user("x", id="r", parent=None)
DAMAGED = {
    "emptyLog": b"",
    "damagedHeader": logs.log(ROOT),
    "damagedLine": logs.log(logs.header(), ROOT, b"{nonsense\n"),
    "nulBytes": logs.log(logs.header(), ROOT, bytes(20) + b"\n"),
    "notAnEntry": logs.log(logs.header(), ROOT, b"[1]\n"),
    "invalidUtf8": logs.log(
        logs.header(), ROOT, b'{"type":"custom","id":"c","parentId":"r","data":"\xff"}\n'
    ),
    "tornLine": logs.log(logs.header(), ROOT) + b'{"type":"mess',
    "incompleteBatch": logs.log(logs.header(), ROOT)
    + b'{"type":"message","id":"b","parentId":"r","message":{"role":"user","content":"x"}\t}\n',
    "invalidParent": logs.log(logs.header(), ROOT, b'{"type":"message","id":"b","parentId":7}\n'),
    "selfParent": logs.log(logs.header(), logs.user("x", id="s", parent="s")),
    "missingParent": logs.log(logs.header(), logs.user("x", id="s", parent="nobody")),
    "parentCycle": logs.log(
        logs.header(), logs.user("x", id="a", parent="b"), logs.user("y", id="b", parent="a")
    ),
    "duplicateEntryId": logs.log(logs.header(), ROOT, logs.user("y", id="r", parent=None)),
    "missingLeaf": logs.log(logs.header(), ROOT, logs.leaf("nobody", parent="r")),
    "moreProblems": logs.log(logs.header(), ROOT, *[b"{}\n"] * 1_001),
}


async def asked(client: Any, path: Path) -> list[types.Diagnostic]:
    params = types.DocumentDiagnosticParams(document(path))
    return list((await client.text_document_diagnostic_async(params)).items)


def test_every_kind_of_problem_is_tried() -> None:
    assert DAMAGED.keys() == PROBLEMS.keys()


@pytest.mark.parametrize("kind", [text for text in DAMAGED if text != "emptyLog"])
async def test_every_problem_of_a_file_is_told(served: Running, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"{kind}.jsonl"
    path.write_bytes(DAMAGED[kind])
    peer = await served.attach()
    told = (await peer.call("session/open", path=str(path)))["problems"]
    async with editor(served.home, ASKS) as client:
        found = await asked(client, path)
    assert kind in [diagnostic.code for diagnostic in found]
    assert [(diagnostic.code, diagnostic.range.start.line + 1) for diagnostic in found] == [
        (item["kind"], item["line"]) for item in told
    ]
    lines = path.read_bytes().split(b"\n")
    for diagnostic in found:
        assert diagnostic.source == "sessiond"
        assert PROBLEMS[diagnostic.code][1] in diagnostic.message  # type: ignore[index]
        assert diagnostic.range.end.character == len(lines[diagnostic.range.start.line])
        assert diagnostic.range.start.character == 0


async def test_a_second_entry_leads_to_the_first_of_its_id(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "same.jsonl"
    path.write_bytes(DAMAGED["duplicateEntryId"])
    async with editor(served.home, ASKS) as client:
        [found] = await asked(client, path)
    [related] = found.related_information or []
    assert related.location.range.start.line == 1
    assert texts_at(path, [related.location.range]) == ["r"]


async def test_other_files_have_no_diagnostics(served: Running, tmp_path: Path) -> None:
    async with editor(served.home, ASKS) as client:
        for text in ("", "Dear diary\n", '{"id":"a","text":"training data"}\n{"id":"b"}\n', "[[[[", "\0\0\0"):
            path = tmp_path / "other.jsonl"
            path.write_text(text, encoding="utf-8")
            assert await asked(client, path) == []
        assert await asked(client, tmp_path / "nowhere.jsonl") == []


class Published:
    """The diagnostics that an editor got for its files."""

    def __init__(self, client: Any) -> None:
        self.told: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        def tell(params: types.PublishDiagnosticsParams) -> None:
            self.told.put_nowait(params)

        # The client has a handler of its own, which only keeps the last.
        client.protocol.fm.features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = tell

    async def next(self) -> list[Any]:
        async with asyncio.timeout(45):
            return [diagnostic.code for diagnostic in (await self.told.get()).diagnostics]


async def test_an_editor_that_does_not_ask_is_told_as_it_types(served: Running, forked: Path) -> None:
    async with editor(served.home) as client:
        published = Published(client)
        text = forked.read_text(encoding="utf-8")
        show(client, forked, text + "{half")
        assert await published.next() == ["tornLine"]
        edit(client, forked, "", said(9, 0, 5))
        assert await published.next() == []
        edit(client, forked, "nonsense\n", said(3, 0, 0))
        assert await published.next() == ["damagedLine"]
        edit(client, forked, text)
        assert await published.next() == []
        edit(client, forked, '"nobody"', range_of(forked, 1, "null"))
        assert await published.next() == ["missingParent"]
        client.text_document_did_close(types.DidCloseTextDocumentParams(document(forked)))
        assert await published.next() == []


def range_of(path: Path, line: int, within: str) -> types.Range:
    start = path.read_text(encoding="utf-8").split("\n")[line].index(within)
    return said(line, start, start + len(within))


async def test_diagnostics_can_be_turned_off(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(DAMAGED["damagedLine"])
    options = {"sessiond": {"lsp": {"diagnostics": False}}}
    async with editor(served.home, ASKS, initialization_options=options) as client:
        assert await asked(client, path) == []


async def test_changes_of_others_to_an_open_file_are_reported(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "shared.jsonl"
    path.write_bytes(DAMAGED["damagedLine"])
    peer = await served.attach()
    session = (await peer.call("session/open", path=str(path)))["session"]
    async with editor(served.home) as client:
        published = Published(client)
        show(client, path)
        assert await published.next() == ["damagedLine"]
        await peer.append(session["sessionId"], {"type": "custom", "customType": "x"})
        assert await published.next() == ["damagedLine"]


@pytest.mark.parametrize("kind", ["damagedHeader", "damagedLine", "tornLine", "missingParent"])
async def test_the_quick_fix_leaves_the_file_as_it_is(served: Running, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"{kind}.jsonl"
    path.write_bytes(DAMAGED[kind])
    async with editor(served.home, ASKS) as client:
        problem = (await asked(client, path))[0]
        context = types.CodeActionContext([problem], only=[types.CodeActionKind.QuickFix])
        params = types.CodeActionParams(document(path), problem.range, context)
        [fix] = await client.text_document_code_action_async(params) or []
        answer = await choose(client, fix)
    assert path.read_bytes() == DAMAGED[kind]
    assert answer["entryCount"] == 1
    assert answer["problemCount"] == 0
    assert answer["cwd"].startswith("/")


@pytest.mark.parametrize(
    "name", ["claude-code", "codex", "gemini", "go", "operator", "operator-program", "pi4", "qwen"]
)
async def test_a_session_file_of_another_program_is_named_as_such_and_stays_unchanged(
    served: Running, tmp_path: Path, name: str
) -> None:
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(bytes_of(path.name))
    before = path.read_bytes(), path.stat().st_mtime_ns
    async with editor(served.home, ASKS) as client:
        for found in (await asked(client, path), await asked_with_text(client, path)):
            [diagnostic] = found
            assert (diagnostic.code, diagnostic.severity) == (
                "foreignDialect",
                types.DiagnosticSeverity.Information,
            )
            assert str(path) in diagnostic.message
        symbols = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document(path)))
        assert not symbols
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


async def asked_with_text(client: Any, path: Path) -> list[types.Diagnostic]:
    """The answer after the editor has sent the text of the file."""
    show(client, path)
    return await asked(client, path)
