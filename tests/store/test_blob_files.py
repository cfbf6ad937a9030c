"""Blobs in files: names, rights, what is synced when, what is damaged, and what other programs keep."""

import asyncio
import errno
import hashlib
import json  # noqa: TID251 - a note is read as any program would
import os
import stat
import time
from pathlib import Path

import pytest

from sessiond.store.blobs import BlobAbsent, BlobDamaged
from sessiond.store.errors import StorageFailed, StorageFull
from support.disk import Disk
from support.stores import file_store, names_in

DATA = b"image" * 1000
HASH = hashlib.sha256(DATA).hexdigest()


def blobs_in(home: Path) -> Path:
    return home / "data" / "blobs"


async def test_a_blob_is_a_file_that_only_its_owner_reads(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        await store.blobs.put(DATA)
    file = blobs_in(tmp_path) / HASH
    assert file.read_bytes() == DATA
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert names_in(file.parent) == {HASH}


async def test_a_blob_is_synced_before_it_has_its_name_and_its_name_before_it_is_told(tmp_path: Path) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        await store.blobs.put(b"first")
        disk.trace.clear()
        await store.blobs.put(DATA)
        assert disk.trace[-4:] == ["write", "fsync", "rename", "fsync"]


async def test_the_name_of_a_blob_that_is_there_is_synced_again(tmp_path: Path) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        await store.blobs.put(DATA)
        for again in (store.blobs.put(DATA), store.blobs.touch([HASH])):
            disk.trace.clear()
            await again
            assert disk.trace == ["fsync"]


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
async def test_a_disk_that_refuses_leaves_no_blob_and_no_half_file(tmp_path: Path, call: str) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        await store.blobs.put(b"first")
        disk.refuse(call)
        with pytest.raises(StorageFailed):
            await store.blobs.put(DATA)
        with pytest.raises(BlobAbsent):
            store.blobs.read(HASH)
        assert len(names_in(blobs_in(tmp_path))) == 1
        disk.allow(call)
        assert (await store.blobs.put(DATA)).created


async def test_a_full_disk_is_told_as_full(tmp_path: Path) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        disk.refuse("write", error=errno.ENOSPC)
        with pytest.raises(StorageFull):
            await store.blobs.put(DATA)


async def test_a_blob_whose_bytes_are_not_its_own_is_never_served_whole(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        await store.blobs.put(DATA)
        (blobs_in(tmp_path) / HASH).write_bytes(b"x" * len(DATA))
        with pytest.raises(BlobDamaged):
            store.blobs.read(HASH)
        assert store.blobs.read(HASH, 0, 3) == b"xxx"


async def test_a_damaged_blob_is_kept_in_the_trash_when_its_bytes_come_again(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        await store.blobs.put(DATA)
        (blobs_in(tmp_path) / HASH).write_bytes(b"other")
        assert (await store.blobs.put(DATA)).created
        assert store.blobs.read(HASH) == DATA
    (kept,) = (tmp_path / "data" / "trash").rglob(HASH)
    assert kept.read_bytes() == b"other"


async def test_a_file_takes_the_place_of_a_damaged_blob(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        await store.blobs.put(DATA)
        (blobs_in(tmp_path) / HASH).write_bytes(b"damaged")
        (blobs_in(tmp_path) / "new").write_bytes(DATA)
        assert (await store.blobs.put_file(str(blobs_in(tmp_path) / "new"), HASH)).created
        assert store.blobs.read(HASH) == DATA
    assert names_in(blobs_in(tmp_path)) == {HASH}
    assert [path.read_bytes() for path in (tmp_path / "data/trash").glob(f"blobs-damaged-*/{HASH}")] == [
        b"damaged"
    ]


async def test_trashed_blobs_lie_in_a_folder_with_a_note(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        await store.blobs.put(DATA)
        await store.blobs.trash([HASH], older_than_ns=time.time_ns(), folder="blobs-1", reason="unused")
        folder = Path(store.blobs.trash_folder("blobs-1"))
    assert names_in(folder) == {HASH, "note.json"}
    note = json.loads((folder / "note.json").read_text(encoding="utf-8"))
    assert (note["reason"], note["path"]) == ("unused", str(blobs_in(tmp_path)))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_nothing_to_trash_makes_no_folder(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        await store.blobs.trash([HASH], older_than_ns=time.time_ns(), folder="blobs-1", reason="unused")
    assert not (tmp_path / "data" / "trash").exists()


async def test_only_whole_files_under_a_hash_are_blobs(tmp_path: Path) -> None:
    folder = blobs_in(tmp_path)
    async with file_store(tmp_path) as store:
        await store.blobs.put(DATA)
        (folder / f".{HASH}.tmp").write_bytes(b"half")
        (folder / f"{'1' * 64}.png").write_bytes(b"typed")
        (folder / ("2" * 64)).mkdir()
        (folder / ("3" * 64)).symlink_to(folder / HASH)
        os.mkfifo(folder / ("4" * 64))
        assert [blob.hash for blob in await store.blobs.list()] == [HASH]
        for odd in ("2", "3", "4"):
            with pytest.raises(BlobAbsent):
                await asyncio.to_thread(store.blobs.read, odd * 64)


async def test_the_blobs_of_another_program_are_read_beside_its_sessions(tmp_path: Path) -> None:
    agent = tmp_path / ".omp" / "agent"
    (agent / "sessions" / "-work").mkdir(parents=True)
    (agent / "blobs").mkdir()
    (agent / "blobs" / HASH).write_bytes(DATA)
    file = agent / "sessions" / "-work" / "one.jsonl"
    file.write_bytes(b'{"type":"session","id":"abc"}\n')
    async with file_store(tmp_path) as store:
        log = await store.open_ref(str(file))
        beside = store.blobs_beside(log.ref)
        assert beside is not None
        assert beside.read(HASH) == DATA
        assert not store.keeps(log.ref)
        with pytest.raises(BlobAbsent):
            store.blobs.read(HASH)
        await log.close()


async def test_a_file_anywhere_else_has_no_blobs_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_bytes(b'{"type":"session","id":"abc"}\n')
    async with file_store(tmp_path) as store:
        log = await store.open_ref(str(file))
        assert store.blobs_beside(log.ref) is None
        await log.close()
