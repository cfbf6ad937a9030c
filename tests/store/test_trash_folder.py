"""The trash: what is moved there can be found again, and a note says what it was."""

import errno
import os
from pathlib import Path

import msgspec
import pytest

from sessiond.store.base import LogNotFound, LogReplaced, StorageFailed
from sessiond.store.memory import MemoryStore
from support.disk import Disk
from support.stores import HEADER, append, content, file_log, file_of, file_store, names_in, new_log, on_disk


async def test_a_note_beside_a_trashed_log_says_why_and_where_it_was(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store, draft=True)
        path = file_of(log)
        os.utime(path, (1_771_237_230.5, 1_771_237_230.5))
        where = Path(await store.trash(log, "it was empty"))
    assert where.parent == tmp_path / "data" / "trash"
    assert where.name == path.name
    assert msgspec.json.decode(where.with_name(f"{where.name}.json").read_bytes()) == {
        "reason": "it was empty",
        "path": str(path),
        "sessionId": "abc",
        "draft": True,
        "modifiedAt": "2026-02-16T10:20:30.500Z",
    }
    assert not path.exists()


async def test_a_note_without_its_log_keeps_its_name(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store)
        note = tmp_path / "data" / "trash" / f"{file_of(log).name}.json"
        note.parent.mkdir()
        note.write_bytes(b"from a crash")
        where = Path(await store.trash(log, "test"))
    assert where.name == f"{note.stem}.2"
    assert note.read_bytes() == b"from a crash"


async def test_what_cannot_be_moved_stays_open_where_it_is(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log, file_store(tmp_path, disk.calls) as store:
        disk.refuse("rename", 1)
        with pytest.raises(StorageFailed):
            await store.trash(log, "test")
        await append(log, b"1\n")
        assert on_disk(log) == HEADER + b"1\n"
        assert names_in(tmp_path / "data" / "trash") == set()


async def test_a_file_that_took_the_place_of_a_log_is_not_trashed(tmp_path: Path) -> None:
    async with file_log(tmp_path) as log, file_store(tmp_path) as store:
        path = file_of(log)
        path.unlink()
        path.write_bytes(b"another\n")
        with pytest.raises(LogReplaced):
            await store.trash(log, "test")
        assert path.read_bytes() == b"another\n"


async def test_a_file_on_another_disk_is_copied_before_it_goes(tmp_path: Path) -> None:
    disk = Disk()
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_bytes(HEADER)
    async with file_store(tmp_path, disk.calls) as store:
        log = await store.open_ref(str(foreign))
        disk.refuse("rename", 1, error=errno.EXDEV)
        where = Path(await store.trash(log, "test"))
    assert where.read_bytes() == HEADER
    assert not foreign.exists()
    assert where.with_name(f"{where.name}.json").exists()


async def test_a_copy_to_another_disk_that_is_overtaken_does_not_take_the_original_away(
    tmp_path: Path,
) -> None:
    disk = Disk()
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_bytes(HEADER)
    async with file_store(tmp_path, disk.calls) as store:
        log = await store.open_ref(str(foreign))

        def overtake() -> None:
            disk.before_next("write", lambda: foreign.write_bytes(HEADER + b"theirs\n"))

        disk.refuse("rename", 1, error=errno.EXDEV)
        disk.before_next("rename", overtake)
        with pytest.raises(StorageFailed):
            await store.trash(log, "test")
        assert foreign.read_bytes() == HEADER + b"theirs\n"
        assert names_in(tmp_path / "data" / "trash") == set()
        await log.close()


async def test_a_log_of_another_store_does_not_go_to_this_trash(tmp_path: Path) -> None:
    log = await new_log(MemoryStore())
    async with file_store(tmp_path) as store:
        with pytest.raises(TypeError):
            await store.trash(log, "test")


async def test_memory_forgets_a_session_with_all_that_it_left_behind() -> None:
    store = MemoryStore()
    other = await new_log(store, "other")
    log = await new_log(store, lines=b"one\ntorn")
    torn = await log.quarantine_tail(4, 1)
    await log.rewrite(b"two\n", 1)
    trashed = await store.trash(await new_log(store, "abcd"), "test")
    store.forget("abc")
    for ref in ("abc", torn, "abc.v1.bak"):
        with pytest.raises(LogNotFound):
            list(store.scan(ref))
    assert b"".join(store.scan(trashed)) == content(other) == HEADER
    store.forget("abcd")
    with pytest.raises(LogNotFound):
        list(store.scan(trashed))
