"""The outline of a tree is dropped when nothing has requested it for a while, and made again."""

import time

import pytest

from sessiond.hub.session.log_reader import OUTLINE_SECONDS, LogReader
from sessiond.session.views.tree_view import tree_rows
from sessiond.store.memory import MemoryStore
from support.logs import assistant, header, log, user


async def test_an_outline_is_dropped_after_a_while_without_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = log(header(), user("q"), assistant("a"))
    reader = LogReader(await MemoryStore().create("s", cwd="/", timestamp="", lines=lines, draft=False))
    await reader.load()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    first = reader.outline
    page = await reader.drive(tree_rows(reader.tree, first, reader.read_rows, read_stored=reader.read_stored))
    now += OUTLINE_SECONDS - 1
    reader.drop_unused()
    assert reader.outline is first
    now += OUTLINE_SECONDS + 1
    reader.drop_unused()
    assert reader.outline is not first
    again = tree_rows(reader.tree, reader.outline, reader.read_rows, read_stored=reader.read_stored)
    assert await reader.drive(again) == page
