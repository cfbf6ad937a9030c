"""Going places: definition, references, highlights, selection ranges."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support import logs
from support.daemons import Running
from support.editors import document, editor, place, texts_at

LINKS = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(
        definition=types.DefinitionClientCapabilities(link_support=True)
    )
)


async def defined(daemon: Running, path: Path, line: int, within: str = "", **how: Any) -> Any:
    async with editor(daemon.home, **how) as client:
        at = place(path, line, within)
        return await client.text_document_definition_async(
            types.DefinitionParams(at.text_document, at.position)
        )


@pytest.mark.parametrize(
    ("line", "within", "target"),
    [
        (2, "", 1),
        (5, "", 2),
        (3, 'a1"', 2),
        (7, 'q3"', 5),
        (8, "targetId", 4),
        (8, 'a2","ti', 4),
        (7, "label", 6),
    ],
)
async def test_an_entry_leads_to_its_parent_and_an_id_to_its_entry(
    served: Running, forked: Path, line: int, within: str, target: int
) -> None:
    found = await defined(served, forked, line, within)
    assert isinstance(found, types.Location)
    assert (found.uri, found.range.start.line) == (forked.as_uri(), target)
    assert texts_at(forked, [found.range]) == [["q1", "a1", "q2", "a2", "q3", "a3"][target - 1]]


async def test_an_editor_that_can_is_told_where_a_link_begins(served: Running, forked: Path) -> None:
    [link] = await defined(served, forked, 7, 'q3"', capabilities=LINKS)
    assert texts_at(forked, [link.origin_selection_range, link.target_selection_range]) == ["q3", "q3"]
    assert link.target_range.start.line == 5


async def test_a_root_and_an_unknown_id_lead_nowhere(served: Running, forked: Path, tmp_path: Path) -> None:
    assert await defined(served, forked, 1) is None
    path = tmp_path / "lost.jsonl"
    path.write_bytes(logs.log(logs.header(), logs.user("x", parent="nobody")))
    assert await defined(served, path, 1, 'nobody"') is None


async def test_a_header_leads_to_the_parent_session(served: Running, forked: Path, tmp_path: Path) -> None:
    path = tmp_path / "child.jsonl"
    path.write_bytes(logs.log(logs.header(parentSession=str(forked))))
    found = await defined(served, path, 0)
    assert found.uri == forked.as_uri()
    peer = await served.attach()
    session = (await peer.call("session/create", cwd=str(tmp_path)))["session"]
    path.write_bytes(logs.log(logs.header(parentSession=session["sessionId"])))
    assert (await defined(served, path, 0)).uri == Path(session["path"]).as_uri()
    path.write_bytes(logs.log(logs.header(parentSession="nobody-knows-it")))
    assert await defined(served, path, 0) is None


async def references(
    daemon: Running, path: Path, line: int, within: str = "", *, itself: bool = False
) -> Any:
    async with editor(daemon.home) as client:
        at = place(path, line, within)
        context = types.ReferenceContext(include_declaration=itself)
        params = types.ReferenceParams(context, at.text_document, at.position)
        return await client.text_document_references_async(params)


async def test_references_are_children_labels_and_leaf_lines(served: Running, forked: Path) -> None:
    found = await references(served, forked, 2)
    assert [location.range.start.line for location in found] == [3, 5]
    found = await references(served, forked, 7, 'q3"', itself=True)
    assert [location.range.start.line for location in found] == [5, 6, 7]
    assert texts_at(forked, [location.range for location in found]) == ["q3"] * 3
    found = await references(served, forked, 4)
    assert [location.range.start.line for location in found] == [8, 8]
    assert await references(served, forked, 0) is None


async def test_a_compaction_and_a_branch_summary_name_entries_too(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "compacted.jsonl"
    path.write_bytes(
        logs.log(
            logs.header(), logs.user("a", id="a", parent=None), logs.assistant("b", id="b"),
            logs.compaction("short", "b", id="c"), logs.entry("branch_summary", id="s", summary="x", fromId="b"),
        )
    )  # fmt: skip
    found = await references(served, path, 2)
    assert [location.range.start.line for location in found] == [3, 3, 4]
    assert texts_at(path, [location.range for location in found]) == ["b", "b", "b"]


async def test_entries_of_version_1_refer_to_each_other_by_place(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "v1.jsonl"
    line = b'{"type":"message","timestamp":"2025","message":{"role":"user","content":"x"}}\n'
    path.write_bytes(b'{"type":"session","id":"v1","timestamp":"2025","cwd":"/w"}\n' + line * 3)
    assert [reference.range.start.line for reference in await references(served, path, 1)] == [2]
    assert (await defined(served, path, 3)).range.start.line == 2


async def test_the_id_under_the_cursor_is_highlighted_wherever_it_stands(
    served: Running, forked: Path
) -> None:
    async with editor(served.home) as client:
        for line, within in ((5, 'q3"'), (6, 'q3"'), (7, 'q3"')):
            at = place(forked, line, within)
            found = await client.text_document_document_highlight_async(
                types.DocumentHighlightParams(at.text_document, at.position)
            )
            assert found is not None
            assert [(location.range.start.line, location.kind) for location in found] == [
                (5, types.DocumentHighlightKind.Write), (6, types.DocumentHighlightKind.Read),
                (7, types.DocumentHighlightKind.Read),
            ]  # fmt: skip
        at = place(forked, 5, "role")
        params = types.DocumentHighlightParams(at.text_document, at.position)
        assert await client.text_document_document_highlight_async(params) is None


def growing(range: types.SelectionRange | None) -> Iterator[types.Range]:
    while range is not None:
        yield range.range
        range = range.parent


async def test_a_selection_grows_from_the_text_to_the_file(served: Running, forked: Path) -> None:
    async with editor(served.home) as client:
        at = place(forked, 2, "Because")
        params = types.SelectionRangeParams(document(forked), [at.position])
        [smallest] = await client.text_document_selection_range_async(params) or []
    grown = list(growing(smallest))
    line = forked.read_text(encoding="utf-8").split("\n")[2]
    assert texts_at(forked, grown[:4]) == [
        "Because \\ud83d\\ude00.", '"Because \\ud83d\\ude00."',
        '{"type":"text","text":"Because \\ud83d\\ude00."}', '[{"type":"text","text":"Because \\ud83d\\ude00."}]',
    ]  # fmt: skip
    assert texts_at(forked, [grown[-2]]) == [line]
    assert grown[-1].start == types.Position(0, 0)
