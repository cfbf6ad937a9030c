"""Hover: the entry of a line, the entry that an id names, what is wrong with a line."""

from pathlib import Path

import pytest
from lsprotocol import types

from support import logs
from support.daemons import Running
from support.editors import editor, place, said, show, texts_at

PLAIN = types.ClientCapabilities(
    text_document=types.TextDocumentClientCapabilities(
        hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.PlainText])
    )
)


async def hover(
    daemon: Running,
    path: Path,
    line: int,
    within: str = "",
    capabilities: types.ClientCapabilities | None = None,
) -> tuple[str, types.Range | None]:
    async with editor(daemon.home, capabilities or types.ClientCapabilities()) as client:
        at = place(path, line, within)
        found = await client.text_document_hover_async(types.HoverParams(at.text_document, at.position))
    if found is None:
        return "", None
    assert isinstance(found.contents, types.MarkupContent)
    return found.contents.value, found.range


async def test_an_entry_is_shown_as_it_is_read(served: Running, forked: Path) -> None:
    text, where = await hover(served, forked, 2)
    assert text.startswith("# Assistant\n")
    assert "```text\nBecause 😀.\n```" in text
    assert "- Children: q2, q3" in text
    assert where is not None
    assert texts_at(forked, [where]) == [forked.read_text(encoding="utf-8").split("\n")[2]]


@pytest.mark.parametrize(
    ("line", "within", "shown"), [(3, 'a1"', "Because 😀."), (7, 'q3"', "Or so."), (8, 'a2"', "Done.")]
)
async def test_an_id_shows_the_entry_that_it_names(
    served: Running, forked: Path, line: int, within: str, shown: str
) -> None:
    text, where = await hover(served, forked, line, within)
    assert shown in text
    assert where is not None
    assert texts_at(forked, [where]) == [within.rstrip('"')]


async def test_the_header_shows_what_is_known_of_the_session(served: Running, forked: Path) -> None:
    text, _ = await hover(served, forked, 0)
    assert "- Title: Two ways" in text
    assert "- Leaf: a2" in text


async def test_an_editor_that_reads_no_markdown_gets_none(served: Running, forked: Path) -> None:
    text, _ = await hover(served, forked, 1, capabilities=PLAIN)
    assert text == "message q1\n\nWhy?"


async def test_the_text_of_an_entry_cannot_leave_its_fence(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "hostile.jsonl"
    path.write_bytes(
        logs.log(logs.header(), logs.user("```\n# Heading\n<img src=x>\n\x1b[2J", id="h", parent=None))
    )
    text, _ = await hover(served, path, 1)
    assert "\n````text\n```\n# Heading\n<img src=x>\n" in text
    assert "\n````\n\n---\n\n- Session: " in text


async def test_a_long_entry_is_cut_and_its_fence_is_closed(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(logs.log(logs.header(), logs.user("`" * 5 + "x" * 100_000, id="h", parent=None)))
    text, _ = await hover(served, path, 1)
    assert len(text) < 10_000
    assert text.count("``````") == 2
    assert "_Truncated here: the entry has the full content._\n\n---\n" in text


async def test_a_damaged_line_says_what_is_wrong(served: Running, tmp_path: Path) -> None:
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(logs.log(logs.header(), logs.user("x", parent=None), b"\xff{nonsense\n") + b'{"torn')
    assert "not JSON" in (await hover(served, path, 2))[0]
    assert "last line" in (await hover(served, path, 3))[0]
    assert "There is no entry" in (await hover(served, lost(tmp_path), 1, 'nobody"'))[0]


def lost(folder: Path) -> Path:
    path = folder / "lost.jsonl"
    path.write_bytes(logs.log(logs.header(), logs.user("x", parent="nobody")))
    return path


async def test_a_line_that_holds_nothing_shows_nothing(served: Running, forked: Path) -> None:
    assert (await hover(served, forked, 9))[0] == ""
    async with editor(served.home) as client:
        document = types.TextDocumentIdentifier(forked.as_uri())
        far = types.Position(2**31 - 1, 2**31 - 1)
        assert await client.text_document_hover_async(types.HoverParams(document, far)) is None


async def test_a_text_that_was_not_saved_is_read_as_it_is(served: Running, forked: Path) -> None:
    async with editor(served.home) as client:
        line = '{"type":"message","id":"new","parentId":"a2","message":{"role":"user","content":"Half wr'
        show(client, forked, forked.read_text(encoding="utf-8") + line)
        at = types.TextDocumentIdentifier(forked.as_uri())
        found = await client.text_document_hover_async(types.HoverParams(at, types.Position(9, 4)))
        assert found is not None
        assert "last line is torn" in str(found.contents)
        assert found.range == said(9, 0, len(line))
        show(client, forked, forked.read_text(encoding="utf-8").replace("Why?", "Who? ü"))
        found = await client.text_document_hover_async(types.HoverParams(at, types.Position(1, 4)))
        assert found is not None
        assert "Who? ü" in str(found.contents)
