"""Databases of the daemon on disks that refuse: the error says whether the disk is full, and what refused."""

import errno
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sessiond.hub.database_file import DatabaseFile, refusal
from sessiond.hub.index.worker import Worker
from sessiond.store.errors import StorageFailed, StorageFull
from sessiond.store.memory import MemoryStore


def fill(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA max_page_count = 4")
    connection.execute("INSERT INTO rows VALUES(zeroblob(1000000))")


def test_a_full_disk_is_told_from_other_refusals(tmp_path: Path) -> None:
    file = DatabaseFile(
        str(tmp_path / "rows.db"), "CREATE TABLE IF NOT EXISTS rows(data BLOB);", name="the rows", synchronous="FULL"
    )  # fmt: skip
    with pytest.raises(StorageFull):
        file.use(fill)
    with pytest.raises(StorageFailed) as refused:
        file.use(lambda connection: connection.execute("SELECT * FROM nothing"))
    assert not isinstance(refused.value, StorageFull)
    file.close()


def test_the_index_says_that_the_disk_is_full(tmp_path: Path) -> None:
    worker = Worker(MemoryStore(), str(tmp_path / "index.db"))

    def filling(index: Worker) -> None:
        index.database.connection.execute("CREATE TABLE rows(data BLOB)")
        fill(index.database.connection)

    with pytest.raises(StorageFull) as refused:
        worker.ask(filling)
    assert (refused.value.path, refused.value.errno) == (str(tmp_path / "index.db"), errno.ENOSPC)
    worker.close()


def test_an_index_for_which_there_is_no_memory_is_not_taken_for_a_damaged_one(tmp_path: Path) -> None:
    worker = Worker(MemoryStore(), str(tmp_path / "index.db"))
    worker.ask(Worker.check_files)
    known = worker.build_number

    def lacking(_: Worker) -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        worker.ask(lacking)
    assert worker.ask(Worker.check_files) == known
    worker.close()


@pytest.mark.parametrize(
    ("number", "kind"),
    [(errno.ENOSPC, StorageFull), (errno.EDQUOT, StorageFull), (errno.EROFS, StorageFailed)],
)
def test_the_cause_that_sqlite_does_not_name_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[StorageFailed]
) -> None:
    def refusing(path: str, *_: Any) -> int:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(os, "open", refusing)
    found = refusal(str(tmp_path / "rows.db"), sqlite3.OperationalError("disk I/O error"))
    assert (type(found), found.errno) == (kind, number)


def test_an_error_that_the_disk_did_not_cause_leaves_no_file(tmp_path: Path) -> None:
    found = refusal(str(tmp_path / "rows.db"), sqlite3.OperationalError("no such table: rows"))
    assert (type(found), found.errno) == (StorageFailed, None)
    assert list(tmp_path.iterdir()) == []
