"""A packed log is read, moved, trashed and continued as a plain one, and no crash and no other program loses a line."""

import asyncio
import errno
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import pyzstd

from sessiond.store.base import Log
from sessiond.store.errors import DamagedPackedLog, LogNotFound, StorageFailed
from sessiond.store.files.store import FileStore
from sessiond.store.files.syscalls import Syscalls
from support.stores import HEADER, content, file_of, new_log, on_disk
from support.waiting import until

LINES = HEADER + b"".join(
    b'{"id":"%08x","type":"message","text":"%s"}\n' % (n, b"word " * (n % 90)) for n in range(9000)
)
PATTERN = "*/*.jsonl*"


def store_at(home: Path, calls: Syscalls | None = None) -> FileStore:
    return FileStore(home / "data", home / "state", calls=calls, late_seconds=0)


def sessions(home: Path) -> list[Path]:
    return sorted((home / "data" / "sessions").glob(PATTERN))


async def packed_log(store: FileStore, lines: bytes = LINES, session_id: str = "abc") -> Path:
    """Create a log with these lines and pack it. Return the packed file."""
    log = await new_log(store, session_id, lines=lines)
    await log.close()
    packed = await store.pack(log.ref)
    assert packed is not None
    assert packed.size == len(lines)
    return Path(packed.ref)


async def test_a_packed_log_takes_the_place_of_its_file(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    log = await new_log(store, lines=LINES)
    await log.close()
    plain = file_of(log)
    before = plain.stat()
    packed = await store.pack(log.ref)
    assert packed is not None
    assert [str(path) for path in sessions(tmp_path)] == [packed.ref] == [f"{plain}.zst"]
    file = Path(packed.ref)
    assert pyzstd.decompress(file.read_bytes()) == LINES
    assert file.stat().st_size == packed.packed_size < len(LINES) / 4
    assert (file.stat().st_mtime_ns, file.stat().st_mode) == (before.st_mtime_ns, before.st_mode)
    await store.close()


async def test_a_packed_log_is_listed_and_read_in_its_place(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    file = await packed_log(store)
    (stored,) = await store.list()
    assert (stored.ref, stored.session_id) == (str(file), "abc")
    assert store.measured(stored).size == len(LINES)
    for name in (stored.ref, str(file).removesuffix(".zst")):
        assert b"".join(store.scan(name)) == LINES
        assert b"".join(store.scan(name, 700_000)) == LINES[700_000:]
        assert store.read_ends(name, 1000, 2000) == (LINES[:1000], LINES[-2000:])
    for log in (
        await store.open("abc"),
        await store.open_ref(str(file)),
        await store.open_ref(str(file)[:-4]),
    ):
        assert (log.ref, log.size, log.read_only) == (str(file), len(LINES), None)
        assert content(log) == LINES
        assert b"".join(log.scan(5)) == LINES[5:]
        assert log.foreign_bytes() == 0
        assert not log.is_touched
        await log.close()
    assert sessions(tmp_path) == [file]
    await store.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log.append(b"more\n", "synced"),
        lambda log: log.append(b"more\n", "written"),
        lambda log: log.complete_tail(),
        lambda log: log.rewrite(LINES, 2),
        lambda log: log.overwrite(10, LINES[10:20], LINES[10:20]),
        lambda log: log.unpack(),
    ],
    ids=["append", "append-written", "complete-tail", "rewrite", "overwrite", "unpack"],
)
async def test_a_packed_log_is_unpacked_before_it_is_changed(
    tmp_path: Path, change: Callable[[Log], object]
) -> None:
    store = store_at(tmp_path)
    file = await packed_log(store, LINES[:-1])
    log = await store.open("abc")
    log_id = log.log_id
    await change(log)  # type: ignore[misc]
    await log.flush()
    assert log.ref == str(file).removesuffix(".zst")
    assert not file.exists()
    assert content(log) == on_disk(log)
    assert on_disk(log).startswith(LINES[:-1])
    assert log.write_error is None
    assert log.foreign_bytes() == 0
    if not list(file.parent.glob("*.bak")):
        assert log.log_id == log_id
    await log.close()
    await store.close()


async def test_a_log_keeps_its_id_when_it_is_packed_and_unpacked(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    log = await new_log(store, lines=LINES)
    log_id = log.log_id
    await log.close()
    await store.pack(log.ref)
    await store.close()
    again = store_at(tmp_path)
    log = await again.open("abc")
    assert log.log_id == log_id
    assert log.unchanged_size == len(LINES)
    await log.append(b'{"more":1}\n', "synced")
    await log.close()
    log = await again.open("abc")
    assert (log.log_id, log.unchanged_size) == (log_id, len(LINES) + 11)
    await log.close()
    await again.close()


async def test_readers_of_a_log_see_no_difference_while_it_is_unpacked(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    await packed_log(store)
    log = await store.open("abc")
    slices = log.scan()
    begin = next(slices)
    reads = [asyncio.to_thread(log.read, place, place + 5000) for place in range(0, len(LINES), 30_000)]
    appended = log.append(b"more\n", "synced")
    found = await asyncio.gather(*reads)
    await appended
    assert found == [LINES[place : place + 5000] for place in range(0, len(LINES), 30_000)]
    assert begin + b"".join(slices) == LINES
    assert content(log) == LINES + b"more\n"
    await log.close()
    await store.close()


async def test_a_packed_log_goes_to_the_trash_and_comes_back(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    file = await packed_log(store)
    place = await store.trash(await store.open("abc"), "test")
    assert sessions(tmp_path) == []
    (trashed,) = await store.trashed()
    assert (trashed.ref, trashed.session_id, trashed.origin) == (place.ref, "abc", str(file))
    assert b"".join(store.scan(trashed.ref)) == LINES
    assert await store.restore(trashed.ref) == str(file)
    log = await store.open("abc")
    assert content(log) == LINES
    await log.close()
    await store.trash(await store.open("abc"), "again")
    await packed_log(store, LINES + b"other\n")
    second = await store.trash(await store.open("abc"), "third")
    assert b"".join(store.scan(second.ref)) == LINES + b"other\n"
    await store.purge(second.ref)
    assert [b"".join(store.scan(trashed.ref)) for trashed in await store.trashed()] == [LINES]
    await store.close()


async def test_a_packed_log_moves_as_it_is(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    file = await packed_log(store)
    beside = Path(str(file).removesuffix(".zst") + ".torn-3")
    beside.write_bytes(b"torn")
    log = await store.open("abc")
    await log.move("/elsewhere")
    assert log.ref == str(tmp_path / "data/sessions/--elsewhere--" / file.name)
    assert content(log) == LINES
    assert Path(log.ref).with_name(beside.name).read_bytes() == b"torn"
    await log.append(b"more\n", "synced")
    assert content(log) == on_disk(log) == LINES + b"more\n"
    await log.close()
    await store.close()


async def test_a_census_sees_one_log_whichever_file_it_has(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    census = store.census()
    log = await new_log(store, lines=LINES)
    await log.close()
    assert [stored.ref for stored in census.poll().found] == [log.ref]
    packed = await store.pack(log.ref)
    assert packed is not None
    changes = census.poll({log.ref})
    assert ([stored.ref for stored in changes.found], changes.gone) == ([packed.ref], [log.ref])
    file_of(log).write_bytes(LINES)
    changes = census.poll({log.ref, packed.ref})
    assert ([stored.ref for stored in changes.found], changes.gone) == ([log.ref], [packed.ref])
    assert [stored.ref for stored in await store.list()] == [log.ref]
    await store.close()


# --- what is not packed ---------------------------------------------------------------------------------------


async def test_a_log_that_is_in_use_or_small_or_in_a_folder_of_another_program_stays_plain(
    tmp_path: Path,
) -> None:
    other = tmp_path / "pi" / "--a--" / "1_pi.jsonl"
    other.parent.mkdir(parents=True)
    other.write_bytes(LINES)
    store = FileStore(tmp_path / "data", tmp_path / "state", roots=[str(tmp_path / "pi")], late_seconds=0)
    log = await new_log(store, lines=LINES)
    small = await new_log(store, "small", lines=HEADER)
    draft = await new_log(store, "draft", lines=LINES, draft=True)
    for closed in (small, draft):
        await closed.close()
    for ref in (log.ref, small.ref, draft.ref, str(other)):
        assert await store.pack(ref) is None
    assert content(log) == LINES
    await log.close()
    assert other.read_bytes() == LINES
    assert not list(tmp_path.rglob("*.zst"))
    assert not list(tmp_path.rglob("*.tmp"))
    await store.close()


async def test_packed_files_in_folders_of_other_programs_are_no_sessions(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    file = await packed_log(store)
    await store.close()
    folder = tmp_path / "pi" / "--a--"
    folder.mkdir(parents=True)
    other = folder / file.name
    file.rename(other)
    store = FileStore(tmp_path / "data", tmp_path / "state", roots=[str(tmp_path / "pi")])
    assert await store.list() == []
    with pytest.raises(LogNotFound):
        await store.open_ref(str(other))
    await store.close()


# --- other programs, crashes and full disks ------------------------------------------------------------------


async def test_lines_that_a_program_appends_while_its_file_is_packed_are_kept(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "data", tmp_path / "state", late_seconds=0.2)
    log = await new_log(store, lines=LINES)
    await log.close()
    with file_of(log).open("ab", buffering=0) as program:
        packing = asyncio.create_task(store.pack(log.ref))
        await until(lambda: not file_of(log).exists())
        program.write(b"late\n")
        assert await packing is None
    assert file_of(log).read_bytes() == LINES + b"late\n"
    assert sessions(tmp_path) == [file_of(log)]
    await store.close()


async def test_lines_that_a_program_appends_late_reach_a_log_that_was_unpacked_meanwhile(
    tmp_path: Path,
) -> None:
    store = FileStore(tmp_path / "data", tmp_path / "state", late_seconds=0.5)
    log = await new_log(store, lines=LINES)
    await log.close()
    with file_of(log).open("ab", buffering=0) as program:
        packing = asyncio.create_task(store.pack(log.ref))
        await until(lambda: not file_of(log).exists())
        program.write(b"late\n")
        again = await store.open("abc")
        await again.append(b"ours\n", "synced")
        assert await packing is None
    assert file_of(log).read_bytes() == LINES + b"ours\nlate\n"
    assert again.foreign_bytes() == 5
    await again.close()
    await store.close()


async def test_a_log_that_is_opened_while_it_is_packed_stays_plain_and_whole(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    for turn in range(30):
        log = await new_log(store, f"a{turn}", lines=LINES)
        await log.close()
        packing = asyncio.create_task(store.pack(log.ref))
        for _ in range(turn):
            await asyncio.sleep(0.0005)
        again = await store.open(f"a{turn}")
        await packing
        assert content(again) == LINES
        assert again.foreign_bytes() == 0
        await again.append(b"more\n", "synced")
        await again.close()
        assert [path.read_bytes() for path in sessions(tmp_path) if f"_a{turn}." in path.name] == [
            LINES + b"more\n"
        ]
    await store.close()


@pytest.mark.parametrize("step", range(7))
async def test_a_crash_at_any_step_leaves_the_whole_log_once(tmp_path: Path, step: int) -> None:
    steps = iter(range(step + 1))

    def stop(*_args: object) -> None:
        if next(steps, None) is None:
            raise OSError(errno.EIO, "the process ends here")

    def fsync(fd: int) -> None:
        stop()
        os.fsync(fd)

    def rename(old: Path, new: Path) -> None:
        stop()
        old.rename(new)

    store = store_at(tmp_path)
    log = await new_log(store, lines=LINES)
    await log.close()
    await store.close()
    failing = store_at(tmp_path, Syscalls(fsync=fsync, rename=rename))
    with suppress(StorageFailed):
        await failing.pack(log.ref)
    await failing.close()
    again = store_at(tmp_path)
    (stored,) = await again.list()
    assert b"".join(again.scan(stored.ref)) == LINES
    opened = await again.open("abc")
    assert content(opened) == LINES
    await opened.append(b"more\n", "synced")
    await opened.close()
    assert [path.read_bytes() for path in sessions(tmp_path)] == [LINES + b"more\n"]
    await again.close()


@pytest.mark.parametrize("step", range(6))
async def test_a_failure_at_any_step_of_unpacking_keeps_the_log_and_the_append_can_be_repeated(
    tmp_path: Path, step: int
) -> None:
    store = store_at(tmp_path)
    await packed_log(store)
    await store.close()
    steps = iter(range(step))
    is_broken = True

    def stop() -> None:
        if is_broken and next(steps, None) is None:
            raise OSError(errno.ENOSPC, "full")

    def fsync(fd: int) -> None:
        stop()
        os.fsync(fd)

    def write(fd: int, data: bytes | memoryview) -> int:
        stop()
        return os.write(fd, data[: 1 << 20])

    failing = store_at(tmp_path, Syscalls(fsync=fsync, write=write))
    log = await failing.open("abc")
    with suppress(StorageFailed):
        await log.append(b"more\n", "synced")
    assert content(log)[: len(LINES)] == LINES
    is_broken = False
    if not content(log).endswith(b"more\n"):
        await log.retry()
        await log.append(b"more\n", "synced")
    await log.close()
    await failing.close()
    again = store_at(tmp_path)
    opened = await again.open("abc")
    assert content(opened) == LINES + b"more\n"
    await opened.close()
    assert [path.read_bytes() for path in sessions(tmp_path)] == [LINES + b"more\n"]
    await again.close()


async def test_of_both_files_the_plain_one_counts_and_a_packed_one_that_has_less_is_removed(
    tmp_path: Path,
) -> None:
    store = store_at(tmp_path)
    file = await packed_log(store)
    plain = Path(str(file).removesuffix(".zst"))
    plain.write_bytes(LINES + b"more\n")
    assert [stored.ref for stored in await store.list()] == [str(plain)]
    log = await store.open_ref(str(file))
    assert content(log) == LINES + b"more\n"
    assert sessions(tmp_path) == [plain]
    await log.close()
    await store.close()


async def test_of_two_files_that_differ_the_packed_one_is_kept_beside(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    file = await packed_log(store)
    plain = Path(str(file).removesuffix(".zst"))
    plain.write_bytes(HEADER + b"other\n")
    log = await store.open("abc")
    assert content(log) == HEADER + b"other\n"
    kept = plain.with_name(f"{plain.name}.packed")
    assert sessions(tmp_path) == [plain, kept]
    assert b"".join(store.scan(str(kept))) == LINES
    assert await store.remains() == [str(kept)]
    await log.close()
    await store.close()


# --- damage ---------------------------------------------------------------------------------------------------


async def test_damage_costs_its_lines_only_and_the_damaged_file_is_kept(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    file = await packed_log(store)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    log = await store.open("abc")
    found = content(log)
    assert len(found) == len(LINES)
    assert found.count(b"\n") == LINES.count(b"\n")
    assert (
        found.count(b"?\n") + 1
        >= sum(a != b for a, b in zip(found.split(b"\n"), LINES.split(b"\n"), strict=True))
        > 0
    )
    await log.append(b"more\n", "synced")
    await log.close()
    plain = Path(str(file).removesuffix(".zst"))
    assert plain.read_bytes() == found + b"more\n"
    assert plain.with_name(f"{plain.name}.packed").read_bytes() == data
    await store.close()


async def test_a_packed_log_that_was_cut_off_is_refused_with_the_lines_that_can_be_read(
    tmp_path: Path,
) -> None:
    store = store_at(tmp_path)
    file = await packed_log(store)
    file.write_bytes(file.read_bytes()[:-100])
    for read in (lambda: list(store.scan(str(file))), lambda: store.read_ends(str(file), 10, 10)):
        with pytest.raises(DamagedPackedLog):
            read()
    with pytest.raises(DamagedPackedLog):
        await store.open("abc")
    assert sessions(tmp_path) == [file]
    await store.close()


async def test_a_log_keeps_its_open_index_when_it_is_packed(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    log = await new_log(store, lines=LINES)
    await log.write_open_index([b"index"])
    await log.close()
    assert await store.pack(log.ref) is not None
    await store.close()
    again = store_at(tmp_path)
    log = await again.open("abc")
    index = await log.read_open_index()
    assert index is not None
    assert bytes(index) == b"index"
    await log.close()
    await again.close()
