"""More logs than descriptors: each keeps its lines, its order and its identity while its descriptor is closed."""

import contextlib
import errno
import os
import resource
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from sessiond.store.base import Log
from sessiond.store.errors import LogGone, LogReplaced, StorageFailed, SyncFailed, TooManyOpenFiles
from sessiond.store.files.descriptors import Descriptors
from sessiond.store.files.folders import make_folder
from sessiond.store.files.store import FileStore
from sessiond.store.files.syscalls import Syscalls
from support.disk import Disk
from support.stores import HEADER, append, content, file_of, new_log

LIMIT = 3


@asynccontextmanager
async def few_descriptors(
    home: Path, disk: Disk | None = None, limit: int = LIMIT
) -> AsyncIterator[FileStore]:
    calls = None if disk is None else disk.calls
    store = FileStore(home / "data", home / "state", calls=calls, descriptors=Descriptors(limit))
    try:
        yield store
    finally:
        await store.close()


async def logs(store: FileStore, count: int) -> list[Log]:
    return [await new_log(store, f"session-{number:03}") for number in range(count)]


async def use_others(store: FileStore, name: str = "other") -> list[Log]:
    """Use so many other logs that no earlier one keeps its descriptor."""
    others = [await new_log(store, f"{name}-{number:03}") for number in range(LIMIT)]
    for log in others:
        await append(log, b"theirs\n")
    return others


def open_logs(home: Path) -> set[str]:
    """The session files below a folder that this process has a descriptor of."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = str(entry.readlink())
        except FileNotFoundError:
            continue
        if target.startswith(str(home)) and target.endswith(".jsonl"):
            found.add(target)
    return found


async def close(*all_logs: Log) -> None:
    for log in all_logs:
        await log.close()


async def test_more_logs_than_descriptors_are_written_and_read(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path) as store:
        many = await logs(store, 20)
        for turn in range(3):
            for log in many:
                assert await append(log, b"%s %d\n" % (log.session_id.encode(), turn)) == [False]
        assert len(open_logs(tmp_path)) <= LIMIT
        for log in many:
            name = log.session_id.encode()
            assert content(log) == HEADER + b"".join(b"%s %d\n" % (name, turn) for turn in range(3))
            assert (log.write_error, log.is_touched) == (None, False)
        await close(*many)
        assert open_logs(tmp_path) == set()


async def test_no_more_logs_than_the_limit_wait_for_a_later_sync(tmp_path: Path) -> None:
    """A log keeps its descriptor until it is synced, and clients may write faster than that comes."""
    async with few_descriptors(tmp_path) as store:
        many = await logs(store, 20)
        for log in many:
            await append(log, b"ours\n", durability="written")
            assert len(open_logs(tmp_path)) <= LIMIT + 1
        await close(*many)


async def test_a_log_that_nobody_changed_is_polled_at_without_a_descriptor(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path) as store:
        many = await logs(store, 10)
        before = open_logs(tmp_path)
        assert [log.foreign_bytes() for log in many] == [0] * 10
        assert open_logs(tmp_path) == before
        await close(*many)


async def test_lines_that_another_program_appends_meanwhile_are_found(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path) as store:
        log = await new_log(store)
        others = await use_others(store)
        with file_of(log).open("ab") as file:
            file.write(b"foreign\n")
        assert log.foreign_bytes() == len(b"foreign\n")
        log.accept(log.size + len(b"foreign\n"))
        assert await append(log, b"ours\n") == [False]
        assert content(log) == HEADER + b"foreign\n" + b"ours\n"
        await close(log, *others)


async def test_an_append_behind_what_another_program_appended_meanwhile_drifts(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path) as store:
        log = await new_log(store)
        others = await use_others(store)
        with file_of(log).open("ab") as file:
            file.write(b"foreign\n")
        assert await append(log, b"ours\n") == [True]
        assert file_of(log).read_bytes() == HEADER + b"foreign\n" + b"ours\n"
        await close(log, *others)


async def test_a_file_that_went_meanwhile_is_gone_until_it_is_put_back(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path) as store:
        log = await new_log(store)
        others = await use_others(store)
        away = tmp_path / "away"
        file_of(log).rename(away)
        with pytest.raises(LogGone):
            log.foreign_bytes()
        with pytest.raises(LogGone):
            log.read(0, 10)
        with pytest.raises(LogGone):
            await log.append(b"lost\n", "synced")
        away.rename(file_of(log))
        assert log.foreign_bytes() == 0
        await append(log, b"ours\n")
        assert content(log) == HEADER + b"ours\n"
        await close(log, *others)


async def test_another_file_under_the_same_name_is_no_log_of_ours(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path) as store:
        log = await new_log(store)
        others = await use_others(store)
        theirs = tmp_path / "theirs"
        theirs.write_bytes(file_of(log).read_bytes())
        theirs.rename(file_of(log))
        for refused in (log.foreign_bytes, lambda: log.read(0, 10)):
            with pytest.raises(LogReplaced):
                refused()
        with pytest.raises(LogReplaced):
            await log.append(b"lost\n", "synced")
        assert file_of(log).read_bytes() == HEADER
        await close(log, *others)


async def test_a_link_in_the_place_of_a_log_is_not_followed(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path) as store:
        log = await new_log(store)
        others = await use_others(store)
        away = tmp_path / "away"
        file_of(log).rename(away)
        file_of(log).symlink_to(away)
        with pytest.raises(LogReplaced):
            await log.append(b"lost\n", "synced")
        assert away.read_bytes() == HEADER
        await close(log, *others)


@pytest.mark.parametrize("changed", [b"", b"short\n", b"x" * 64 + b"\n", HEADER.upper() + b"more\n"])
async def test_a_file_with_another_beginning_or_end_is_replaced(tmp_path: Path, changed: bytes) -> None:
    async with few_descriptors(tmp_path) as store:
        log = await new_log(store)
        others = await use_others(store)
        with file_of(log).open(
            "r+b"
        ) as file:  # the same inode, as a deleted file may leave its number to another
            file.truncate(0)
            file.write(changed)
        with pytest.raises(LogReplaced):
            await log.append(b"lost\n", "synced")
        assert file_of(log).read_bytes() == changed
        await close(log, *others)


async def test_a_change_in_the_middle_of_a_file_is_noticed(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path) as store:
        log = await new_log(store, lines=HEADER + b"x" * 20_000 + b"\n")
        others = await use_others(store)
        with file_of(log).open("r+b") as file:
            file.seek(10_000)
            file.write(b"y")
        log.read(0, 10)
        assert log.is_touched
        await close(log, *others)


async def test_a_log_whose_sync_failed_keeps_its_descriptor(tmp_path: Path) -> None:
    disk = Disk()
    async with few_descriptors(tmp_path, disk) as store:
        log = await new_log(store)
        others = [await new_log(store, f"early-{number}") for number in range(LIMIT)]
        disk.refuse("fdatasync", 1)
        disk.refuse("rename", 1)
        with pytest.raises(SyncFailed):
            await log.append(b"ours\n", "synced")
        later = await logs(store, 10)
        assert str(file_of(log)) in open_logs(tmp_path)
        await append(log, b"again\n")
        assert content(log) == HEADER + b"again\n"
        await close(log, *others, *later)


async def test_lines_that_are_not_synced_yet_keep_the_descriptor(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path) as store:
        log = await new_log(store)
        await log.append(b"soon\n", "written")
        others = await logs(store, 10)
        assert str(file_of(log)) in open_logs(tmp_path)
        await log.flush()
        others += await use_others(store)
        assert str(file_of(log)) not in open_logs(tmp_path)
        await close(log, *others)


async def test_a_right_that_went_meanwhile_leaves_a_log_that_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def open_to_read_only(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_RDWR and str(path).endswith(".jsonl"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, flags, mode)

    async with few_descriptors(tmp_path) as store:
        log = await new_log(store)
        others = await use_others(store)
        with monkeypatch.context() as patched:  # root may write anything, whatever the mode of a file
            patched.setattr(os, "open", open_to_read_only)
            assert log.read(0, len(HEADER)) == HEADER
            with pytest.raises(StorageFailed):
                await log.append(b"lost\n", "synced")
        await append(log, b"ours\n")
        assert content(log) == HEADER + b"ours\n"
        await close(log, *others)


async def test_a_log_is_rewritten_promoted_and_moved_without_a_descriptor(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path) as store:
        log = await new_log(store, draft=True, lines=HEADER + b"torn")
        others = await use_others(store, "a")
        await log.quarantine_tail(len(HEADER), 1)
        others += await use_others(store, "b")
        await log.rewrite(HEADER + b"new\n", 1)
        others += await use_others(store, "c")
        await log.promote()
        others += await use_others(store, "d")
        await log.move("/work/elsewhere")
        others += await use_others(store, "e")
        await append(log, b"more\n")
        assert content(log) == HEADER + b"new\nmore\n"
        assert len(open_logs(tmp_path)) <= LIMIT
        await close(log, *others)


async def test_a_scan_goes_on_while_the_descriptor_is_closed(tmp_path: Path) -> None:
    lines = HEADER + b"".join(b"%07d\n" % number for number in range(40_000))
    async with few_descriptors(tmp_path) as store:
        log = await new_log(store, lines=lines)
        slices = log.scan()
        read = next(slices)
        others = await use_others(store)
        assert read + b"".join(slices) == lines
        await close(log, *others)


@contextmanager
def no_more_than(more: int) -> Iterator[None]:
    """So many descriptors more than there are now, for this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(entry.name) for entry in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_logs_that_are_not_in_use_make_room_when_the_system_has_no_descriptor_left(
    tmp_path: Path,
) -> None:
    async with few_descriptors(tmp_path, limit=1_000) as store:
        first = await logs(store, 1)  # its threads are there now
        with no_more_than(12):
            many = [await new_log(store, f"many-{number}") for number in range(40)]
            for log in many:
                await append(log, b"ours\n")
            assert {content(log) for log in many} == {HEADER + b"ours\n"}
        await close(*first, *many)


async def test_without_any_descriptor_the_refusal_says_so_and_is_over_with_its_cause(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path, limit=1_000) as store:
        first = await logs(store, 1)
        taken: list[int] = []
        with no_more_than(12):
            with contextlib.suppress(OSError):
                while True:
                    taken.append(os.open("/dev/null", os.O_RDONLY))
            (log,) = first
            await append(log, b"still written\n")
            await close(log)
            taken.append(os.open("/dev/null", os.O_RDONLY))
            with pytest.raises(TooManyOpenFiles, match=r"limit \d+"):
                await new_log(store, "refused")
            for fd in taken:
                os.close(fd)
            await close(await new_log(store, "refused"))


def test_a_folder_that_cannot_be_opened_for_want_of_descriptors_is_not_blamed(tmp_path: Path) -> None:
    taken: list[int] = []
    with no_more_than(3):
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        with pytest.raises(TooManyOpenFiles, match=r"limit \d+"):
            make_folder(tmp_path, Syscalls())
    for fd in taken:
        os.close(fd)
