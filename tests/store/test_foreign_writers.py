"""Other programs append to the same file, or put another in its place."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sessiond.store.base import LogReplaced, StorageFailed
from support.disk import Disk
from support.stores import (
    HEADER,
    append,
    content,
    file_log,
    file_of,
    file_store,
    new_log,
    numbered,
    on_disk,
    write_as_another_program,
)


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


async def test_what_another_program_appends_is_counted_until_it_is_accepted(tmp_path: Path) -> None:
    async with file_log(tmp_path) as log:
        write_as_another_program(file_of(log), b"theirs\n")
        assert (log.foreign_bytes(), log.size) == (7, len(HEADER))
        assert log.read(log.size, log.size + 7) == b"theirs\n"
        assert content(log) == HEADER
        log.accept(log.size + 7)
        assert (log.foreign_bytes(), content(log)) == (0, HEADER + b"theirs\n")
        assert await append(log, b"ours\n") == [False]
        assert content(log) == HEADER + b"theirs\nours\n"


async def test_a_part_may_be_accepted(tmp_path: Path) -> None:
    async with file_log(tmp_path) as log:
        add(file_of(log), b"whole\nhalf")
        log.accept(log.size + 6)
        assert log.foreign_bytes() == 4
        with pytest.raises(ValueError, match="known"):
            log.accept(log.size + 5)


async def test_an_append_behind_unread_foreign_lines_goes_ahead_and_reports_drift(tmp_path: Path) -> None:
    async with file_log(tmp_path) as log:
        write_as_another_program(file_of(log), b"theirs\n")
        assert await append(log, b"1\n", b"2\n") == [True, True]
        assert content(log) == on_disk(log) == HEADER + b"theirs\n1\n2\n"
        assert await append(log, b"3\n") == [False]


async def test_lines_never_fuse_with_a_foreign_half_line(tmp_path: Path) -> None:
    async with file_log(tmp_path) as log:
        add(file_of(log), b"half")
        assert await append(log, b"ours\n") == [True]
        assert content(log) == HEADER + b"half\nours\n"


async def test_lines_never_fuse_with_our_own_unended_line(tmp_path: Path) -> None:
    async with file_log(tmp_path, lines=HEADER + b"unended") as log:
        assert await append(log, b"ours\n") == [True]
        assert content(log) == HEADER + b"unended\nours\n"


async def test_a_program_that_is_quicker_between_our_look_and_our_write_is_noticed(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.before_next("write", lambda: add(file_of(log), b"quicker\n"))
        assert await append(log, b"ours\n") == [True]
        assert content(log) == on_disk(log) == HEADER + b"quicker\nours\n"
        assert await append(log, b"next\n") == [False]


async def test_batches_that_were_queued_when_foreign_bytes_were_accepted_report_drift(tmp_path: Path) -> None:
    async with file_log(tmp_path) as log:
        add(file_of(log), b"theirs\n")
        future = log.append(b"ours\n", "synced")
        log.accept(log.size + log.foreign_bytes())
        assert await future is True
        assert await append(log, b"next\n") == [False]
        assert content(log) == HEADER + b"theirs\nours\nnext\n"


async def test_foreign_bytes_may_be_accepted_while_the_file_moves(tmp_path: Path) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        log = await new_log(store, draft=True)
        add(file_of(log), b"theirs\n")
        size = log.size + log.foreign_bytes()
        with disk.hold("rename"):
            promoting = asyncio.ensure_future(log.promote())
            await asyncio.sleep(0)
            log.accept(size)
        await promoting
        assert (log.size, log.foreign_bytes()) == (size, 0)
        assert await append(log, b"ours\n") == [False]
        assert content(log) == HEADER + b"theirs\nours\n"
        await log.close()


async def test_foreign_bytes_accepted_while_a_large_batch_is_written_are_reported_by_it(
    tmp_path: Path,
) -> None:
    disk = Disk()
    large = b"x" * 300_000 + b"\n"
    async with file_log(tmp_path, disk.calls) as log:
        add(file_of(log), b"theirs\n")
        size = log.size + log.foreign_bytes()
        with disk.hold("write"):
            future = log.append(large, "synced")
            await asyncio.sleep(0)
            log.accept(size)
        assert await future is True
        assert content(log) == HEADER + b"theirs\n" + large
        assert log.foreign_bytes() == 0


async def test_a_tail_that_grew_is_not_cut(tmp_path: Path) -> None:
    async with file_log(tmp_path, lines=HEADER + b"torn") as log:
        add(file_of(log), b" no more\n")
        with pytest.raises(StorageFailed):
            await log.quarantine_tail(len(HEADER), 1)
        with pytest.raises(StorageFailed):
            await log.rewrite(b"new\n", 1)
        assert on_disk(log) == HEADER + b"torn no more\n"


async def test_what_is_appended_while_a_file_is_rewritten_is_not_lost(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.before_next("rename", lambda: add(file_of(log), b"late\n"))
        await log.rewrite(b"new\n", 1)
        assert on_disk(log) == b"new\nlate\n"
        assert (content(log), log.foreign_bytes()) == (b"new\n", 5)


def shorten(path: Path) -> None:
    os.truncate(path, 5)


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes() + b"and more\n")
    other.rename(path)


def remove(path: Path) -> None:
    path.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("moved"))


def save_in_place(path: Path) -> None:
    path.write_bytes(b"another beginning, and longer than it was before\n")


@pytest.mark.parametrize("harm", [shorten, replace, remove, move, save_in_place])
async def test_a_file_that_is_not_ours_any_more_is_left_as_it_is(
    tmp_path: Path, harm: Callable[[Path], object]
) -> None:
    async with file_log(tmp_path) as log:
        await append(log, b"1\n")
        path = file_of(log)
        harm(path)
        after = path.read_bytes() if path.exists() else None
        with pytest.raises(LogReplaced):
            log.foreign_bytes()
        futures = [log.append(b"2\n", "synced"), log.append(b"3\n", "written")]
        outcomes = await asyncio.gather(*futures, return_exceptions=True)
        assert all(isinstance(outcome, LogReplaced) for outcome in outcomes)
        for change in (log.rewrite(b"new\n", 1), log.quarantine_tail(0, 1)):
            with pytest.raises(LogReplaced):
                await change
        assert (path.read_bytes() if path.exists() else None) == after


async def test_a_file_that_was_once_shorter_stays_replaced_when_it_grows_again(tmp_path: Path) -> None:
    async with file_log(tmp_path) as log:
        path = file_of(log)
        whole = path.read_bytes()
        os.truncate(path, 5)
        with pytest.raises(LogReplaced):
            log.foreign_bytes()
        path.write_bytes(whole + b"2\n")
        with pytest.raises(LogReplaced):
            await log.append(b"1\n", "synced")


async def test_two_programs_that_append_at_the_same_time_lose_and_fuse_nothing(tmp_path: Path) -> None:
    program = (
        "import os, sys\n"
        "for number in range(2000):\n"
        "    fd = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)\n"
        "    os.write(fd, b'theirs %d\\n' % number)\n"
        "    os.close(fd)\n"
    )
    async with file_log(tmp_path) as log:
        other = await asyncio.create_subprocess_exec(sys.executable, "-c", program, log.ref)
        ours: list[bytes] = []
        drifts = 0
        while other.returncode is None:
            lines = [b"ours %d\n" % number for number in range(len(ours), len(ours) + 20)]
            drifts += any(await append(log, *lines, durability="written"))
            ours += lines
            await asyncio.sleep(0)
        await other.wait()
        # A blank line appears where we saw the other in the middle of its write.
        everything = [line for line in on_disk(log)[len(HEADER) :].splitlines(keepends=True) if line != b"\n"]
        assert [line for line in everything if line.startswith(b"ours")] == ours
        assert [line for line in everything if not line.startswith(b"ours")] == [
            b"theirs %d\n" % number for number in range(2000)
        ]
        assert drifts > 0
        assert content(log) + log.read(log.size, log.size + log.foreign_bytes()) == on_disk(log)


async def test_the_place_of_every_batch_without_drift_is_where_its_caller_expects_it(tmp_path: Path) -> None:
    async with file_log(tmp_path) as log:
        for line in numbered(30):
            expected = log.size
            if line[5] % 3 == 0:
                add(file_of(log), b"theirs\n")
            (drifted,) = await append(log, line)
            assert drifted or log.read(expected, log.size) == line


async def test_only_what_others_do_to_a_log_touches_it(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store)
        await append(log, b"1\n")
        await log.append(b"x" * 400_000 + b"\n", "written")
        await log.rewrite(b"new\n", 1)
        await log.quarantine_tail(2, 1)
        await append(log, b"2\n")
        seen = [log.is_touched]
        os.utime(file_of(log), (0, 0))
        seen.append(log.is_touched)
        await log.close()
        assert [*seen, log.is_touched] == [False, True, True]
