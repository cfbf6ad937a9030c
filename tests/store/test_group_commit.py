"""Which level waits for what, and how few writes and syncs many appends need."""

import asyncio
from pathlib import Path

import pytest

from support.disk import Disk
from support.stores import HEADER, append, content, file_log, numbered, on_disk


async def until_called(disk: Disk, name: str, times: int) -> None:
    async with asyncio.timeout(10):
        while disk.called[name] < times:  # noqa: ASYNC110 - the calls happen on other threads
            await asyncio.sleep(0.001)


async def turns_of_the_loop() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_synced_append_is_not_done_before_its_sync_is(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        with disk.hold("fdatasync"):
            future = log.append(b"1\n", "synced")
            await until_called(disk, "fdatasync", 1)
            assert on_disk(log) == HEADER + b"1\n"
            assert not future.done()
        await future


async def test_a_written_append_waits_for_no_sync(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        with disk.hold("fdatasync"):
            await log.append(b"1\n", "written")
            assert disk.called["fdatasync"] == 0
            assert on_disk(log) == HEADER + b"1\n"


async def test_a_written_append_is_written_while_a_sync_runs_but_told_behind_what_waits_for_it(
    tmp_path: Path,
) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        with disk.hold("fdatasync"):
            synced = log.append(b"1\n", "synced")
            await until_called(disk, "fdatasync", 1)
            written = log.append(b"2\n", "written")
            await turns_of_the_loop()
            assert on_disk(log) == HEADER + b"1\n2\n"
            assert not written.done()
        await synced
        await written


async def test_a_sync_covers_only_what_was_written_before_it_began(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        with disk.hold("fdatasync"):
            first = log.append(b"1\n", "synced")
            await until_called(disk, "fdatasync", 1)
            second, hurry = log.append(b"2\n", "synced"), log.append(b"3\n", "written")
            await turns_of_the_loop()
        await first
        with disk.hold("fdatasync"):
            await turns_of_the_loop()
        await asyncio.gather(second, hurry)
        assert disk.called["fdatasync"] == 2


async def test_a_written_append_is_synced_within_a_second(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        await log.append(b"1\n", "written")
        async with asyncio.timeout(1):
            await until_called(disk, "fdatasync", 1)


async def test_an_idle_log_is_not_synced(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        await append(log, b"1\n")
        assert await log.flush() is False
    assert disk.called["fdatasync"] == 1


async def test_those_who_append_at_once_share_one_write_and_one_sync(tmp_path: Path) -> None:
    disk = Disk()
    lines = list(numbered(1000))
    async with file_log(tmp_path, disk.calls) as log:
        disk.called.clear()
        await append(log, *lines)
        assert (disk.called["write"], disk.called["fdatasync"]) == (1, 1)
        assert content(log) == HEADER + b"".join(lines)


async def test_those_who_append_during_a_sync_share_the_next_one(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.called.clear()
        with disk.hold("fdatasync"):
            futures = [log.append(b"first\n", "synced")]
            await until_called(disk, "fdatasync", 1)
            for line in numbered(100):
                futures.append(log.append(line, "synced"))
                await asyncio.sleep(0)
        await asyncio.gather(*futures)
        assert (disk.called["write"], disk.called["fdatasync"]) == (2, 2)


async def test_a_large_batch_is_not_written_by_the_thread_of_the_loop(tmp_path: Path) -> None:
    disk = Disk()
    large = b"x" * 1_000_000 + b"\n"
    async with file_log(tmp_path, disk.calls) as log:
        with disk.hold("write"):
            futures = [log.append(large, "written"), log.append(b"behind\n", "written")]
            await until_called(disk, "write", 2)  # the first made the log
            assert log.foreign_bytes() == 0
            futures.append(log.append(b"and behind\n", "synced"))
            await turns_of_the_loop()
            assert not any(future.done() for future in futures)
        assert await asyncio.gather(*futures) == [False, False, False]
        assert content(log) == HEADER + large + b"behind\nand behind\n"


async def test_bytes_that_a_system_call_did_not_take_are_written_by_the_next(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.at_most = 7
        lines = list(numbered(5, 20))
        assert await append(log, *lines) == [False] * 5
        assert on_disk(log) == HEADER + b"".join(lines)


async def test_appends_wait_while_the_file_moves(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        with disk.hold("fsync"):
            rewriting = asyncio.ensure_future(log.rewrite(b"new\n", 1))
            await until_called(disk, "fsync", disk.called["fsync"] + 1)
            future = log.append(b"1\n", "written")
            await turns_of_the_loop()
            assert not future.done()
            assert log.foreign_bytes() == 0
        await rewriting
        assert await future is True  # it lies elsewhere than the caller had to expect
        assert content(log) == b"new\n1\n"


async def test_a_caller_who_gives_up_does_not_stop_what_it_began(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        with disk.hold("fsync"):
            rewriting = asyncio.ensure_future(log.rewrite(b"new\n", 1))
            await until_called(disk, "fsync", disk.called["fsync"] + 1)
            rewriting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await rewriting
        await append(log, b"1\n")
        assert content(log) == b"new\n1\n"


async def test_many_appenders_one_after_another_keep_their_own_order(tmp_path: Path) -> None:
    async with file_log(tmp_path) as log:

        async def appender(name: int) -> None:
            for number in range(50):
                await log.append(b"%d %d\n" % (name, number), "written" if name % 3 else "synced")

        await asyncio.gather(*(appender(name) for name in range(16)))
        lines = [tuple(map(int, line.split())) for line in content(log)[len(HEADER) :].splitlines()]
    assert [number for name, number in sorted(lines)] == list(range(50)) * 16
    for name in range(16):
        assert [number for who, number in lines if who == name] == list(range(50))
