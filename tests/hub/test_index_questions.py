"""A question to the index: what is checked around it, and what happens to it if the index is damaged."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest

from sessiond.hub.errors import CursorExpired, Draining
from sessiond.hub.index.files import FileTable
from sessiond.hub.index.index import Index
from sessiond.hub.index.worker import Worker
from sessiond.protocol import types as t
from sessiond.store.memory import MemoryStore


@pytest.fixture
def worker(tmp_path: Path) -> Iterable[Worker]:
    made = Worker(MemoryStore(), str(tmp_path / "index.db"))
    yield made
    made.close()


def test_a_question_that_meets_damage_is_asked_again_of_a_new_index(worker: Worker) -> None:
    asked: list[int] = []

    def question(index: Worker) -> int:
        asked.append(index.build_number)
        if len(asked) == 1:
            raise sqlite3.DatabaseError("row 1 is missing")
        return index.build_number

    assert worker.ask(question) == 2
    assert asked == [1, 2]


def test_a_refusal_is_the_answer_to_a_question_and_no_damage(worker: Worker) -> None:
    def question(_: Worker) -> None:
        raise CursorExpired

    with pytest.raises(CursorExpired):
        worker.ask(question)
    assert worker.ask(lambda index: index.build_number) == 1


async def test_the_files_are_checked_for_a_list_and_for_a_search_but_not_for_changes_of_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks, refresh = 0, FileTable.refresh

    def counted(self: FileTable) -> bool:
        nonlocal checks
        checks += 1
        return refresh(self)

    async def nothing_unread(_until: float) -> t.UnsearchedTexts:
        return t.UnsearchedTexts(session_count=0, size_bytes=0)

    monkeypatch.setattr(FileTable, "refresh", counted)
    index = Index(
        MemoryStore(), str(tmp_path / "index.db"), lambda: [], lambda _live: pytest.fail("no session is open"),
        lambda: False, nothing_unread,
    )  # fmt: skip
    await index.page(t.ListParams())
    assert checks == 1
    await index.delta(t.ListFilter(), index.position, complete_at=0, limit=10)
    assert checks == 1
    await index.search(t.SearchParams(query="garnet"), None, str)
    assert checks == 2
    await index.close()
    with pytest.raises(Draining):
        await index.page(t.ListParams())
