"""The promises of every store about its blobs, sentence by sentence of `store/blobs.py`."""

import asyncio
import hashlib
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from sessiond.store.base import Store
from sessiond.store.blobs import BlobAbsent, PutBlob, StoredBlob
from support.stores import new_log

DATA = b"\x89PNG" + bytes(range(256)) * 10
HASH = hashlib.sha256(DATA).hexdigest()
ABSENT = "0" * 64


async def test_a_blob_is_read_by_the_hash_of_its_bytes(store: Store) -> None:
    assert await store.blobs.put(DATA) == PutBlob(HASH, len(DATA), created=True)
    assert (store.blobs.read(HASH), store.blobs.size(HASH)) == (DATA, len(DATA))


async def test_a_blob_may_be_empty(store: Store) -> None:
    name = (await store.blobs.put(b"")).hash
    assert (store.blobs.read(name), store.blobs.size(name)) == (b"", 0)


async def test_the_same_bytes_are_kept_once_whoever_puts_them(store: Store) -> None:
    puts = await asyncio.gather(*[store.blobs.put(DATA) for _ in range(20)])
    assert {put.hash for put in puts} == {HASH}
    assert sum(put.created for put in puts) == 1
    assert [blob.hash for blob in await store.blobs.list()] == [HASH]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(offset=st.integers(0, 3000), limit=st.none() | st.integers(0, 3000))
async def test_a_part_of_a_blob_is_that_part(store: Store, offset: int, limit: int | None) -> None:
    await store.blobs.put(DATA)
    end = None if limit is None else offset + limit
    assert store.blobs.read(HASH, offset, limit) == DATA[offset:end]


@pytest.mark.parametrize(
    "name", [ABSENT, "", "..", "../sessions", HASH.upper(), HASH[:-1], HASH + "0", "a/b", "\0"]
)
async def test_a_missing_blob_is_absent(store: Store, name: str) -> None:
    await store.blobs.put(DATA)
    with pytest.raises(BlobAbsent):
        store.blobs.read(name)
    with pytest.raises(BlobAbsent):
        store.blobs.size(name)
    assert await store.blobs.touch([name]) == set()
    assert (
        list(await store.blobs.trash([name], older_than_ns=time.time_ns(), folder="b", reason="test")) == []
    )


async def test_the_content_of_a_file_becomes_a_blob(store: Store, tmp_path: Path) -> None:
    results = []
    for _ in range(2):
        folder = Path(store.blobs.folder_for_files())
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f".{tmp_path.name}.0123456789ab.tmp"
        file.write_bytes(DATA)
        results.append(await store.blobs.put_file(str(file), HASH))
        file.unlink(missing_ok=True)
    assert results == [PutBlob(HASH, len(DATA), created=True), PutBlob(HASH, len(DATA), created=False)]
    assert store.blobs.read(HASH) == DATA


async def test_blobs_are_read_on_any_thread(store: Store) -> None:
    await store.blobs.put(DATA)
    assert await asyncio.to_thread(store.blobs.read, HASH) == DATA


async def test_an_empty_store_has_no_blobs(store: Store) -> None:
    assert list(await store.blobs.list()) == []


@pytest.mark.parametrize("again", ["put", "touch"])
async def test_a_blob_that_is_put_or_touched_again_counts_as_new(store: Store, again: str) -> None:
    await store.blobs.put(DATA)
    (before,) = await store.blobs.list()
    if again == "put":
        assert not (await store.blobs.put(DATA)).created
    else:
        assert await store.blobs.touch([HASH, ABSENT]) == {HASH}
    (after,) = await store.blobs.list()
    assert before == StoredBlob(HASH, len(DATA), before.modified_ns)
    assert after.modified_ns > before.modified_ns


async def test_trashed_blobs_are_gone_from_the_blobs(store: Store) -> None:
    await store.blobs.put(DATA)
    other = (await store.blobs.put(b"other")).hash
    moved = await store.blobs.trash([HASH], older_than_ns=time.time_ns(), folder="b", reason="test")
    assert list(moved) == [HASH]
    with pytest.raises(BlobAbsent):
        store.blobs.read(HASH)
    assert [blob.hash for blob in await store.blobs.list()] == [other]
    assert (await store.blobs.put(DATA)).created


async def test_a_blob_that_was_put_since_stays(store: Store) -> None:
    before = time.time_ns()
    await store.blobs.put(DATA)
    assert list(await store.blobs.trash([HASH], older_than_ns=before, folder="b", reason="test")) == []
    assert store.blobs.read(HASH) == DATA


async def test_a_put_while_another_program_trashes_leaves_the_blob_in_place(store: Store) -> None:
    for number in range(30):
        await store.blobs.put(DATA)
        before = time.time_ns()
        trashing = store.blobs.trash([HASH], older_than_ns=before, folder=f"b{number}", reason="test")
        await asyncio.gather(trashing, store.blobs.put(DATA))
        assert store.blobs.read(HASH) == DATA


async def test_a_store_keeps_the_logs_that_it_made(store: Store) -> None:
    log = await new_log(store)
    assert store.keeps(log.ref)
    assert store.blobs_beside(log.ref) is None
    await log.close()


async def test_the_leftovers_of_logs_can_be_scanned(store: Store) -> None:
    log = await new_log(store, lines=b"one\ntorn")
    assert list(await store.remains()) == []
    await log.quarantine_tail(4, 1)
    await log.rewrite(b"two\n", 1)
    await store.trash(log, "test")
    remains = [b"".join(store.scan(ref)) for ref in await store.remains()]
    assert {b"torn", b"one\n", b"two\n"} <= set(remains)
