"""Additions of an editor beside the lines: folds, links, hints, lenses."""

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support import logs
from support.daemons import Running, user
from support.editors import choose, document, editor, said, texts_at
from support.shared import started

LENSES = {"sessiond": {"lsp": {"codeLens": True}}}


async def test_turns_fold_and_what_lies_off_the_path_folds_as_a_whole(served: Running, forked: Path) -> None:
    async with editor(served.home) as client:
        found = await client.text_document_folding_range_async(types.FoldingRangeParams(document(forked)))
    assert [(item.start_line, item.end_line) for item in found or []] == [(1, 2), (3, 4), (5, 8)]


async def test_folds_never_overlap(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    say = [logs.assistant, logs.user, logs.user]
    lines = [say[n % 3](str(n), id=f"n{n}", parent="r" if n % 7 == 0 else f"n{n - 1}") for n in range(40)]
    lines.insert(0, logs.user("q", id="r", parent=None))
    path.write_bytes(logs.log(logs.header(), *lines))
    async with editor(served.home) as client:
        found = await client.text_document_folding_range_async(types.FoldingRangeParams(document(path)))
    spans = [(item.start_line, item.end_line) for item in found or []]
    assert spans
    assert len(set(spans)) == len(spans)
    for one in spans:
        for other in spans:
            apart = one[1] < other[0] or other[1] < one[0]
            inside = (one[0] <= other[0] and other[1] <= one[1]) or (
                other[0] <= one[0] and one[1] <= other[1]
            )
            assert apart or inside


async def links(client: Any, path: Path) -> list[types.DocumentLink]:
    return list(
        await client.text_document_document_link_async(types.DocumentLinkParams(document(path))) or []
    )


async def test_links_lead_to_blobs_and_to_the_parent_session(served: Running, cwd: str, forked: Path) -> None:
    peer, session_id = await started(served, cwd)
    await peer.append(session_id, user("ü" + "x" * 600_000, id="long"))
    await peer.append(session_id, {"type": "message", "message": {"role": "assistant", "content": "ok"}})
    path = Path((await peer.call("session/info", sessionId=session_id))["session"]["path"])
    async with editor(served.home) as client:
        [link] = await links(client, path)
        assert link.target is not None
        blob = Path(link.target.removeprefix("file://"))
        assert blob.read_text(encoding="utf-8") == "ü" + "x" * 600_000
        assert texts_at(path, [link.range]) == [f"blob:sha256:{blob.name}"]
        child = forked.with_name("child.jsonl")
        child.write_bytes(logs.log(logs.header(parentSession=str(forked))))
        [link] = await links(client, child)
        assert (link.target, texts_at(child, [link.range])) == (forked.as_uri(), [str(forked)])


async def test_a_reference_to_a_blob_that_is_not_there_is_no_link(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "gone.jsonl"
    path.write_bytes(logs.log(logs.header(), logs.user("blob:sha256:" + "0" * 64, parent=None)))
    async with editor(served.home) as client:
        assert await links(client, path) == []


async def hints(client: Any, path: Path, last: int = 100) -> list[tuple[int, str]]:
    params = types.InlayHintParams(document(path), types.Range(types.Position(0, 0), types.Position(last, 0)))
    found = await client.text_document_inlay_hint_async(params) or []
    return [(item.position.line, item.label) for item in found]


async def test_hints_say_who_when_how_much_and_what_is_special(served: Running, forked: Path) -> None:
    async with editor(served.home) as client:
        assert await hints(client, forked) == [
            (1, "user · 08:00 · 1 tok"), (2, "assistant · 08:00 · 3 tok"), (3, "user · 08:00 · 2 tok"),
            (4, "assistant · 08:00 · 2 tok · ◆ leaf"),
            (5, "user · 08:00 · 2 tok · ★ the other way · other branch"),
            (6, "assistant · 08:00 · 3 tok · other branch"), (7, "label · 08:00 · other branch"), (8, "leaf · 08:00"),
        ]  # fmt: skip
        assert [line for line, _ in await hints(client, forked, last=2)] == [1, 2]


async def test_hints_can_be_turned_off(served: Running, forked: Path) -> None:
    options = {"sessiond": {"lsp": {"inlayHints": False}}}
    async with editor(served.home, initialization_options=options) as client:
        assert await hints(client, forked) == []


async def lenses(client: Any, path: Path) -> list[types.CodeLens]:
    return list(await client.text_document_code_lens_async(types.CodeLensParams(document(path))) or [])


async def test_lenses_are_off_until_they_are_asked_for(served: Running, forked: Path) -> None:
    async with editor(served.home) as client:
        assert await lenses(client, forked) == []
    async with editor(served.home, initialization_options=LENSES) as client:
        found = await lenses(client, forked)
        titles = [(lens.range.start.line, lens.command.title) for lens in found if lens.command is not None]
        assert titles == [(line, what) for line in (1, 3, 5) for what in ("branch here", "fork here")]
        answer = await choose(client, found[4])
        assert answer["leafId"] == "q3"
        assert (4, "assistant · 08:00 · 2 tok · other branch") in await hints(client, forked)


@pytest.mark.parametrize("settings", [{"sessiond": {"lsp": {"codeLens": True}}}, {"lsp": {"codeLens": True}}])
async def test_the_settings_of_hints_and_lenses_can_be_changed_later(
    served: Running, forked: Path, settings: Any
) -> None:
    async with editor(served.home) as client:
        for ours in (settings, {"sessiond": {"lsp": {"codeLens": "nonsense"}}}, None, 5):
            client.workspace_did_change_configuration(types.DidChangeConfigurationParams(ours))
            assert len(await lenses(client, forked)) == 6


async def test_an_editor_that_keeps_settings_is_asked_for_them(served: Running, forked: Path) -> None:
    capabilities = types.ClientCapabilities(workspace=types.WorkspaceClientCapabilities(configuration=True))
    async with editor(served.home, capabilities) as client:

        @client.feature(types.WORKSPACE_CONFIGURATION)  # type: ignore[untyped-decorator]
        def configuration(params: types.ConfigurationParams) -> list[Any]:
            assert [item.section for item in params.items] == ["sessiond.lsp"]
            return [{"codeLens": True}]

        client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        while not await lenses(client, forked):
            pass


async def test_places_are_counted_as_the_editor_counts(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "wide.jsonl"
    line = (
        '{"type":"message","x":"ü😀\u2028","id":"w2","parentId":"w1","message":{"role":"user","content":""}}'
    )
    path.write_bytes(logs.log(logs.header(), logs.user("a", id="w1", parent=None), line.encode() + b"\r\n"))
    before = line.partition('w1"')[0]
    widths = {"utf-8": len(before.encode()), "utf-16": len(before) + 1, "utf-32": len(before)}
    for encoding, width in widths.items():
        general = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(encoding)])
        async with editor(served.home, types.ClientCapabilities(general=general)) as client:
            at = types.Position(2, width + 1)
            found = await client.text_document_hover_async(types.HoverParams(document(path), at))
            assert found is not None
            assert found.range == said(2, width, width + 2)
