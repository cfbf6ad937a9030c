"""The trash: what is moved there can be found again, and a note says what it was."""

import errno
import os
from pathlib import Path

import msgspec
import pytest

from sessiond.store.errors import LogNotFound, LogReplaced, StorageFailed
from sessiond.store.memory import MemoryStore
from support.disk import Disk
from support.stores import HEADER, append, content, file_log, file_of, file_store, names_in, new_log, on_disk


async def test_a_note_beside_a_trashed_log_says_why_and_where_it_was(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store, draft=True)
        path = file_of(log)
        os.utime(path, (1_771_237_230.5, 1_771_237_230.5))
        where = Path((await store.trash(log, "it was empty")).ref)
    assert where.parent == tmp_path / "data" / "trash"
    assert where.name == path.name
    note = msgspec.json.decode(where.with_name(f"{where.name}.json").read_bytes())
    assert note.pop("trashedAt").endswith("Z")
    assert len(note.pop("trashId")) == 32
    assert note == {
        "reason": "it was empty",
        "path": str(path),
        "sessionId": "abc",
        "draft": True,
        "modifiedAt": "2026-02-16T10:20:30.500Z",
        "by": "daemon",
        "cwd": None,
        "title": None,
    }
    assert not path.exists()


async def test_the_name_of_a_note_is_durable_before_its_log_comes(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log, file_store(tmp_path, disk.calls) as store:
        disk.trace.clear()
        await store.trash(log, "test")
    moved = disk.trace.index("rename")
    assert disk.trace[moved - 3 : moved] == ["write", "fsync", "fsync"]


async def test_a_note_without_its_log_keeps_its_name(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store)
        note = tmp_path / "data" / "trash" / f"{file_of(log).name}.json"
        note.parent.mkdir()
        note.write_bytes(b"from a crash")
        where = Path((await store.trash(log, "test")).ref)
    assert where.name == f"{note.stem}.2"
    assert note.read_bytes() == b"from a crash"


async def test_a_session_that_cannot_be_moved_stays_open_where_it_is(tmp_path: Path) -> None:
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
        where = Path((await store.trash(log, "test")).ref)
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


async def test_a_note_whose_log_never_came_is_no_log_of_the_trash(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store)
        path = file_of(log)
        where = Path((await store.trash(log, "test")).ref)
        where.rename(path)  # as after a crash before the move, or between it and the end of the note
        assert list(await store.trashed()) == []
        again = await store.open("abc")
        assert content(again) == HEADER
        where = Path((await store.trash(again, "test")).ref)
        assert await store.restore(str(where)) == str(path)


@pytest.mark.parametrize("noted", [None, 1, "../../state/log", "x" * 300])
async def test_a_note_of_an_older_daemon_or_with_another_id_gives_an_id_of_the_name(
    tmp_path: Path, noted: object
) -> None:
    async with file_store(tmp_path) as store:
        place = await store.trash(await new_log(store), "test")
        note = Path(f"{place.ref}.json")
        text = msgspec.json.decode(note.read_bytes())
        assert text["trashId"] == place.trash_id
        note.write_bytes(msgspec.json.encode(text | {"trashId": noted}))
        ids = {trashed.trash_id for _ in range(2) for trashed in await store.trashed()}
        assert [len(part) for part in ids] == [32]
        assert set(*ids) <= set("0123456789abcdef")


async def test_a_log_whose_note_is_lost_is_listed_and_left_where_it_is(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        where = Path((await store.trash(await new_log(store), "test")).ref)
        where.with_name(f"{where.name}.json").write_bytes(b'{"path": 1}')
        [found] = await store.trashed()
        assert (found.session_id, found.origin) == ("abc", None)
        with pytest.raises(StorageFailed):
            await store.restore(str(where))
        assert where.read_bytes() == HEADER


async def test_a_restore_that_the_disk_refuses_leaves_the_log_in_the_trash(tmp_path: Path) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        log = await new_log(store)
        path = file_of(log)
        where = (await store.trash(log, "test")).ref
        disk.refuse("rename", 1)
        with pytest.raises(StorageFailed):
            await store.restore(where)
        assert [trashed.ref for trashed in await store.trashed()] == [where]
        assert await store.restore(where) == str(path)


async def test_a_restore_to_another_disk_is_a_copy_before_the_original_goes(tmp_path: Path) -> None:
    disk = Disk()
    foreign = tmp_path / "foreign.jsonl"
    foreign.write_bytes(HEADER)
    async with file_store(tmp_path, disk.calls) as store:
        where = (await store.trash(await store.open_ref(str(foreign)), "test")).ref
        disk.refuse("rename", 1, error=errno.EXDEV)
        assert await store.restore(where) == str(foreign)
    assert foreign.read_bytes() == HEADER
    assert names_in(tmp_path / "data" / "trash") == set()


async def test_a_log_goes_back_to_a_folder_that_was_removed_meanwhile(tmp_path: Path) -> None:
    foreign = tmp_path / "theirs" / "deep" / "foreign.jsonl"
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(HEADER)
    async with file_store(tmp_path) as store:
        where = (await store.trash(await store.open_ref(str(foreign)), "test")).ref
        foreign.parent.rmdir()
        foreign.parent.parent.rmdir()
        await store.restore(where)
    assert foreign.read_bytes() == HEADER


async def test_a_folder_of_another_program_is_as_open_as_it_was(tmp_path: Path) -> None:
    foreign = tmp_path / "theirs" / "foreign.jsonl"
    foreign.parent.mkdir(mode=0o755)
    foreign.write_bytes(HEADER)
    foreign.chmod(0o444)
    async with file_store(tmp_path) as store:
        await store.restore((await store.trash(await store.open_ref(str(foreign)), "test")).ref)
    assert (foreign.parent.stat().st_mode & 0o777, foreign.stat().st_mode & 0o777) == (0o755, 0o444)


async def test_a_path_that_is_no_text_is_noted_and_found_again(tmp_path: Path) -> None:
    foreign = tmp_path / os.fsdecode(b"caf\xe9.jsonl")
    foreign.write_bytes(HEADER)
    async with file_store(tmp_path) as store:
        await store.restore((await store.trash(await store.open_ref(str(foreign)), "test")).ref)
    assert foreign.read_bytes() == HEADER


async def test_an_old_draft_that_was_restored_counts_as_new(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store, draft=True)
        path = file_of(log)
        os.utime(path, (1_700_000_000, 1_700_000_000))
        await store.restore((await store.trash(log, "test")).ref)
    assert path.stat().st_mtime > 1_700_000_000


async def test_memory_forgets_a_session_with_all_that_it_left_behind() -> None:
    store = MemoryStore()
    other = await new_log(store, "other")
    log = await new_log(store, lines=b"one\ntorn")
    torn = await log.quarantine_tail(4, 1)
    await log.rewrite(b"two\n", 1)
    trashed = (await store.trash(await new_log(store, "abcd"), "test")).ref
    store.forget("abc")
    for ref in ("abc", torn, "abc.v1.bak"):
        with pytest.raises(LogNotFound):
            list(store.scan(ref))
    assert b"".join(store.scan(trashed)) == content(other) == HEADER
    store.forget("abcd")
    with pytest.raises(LogNotFound):
        list(store.scan(trashed))
