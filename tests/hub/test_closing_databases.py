"""A part that closes has no connection to its database afterwards, whatever work was under way."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.database_file import DatabaseFile
from sessiond.hub.errors import Draining
from sessiond.hub.idempotency import journal
from sessiond.hub.idempotency.commands import Commands
from sessiond.hub.index import worker
from sessiond.hub.index.index_thread import IndexThread
from sessiond.hub.index.tracker import OpenTracker
from sessiond.hub.transfer.source_records import SourceRecords
from sessiond.protocol import methods as m, types as t
from sessiond.store.memory import MemoryStore

TABLES = "CREATE TABLE IF NOT EXISTS words(word TEXT)"


class Delayed:
    """A constructor that begins, and then waits until it may go on."""

    def __init__(self, original: Callable[..., Any]) -> None:
        self._original = original
        self.has_begun = threading.Event()
        self.may_go_on = threading.Event()

    def __call__(self, *arguments: Any) -> Any:
        self.has_begun.set()
        self.may_go_on.wait()
        return self._original(*arguments)


async def test_an_index_that_closes_while_its_first_work_waits_is_sealed_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, making = MemoryStore(), Delayed(worker.Worker)
    monkeypatch.setattr(worker, "Worker", making)
    tracker = OpenTracker(lambda: [], lambda _live: pytest.fail("no session is open"), store.lists)
    thread = IndexThread(store, str(tmp_path / "index.db"), tracker)
    first = thread.ask(lambda index: index.check_files())
    await asyncio.to_thread(making.has_begun.wait)
    closing = asyncio.create_task(thread.close())
    await asyncio.sleep(0)
    making.may_go_on.set()
    await asyncio.gather(first, closing)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.db", "index.db-seal"]
    with pytest.raises(Draining):
        await thread.ask(lambda index: index.check_files())


async def test_commands_that_close_while_the_journal_is_loaded_close_it_after_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    making = Delayed(journal.Journal)
    monkeypatch.setattr(journal, "Journal", making)
    commands = Commands(str(tmp_path / "commands.db"))
    command = commands.of(m.HISTORY_ADD, t.HistoryAddParams(prompt="hello", cwd="/work", command_id="one"))
    first = asyncio.create_task(commands.once(command, t.HistoryAddResult, _added))
    await asyncio.to_thread(making.has_begun.wait)
    closing = asyncio.create_task(commands.close())
    await asyncio.sleep(0)
    making.may_go_on.set()
    await asyncio.gather(first, closing)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["commands.db"]  # without a `-wal` file


async def _added() -> t.HistoryAddResult:
    return t.HistoryAddResult(added=True, prompt_id="1")


async def test_a_command_that_ends_after_the_close_answers_and_is_settled_after_the_next_start(
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "commands.db")
    commands = Commands(path)
    params = t.HistoryAddParams(prompt="hello", cwd="/work", command_id="one")
    command = commands.of(m.HISTORY_ADD, params)

    async def add() -> t.HistoryAddResult:
        await commands.close()
        return t.HistoryAddResult(added=True, prompt_id="1")

    assert (await commands.once(command, t.HistoryAddResult, add)).prompt_id == "1"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["commands.db"]
    stored = journal.Journal(path)
    assert [(entry.id, entry.answer) for entry in stored.all(0)] == [("one", None)]
    stored.close()


def test_a_closed_database_is_not_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "words.db"
    file = DatabaseFile(str(path), TABLES, name="the words", synchronous="NORMAL")
    file.use(lambda connection: connection.execute("SELECT word FROM words").fetchall())
    file.close()
    path.unlink()
    with pytest.raises(Draining):
        file.use(lambda connection: connection.execute("SELECT word FROM words").fetchall())
    assert not path.exists()


def test_records_of_imports_that_a_thread_reads_after_the_close_are_refused(tmp_path: Path) -> None:
    records = SourceRecords(str(tmp_path / "imports.db"))
    records.close()
    with pytest.raises(Draining):
        records.find(["/work/session.jsonl"], None)
    assert list(tmp_path.iterdir()) == []
