"""Completion: the ids of entries where a field names one, also in a line that is half written."""

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from support import logs
from support.daemons import Running
from support.editors import document, editor, said, show


async def completed(client: Any, path: Path, line: int, character: int) -> list[types.CompletionItem]:
    params = types.CompletionParams(document(path), types.Position(line, character))
    found = await client.text_document_completion_async(params)
    return [] if found is None else list(found.items)


@pytest.mark.parametrize("field", ["parentId", "targetId", "firstKeptEntryId", "fromId"])
async def test_ids_are_offered_where_one_is_being_written(served: Running, forked: Path, field: str) -> None:
    half = f'{{"type":"message","x":"ü😀","{field}": "'
    async with editor(served.home) as client:
        show(client, forked, forked.read_text(encoding="utf-8") + half)
        end = len(half.encode("utf-16-le")) // 2
        found = await completed(client, forked, 9, end)
        assert [completion.label for completion in found] == ["m1", "l1", "a3", "q3", "a2", "q2", "a1", "q1"]
        assert [completion.sort_text for completion in found] == sorted(
            str(completion.sort_text) for completion in found
        )
        assert found[3].detail == "user: Or so."
        assert isinstance(found[0].text_edit, types.TextEdit)
        assert found[0].text_edit.range == said(9, end, end)
        resolved = await client.completion_item_resolve_async(found[3])
        assert "Or so." in str(resolved.documentation)


async def test_a_prefix_that_is_written_already_narrows_the_offer_and_is_replaced(
    served: Running, forked: Path
) -> None:
    async with editor(served.home) as client:
        line = forked.read_text(encoding="utf-8").split("\n")[3]
        inside = line.index('"parentId":"') + len('"parentId":"') + 1
        found = await completed(client, forked, 3, inside)
        assert [completion.label for completion in found] == ["a3", "a2", "a1"]
        assert isinstance(found[0].text_edit, types.TextEdit)
        assert found[0].text_edit.range == said(3, inside - 1, inside + 1)


async def test_nothing_is_offered_where_no_id_belongs(served: Running, forked: Path) -> None:
    async with editor(served.home) as client:
        line = forked.read_text(encoding="utf-8").split("\n")[3]
        for within in ('"role":"', '"id":"', '"content":"'):
            assert await completed(client, forked, 3, line.index(within) + len(within)) == []
        assert await completed(client, forked, 3, 0) == []
        assert await completed(client, forked, 900, 7) == []


async def test_the_newest_hundred_are_offered_and_said_to_be_some_of_many(
    served: Running, tmp_path: Path
) -> None:
    path = tmp_path / "many.jsonl"
    root = logs.user("0", id="n0", parent=None)
    path.write_bytes(logs.log(logs.header(), root, *[logs.user(str(n), id=f"n{n}") for n in range(1, 300)]))
    async with editor(served.home) as client:
        show(client, path, path.read_text(encoding="utf-8") + '{"parentId":"')
        params = types.CompletionParams(document(path), types.Position(301, 13))
        found = await client.text_document_completion_async(params)
        assert isinstance(found, types.CompletionList)
        assert found.is_incomplete
        assert [completion.label for completion in found.items] == [f"n{n}" for n in range(299, 199, -1)]
