"""An open index is returned for the log from which it was made, as long as that log only grows."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from sessiond.store.base import Log
from sessiond.store.files import log_ids, open_indexes
from sessiond.store.files.open_indexes import OpenIndexes
from sessiond.store.files.store import FileStore
from support.stores import HEADER, append, file_of, file_store, killed, names_in, new_log

PARTS = [b"columns ", b"", b"and ids"]
INDEX = b"".join(PARTS)


async def stored(home: Path, *lines: bytes) -> Path:
    """The file of a log with these lines, which has an index and is closed."""
    async with file_store(home) as store:
        log = await new_log(store)
        await append(log, *lines)
        await log.write_open_index(PARTS)
        await log.close()
        return file_of(log)


async def found(home: Path) -> tuple[bytes | None, int]:
    """The index of the log in a home, and how many bytes of the log are unchanged, as a new store finds them."""
    async with file_store(home) as store:
        log = await store.open("abc")
        index = await log.read_open_index()
        await log.close()
        return None if index is None else index.tobytes(), log.unchanged_size


def folder(home: Path) -> Path:
    return home / "state" / open_indexes.FOLDER


async def test_an_index_is_returned_after_a_restart(tmp_path: Path) -> None:
    path = await stored(tmp_path, b"one\n")
    assert await found(tmp_path) == (INDEX, path.stat().st_size)


async def test_a_new_index_replaces_the_former_one_and_leaves_it_readable(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store)
        assert await log.read_open_index() is None
        await log.write_open_index(PARTS)
        first = await log.read_open_index()
        await log.write_open_index([b"another"])
        second = await log.read_open_index()
        assert first is not None
        assert second is not None
        assert (first.tobytes(), second.tobytes()) == (INDEX, b"another")
        assert names_in(folder(tmp_path)) == {log.log_id}
        await log.close()


async def test_growth_leaves_the_index_and_counts_as_changed(tmp_path: Path) -> None:
    path = await stored(tmp_path, b"one\n")
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"two\n")
    assert await found(tmp_path) == (INDEX, size)


def rewrite(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"one", b"ONE"))


def rewrite_and_restore_the_time(path: Path) -> None:
    status = path.stat()
    rewrite(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def truncate_and_grow(path: Path) -> None:
    path.write_bytes(HEADER + b"other\n" * 20)


@pytest.mark.parametrize("change", [rewrite, rewrite_and_restore_the_time, truncate, truncate_and_grow])
async def test_another_change_makes_another_log_without_an_index(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    path = await stored(tmp_path, b"one\n", b"two\n")
    change(path)
    assert await found(tmp_path) == (None, 0)
    assert names_in(folder(tmp_path)) == set()


async def test_a_damaged_index_is_reported_and_deleted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await stored(tmp_path, b"one\n")
    (path,) = folder(tmp_path).iterdir()
    whole = path.read_bytes()
    for damaged in (
        b"", whole[:20], whole[:-1], whole + b"x",
        *(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in range(0, len(whole), 7)),
    ):  # fmt: skip
        path.write_bytes(damaged)
        caplog.clear()
        assert (await found(tmp_path))[0] is None
        assert "is damaged; the session is read instead" in caplog.text
        assert not path.exists()


async def test_an_index_that_the_disk_refuses_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").mkdir()
    folder(tmp_path).write_bytes(b"a file")
    await stored(tmp_path, b"one\n")
    assert "an open index cannot be written" in caplog.text
    assert (await found(tmp_path))[0] is None


async def test_a_log_that_another_program_has_written_to_gets_none_until_it_is_opened_again(
    tmp_path: Path,
) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store)
        os.utime(file_of(log), ns=(0, 0))
        await log.write_open_index(PARTS)
        assert await log.read_open_index() is None
        await log.close()
    await stored_again(tmp_path)
    assert (await found(tmp_path))[0] == INDEX


async def stored_again(home: Path) -> None:
    async with file_store(home) as store:
        log = await store.open("abc")
        await log.write_open_index(PARTS)
        await log.close()


async def test_a_closed_log_gets_no_index(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store)
        await log.close()
        await log.write_open_index(PARTS)
    assert not folder(tmp_path).exists()


async def test_the_index_of_a_trashed_log_is_deleted(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store)
        await log.write_open_index(PARTS)
        await store.trash(log, "asked for")
        assert names_in(folder(tmp_path)) == set()


async def test_indexes_whose_logs_are_gone_are_deleted_when_the_store_closes(tmp_path: Path) -> None:
    path = await stored(tmp_path, b"one\n")
    path.unlink()
    async with file_store(tmp_path) as store:
        await (await new_log(store, "other-session")).close()
    assert names_in(folder(tmp_path)) == set()


def test_the_oldest_indexes_are_deleted_beyond_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexes = OpenIndexes(tmp_path)
    tmp_path.joinpath("log").touch()
    for number, name in enumerate(("old", "newer", "newest")):
        indexes.write(name, str(tmp_path / "log"), PARTS)
        os.utime(tmp_path / open_indexes.FOLDER / name, ns=(number, number))
    size = (tmp_path / open_indexes.FOLDER / "old").stat().st_size
    monkeypatch.setattr(open_indexes, "MAX_BYTES", 2 * size)
    indexes.sweep({"old", "newer", "newest"})
    assert names_in(tmp_path / open_indexes.FOLDER) == {"newer", "newest"}


LARGE = b"x" * (2 * log_ids.COVER_AT_ONCE) + b"\n"


async def opened_large(home: Path, during: Callable[[Log], None] = lambda _: None) -> tuple[str, Path]:
    """The id of a large log that has no record, after a store opened and closed it."""
    folder = home / "data" / "sessions" / "--work--"
    path = folder / "2026-01-01T00-00-00-000Z_abc.jsonl"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(HEADER + LARGE)
    async with file_store(home) as store:
        log = await store.open("abc")
        during(log)
        await log.close()
        return log.log_id, path


async def test_a_large_log_is_recorded_when_it_is_closed(tmp_path: Path) -> None:
    first, path = await opened_large(tmp_path)
    assert (await opened_large(tmp_path))[0] == first
    assert (await found(tmp_path))[1] == path.stat().st_size


async def test_a_large_log_is_recorded_with_its_index_although_the_process_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_ids, "COVER_IN_A_STEP", 300_000)
    _, path = await opened_large(tmp_path)
    (tmp_path / "state" / log_ids.NAME).unlink()
    store = FileStore(tmp_path / "data", tmp_path / "state")
    log = await store.open("abc")
    writing = asyncio.create_task(log.write_open_index(PARTS))
    await append(log, b"meanwhile\n")
    await writing
    killed(tmp_path)
    assert await found(tmp_path) == (INDEX, path.stat().st_size)


async def test_a_large_log_that_changed_before_it_was_recorded_is_another_log(tmp_path: Path) -> None:
    def change(log: Log) -> None:
        path = file_of(log)
        path.write_bytes(path.read_bytes().replace(b"xx", b"yy"))
        os.utime(path, ns=(0, 0))

    first, _ = await opened_large(tmp_path, change)
    assert (await opened_large(tmp_path))[0] != first
