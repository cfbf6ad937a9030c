"""A move from any store to any other: everything arrives byte for byte, and the source stays as it is."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sessiond.store.base import Store
from sessiond.store.errors import StorageFailed
from sessiond.store.memory import MemoryStore
from sessiond.store.moving import CopyDiffers, StoresInUse, UnmovedSession, move_store
from sessiond.store.records import AddedLog, TrashNote
from support.any_store import STORES, store_of
from support.postgres import Server
from support.stores import append, content

LATE, EARLY = 1_900_000_000_000_000_000, 1_700_000_000_000_000_000


@pytest.fixture(params=STORES)
async def source(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with store_of(request.param, request, tmp_path / "source") as made:
        yield made


@pytest.fixture(params=STORES)
async def target(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    async with store_of(request.param, request, tmp_path / "target") as made:
        yield made


def header(name: str, cwd: str = "/work/pi") -> bytes:
    return b'{"type":"session","version":3,"id":"%s","timestamp":"2026-02-16T10:20:30.000Z","cwd":"%s"}\n' % (
        name.encode(), cwd.encode(),
    )  # fmt: skip


async def put(store: Store, name: str, rest: bytes = b"", *, draft: bool = False, at: int = EARLY) -> bytes:
    lines = header(name) + rest
    await store.add(
        name, cwd="/work/pi", timestamp="2026-02-16T10:20:30.000Z", lines=lines, draft=draft, modified_ns=at
    )
    return lines


async def everything(store: Store) -> dict[str, tuple[bytes, bool, int]]:
    """Every session: its bytes, whether it is a draft, and the millisecond of its last change."""
    return {
        stored.session_id: (b"".join(store.scan(stored.ref)), stored.draft, stored.modified_ns // 1_000_000)
        for stored in await store.list()
    }


async def trash_of(store: Store) -> set[tuple[object, ...]]:
    return {
        (trashed.trash_id, trashed.session_id, trashed.draft, trashed.reason, trashed.trashed_at[:19],
         trashed.about.title,
         b"".join(store.scan(trashed.ref)))
        for trashed in await store.trashed()
    }  # fmt: skip


async def test_everything_arrives_and_a_second_move_finds_nothing_to_do(source: Store, target: Store) -> None:
    await put(source, "plain", b'{"id":"a"}\n')
    await put(source, "late", b'{"id":"a"}\n', at=LATE)
    await put(source, "a-draft", draft=True)
    await put(source, "odd", b'not json\n\xff\x00\n{"id":"a"}\n{"id":"a"}\n{"half":')
    blob = await source.blobs.put(b"picture" * 1000)
    for name in ("first", "second"):
        await put(source, name, b"%s\n" % name.encode())
        log = await source.open(name)
        await source.trash(log, "a person asked for it", TrashNote(by="nvim", title=f"Plan {name}"))
    before = (await everything(source), await trash_of(source))

    report = await move_store(source, target)
    assert (report.session_count, report.copied_count, report.trashed_count, report.blob_count) == (
        4,
        4,
        2,
        1,
    )
    assert not report.problems
    assert (await everything(target), await trash_of(target)) == before
    assert target.blobs.read(blob.hash) == b"picture" * 1000
    assert (await everything(source), await trash_of(source)) == before

    again = await move_store(source, target)
    assert (again.unchanged_count, again.copied_count, again.trashed_count, again.blob_count) == (4, 0, 0, 0)
    assert (await everything(target), await trash_of(target)) == before


async def test_a_moved_session_is_a_session_like_any_other(source: Store, target: Store) -> None:
    lines = await put(source, "abc", b'{"id":"a"}\n')
    trashed = await put(source, "gone", b'{"id":"g"}\n')
    await source.trash(await source.open("gone"), "test")
    await move_store(source, target)
    log = await target.open("abc")
    await append(log, b'{"id":"b"}\n')
    assert content(log) == lines + b'{"id":"b"}\n'
    await log.close()
    [found] = await target.trashed()
    restored = await target.open_ref(await target.restore(found.ref))
    assert (content(restored), restored.session_id) == (trashed, "gone")
    await restored.close()


async def test_a_trial_run_reports_the_same_and_writes_nothing(source: Store, target: Store) -> None:
    await put(source, "abc")
    await source.blobs.put(b"picture")
    await put(source, "gone")
    await source.trash(await source.open("gone"), "test")
    trial = await move_store(source, target, is_dry_run=True)
    assert not await target.list()
    assert not await target.trashed()
    assert not await target.blobs.list()
    trial.is_dry_run = False
    assert await move_store(source, target) == trial


async def test_a_move_that_was_interrupted_is_completed_by_the_next(source: Store, target: Store) -> None:
    for number in range(6):
        await put(source, f"session-{number}", b'{"id":"a"}\n', at=EARLY + number * 1_000_000_000)
    await put(source, "gone")
    await source.trash(await source.open("gone"), "test")
    with pytest.raises(StorageFailed):
        await move_store(source, _Refusing(target, after=3))  # type: ignore[arg-type]
    assert len(await target.list()) == 3
    report = await move_store(source, target)
    assert (report.copied_count, report.unchanged_count, report.trashed_count) == (3, 3, 0)
    assert await everything(target) == await everything(source)


async def test_lines_that_the_source_got_since_are_added(source: Store, target: Store) -> None:
    lines = await put(source, "abc", b'{"id":"a"}\n')
    await move_store(source, target)
    log = await source.open("abc")
    await append(log, b'{"id":"b"}\n')
    await log.close()
    report = await move_store(source, target)
    assert (report.extended_count, report.byte_count) == (1, len(b'{"id":"b"}\n'))
    assert (await everything(target))["abc"][0] == lines + b'{"id":"b"}\n'


async def test_lines_that_the_target_got_since_stay(source: Store, target: Store) -> None:
    lines = await put(source, "abc", b'{"id":"a"}\n')
    await move_store(source, target)
    log = await target.open("abc")
    await append(log, b'{"id":"b"}\n')
    await log.close()
    assert (await move_store(source, target)).unchanged_count == 1
    assert (await everything(target))["abc"][0] == lines + b'{"id":"b"}\n'


async def test_another_session_of_the_same_id_is_named_and_both_stay(source: Store, target: Store) -> None:
    ours, theirs = await put(source, "abc", b"ours\n"), await put(target, "abc", b"theirs\n")
    await put(source, "other")
    report = await move_store(source, target)
    assert report.problems == [UnmovedSession("abc", "the target has another session with this id")]
    assert report.copied_count == 1
    assert (await everything(source))["abc"][0] == ours
    assert (await everything(target))["abc"][0] == theirs


async def test_a_copy_that_is_read_back_with_other_bytes_ends_the_move(source: Store) -> None:
    await put(source, "abc", b"one\n")
    with pytest.raises(CopyDiffers):
        await move_store(source, _Forgetful())


@pytest.mark.postgres
async def test_a_database_that_another_daemon_uses_is_not_moved(
    postgres_server: Server, tmp_path: Path
) -> None:
    from support.postgres_stores import two_stores

    async with two_stores(postgres_server, tmp_path) as (here, _):
        with pytest.raises(StoresInUse):
            await move_store(here, MemoryStore())


class _Refusing:
    """A store that has no space after some sessions."""

    def __init__(self, store: Store, after: int) -> None:
        self._store = store
        self._left = after

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def add(self, session_id: str, **rest: Any) -> AddedLog:
        if not self._left:
            raise StorageFailed("No space left on device")
        self._left -= 1
        return await self._store.add(session_id, **rest)


class _Forgetful(MemoryStore):
    """A store that loses the last byte of each session."""

    async def add(self, session_id: str, *, lines: bytes, **rest: Any) -> AddedLog:
        return await super().add(session_id, lines=lines[:-1], **rest)
