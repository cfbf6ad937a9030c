"""A disk that refuses: no half line stays, nothing acknowledged is lost, and the log is served again."""

import asyncio
import errno
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.store.base import Durability
from sessiond.store.errors import LogReplaced, StorageFailed, StorageFull, SyncFailed
from support.disk import Disk
from support.stores import (
    HEADER,
    append,
    content,
    file_log,
    file_of,
    file_store,
    names_in,
    new_log,
    numbered,
    on_disk,
)

LEVELS: list[Durability] = ["synced", "written"]


async def outcomes(*futures: asyncio.Future[bool]) -> list[bool | type[BaseException]]:
    results = await asyncio.gather(*futures, return_exceptions=True)
    return [type(result) if isinstance(result, BaseException) else result for result in results]


@pytest.mark.parametrize(
    ("error", "kind"),
    [(errno.ENOSPC, StorageFull), (errno.EDQUOT, StorageFull), (errno.EIO, StorageFailed)],
)
async def test_a_refused_write_fails_its_batch_with_the_reason(
    tmp_path: Path, error: int, kind: type[StorageFailed]
) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.refuse("write", 1, error=error)
        with pytest.raises(StorageFailed) as caught:
            await log.append(b"1\n", "synced")
        assert (type(caught.value), caught.value.errno, caught.value.path) == (kind, error, log.path)
        assert on_disk(log) == HEADER
        assert await append(log, b"2\n") == [False]
        assert content(log) == on_disk(log) == HEADER + b"2\n"


@pytest.mark.parametrize("room", range(25))
async def test_a_disk_that_fills_up_at_any_byte_keeps_no_half_line(tmp_path: Path, room: int) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.room = room
        lines = list(numbered(3))  # 27 bytes, one write
        assert await outcomes(*(log.append(line, "synced") for line in lines)) == [StorageFull] * 3
        assert (on_disk(log), log.size) == (HEADER, len(HEADER))
        disk.room = None
        assert await append(log, b"again\n") == [False]
        assert on_disk(log) == HEADER + b"again\n"


async def test_a_large_batch_that_does_not_fit_is_cut_away_too(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.room = 500_000
        futures = [log.append(b"x" * 1_000_000 + b"\n", "synced"), log.append(b"behind\n", "written")]
        assert await outcomes(*futures) == [StorageFull, StorageFull]
        assert on_disk(log) == HEADER


def test_a_limit_of_the_real_system_leaves_no_half_line(tmp_path: Path) -> None:
    program = """
import asyncio, resource, sys
from pathlib import Path
from sessiond.store.base import StorageFailed
from sessiond.store.files.store import FileStore

async def main():
    home = Path(sys.argv[1])
    store = FileStore(home / "data", home / "state")
    log = await store.create("abc", cwd="/", timestamp="2026-01-01", lines=b"header\\n", draft=False)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
    kept = 0
    try:
        while True:
            await log.append(b"x" * 122 + b"\\n", "synced")
            kept += 1
    except StorageFailed as error:
        print(error.errno, kept, log.size, Path(log.path).stat().st_size)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await log.append(b"again\\n", "synced")
    print(Path(log.path).read_bytes().splitlines()[-1].decode())
    await log.close()
    await store.close()

asyncio.run(main())
"""
    run = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, encoding="utf-8", check=True
    )
    size = 7 + 8 * 123
    assert run.stdout.splitlines() == [f"{errno.EFBIG} 8 {size} {size}", "again"]


async def test_other_logs_are_unharmed_by_one_that_fails(tmp_path: Path) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        one, two = await new_log(store, "one"), await new_log(store, "two")
        disk.refuse("write", 1)
        first = one.append(b"1\n", "synced")
        second = two.append(b"2\n", "synced")
        assert await outcomes(first, second) == [StorageFailed, False]
        await one.close()
        await two.close()


async def test_lines_written_before_a_refused_write_are_still_synced_and_told_first(tmp_path: Path) -> None:
    disk = Disk()
    told: list[str] = []
    async with file_log(tmp_path, disk.calls) as log:
        with disk.hold("fdatasync"):
            before = log.append(b"1\n", "synced")
            await asyncio.sleep(0)
            disk.refuse("write", 1)
            failing = log.append(b"2\n", "written")
            await asyncio.sleep(0)
            behind = log.append(b"3\n", "synced")
            for name, future in (("before", before), ("failing", failing), ("behind", behind)):
                future.add_done_callback(lambda _, name=name: told.append(name))  # type: ignore[misc]
            for _ in range(5):
                await asyncio.sleep(0)
            assert told == []
        assert await outcomes(before, failing, behind) == [False, StorageFailed, StorageFailed]
        assert told == ["before", "failing", "behind"]
        assert on_disk(log) == HEADER + b"1\n"


async def test_an_append_before_a_failure_is_reported_fails_with_it(tmp_path: Path) -> None:
    """They may have the failed batch as a parent: an entry must not outlive what it stands on."""
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        loop = asyncio.get_running_loop()
        children: list[asyncio.Future[bool]] = []
        knowing: list[asyncio.Future[bool]] = []
        disk.refuse("write", 1)
        failing = log.append(b"parent\n", "synced")
        failing.add_done_callback(lambda _: knowing.append(log.append(b"knows\n", "synced")))
        # Runs on the tick in which the write fails, before anybody can hear of it.
        loop.call_soon(lambda: children.append(log.append(b"child\n", "synced")))
        assert await outcomes(failing) == [StorageFailed]
        assert await outcomes(*children, *knowing) == [StorageFailed, False]
        assert on_disk(log) == HEADER + b"knows\n"


async def test_a_half_line_that_cannot_be_cut_away_does_not_fuse_with_the_next(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.room = 3
        disk.refuse("ftruncate", 1)
        assert await outcomes(log.append(b"12345\n", "synced")) == [StorageFull]
        assert (log.size, log.foreign_bytes()) == (len(HEADER), 3)
        disk.room = None
        assert await append(log, b"next\n") == [True]
        assert on_disk(log) == HEADER + b"123\nnext\n"


async def test_a_half_line_is_not_cut_away_when_another_program_wrote_behind_it(tmp_path: Path) -> None:
    disk = Disk()

    def interfere() -> None:
        with file_of(log).open("ab") as file:
            file.write(b" theirs\n")
        disk.refuse("write", 1, error=errno.ENOSPC)

    async with file_log(tmp_path, disk.calls) as log:
        disk.at_most = 3
        disk.before_next("write", lambda: disk.before_next("write", interfere))
        assert await outcomes(log.append(b"12345\n", "synced")) == [StorageFull]
        assert on_disk(log) == HEADER + b"\n \n theirs\n"
        assert log.foreign_bytes() == 11


async def test_a_line_that_another_program_tore_apart_is_written_again_as_a_whole(tmp_path: Path) -> None:
    disk = Disk()

    def interfere() -> None:
        disk.at_most = None
        with file_of(log).open("ab") as file:
            file.write(b" theirs\n")

    async with file_log(tmp_path, disk.calls) as log:
        disk.at_most = 3
        disk.before_next("write", lambda: disk.before_next("write", interfere))
        assert await append(log, b"12345\n") == [True]
        assert on_disk(log) == content(log) == HEADER + b"\n \n theirs\n\n \n12345\n"


async def test_after_a_failed_sync_everything_is_written_to_a_new_file(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        await append(log, b"durable\n")
        before = file_of(log).stat()
        disk.refuse("fdatasync", 1)
        assert await append(log, b"1\n", b"2\n") == [False, False]
        assert content(log) == on_disk(log) == HEADER + b"durable\n1\n2\n"
        after = file_of(log).stat()
        assert after.st_ino != before.st_ino
        assert after.st_mode == before.st_mode
        assert disk.trace[-4:] == ["write", "fsync", "rename", "fsync"][-4:]
        assert await append(log, b"3\n") == [False]
        assert on_disk(log) == HEADER + b"durable\n1\n2\n3\n"
        assert names_in(file_of(log).parent) == {file_of(log).name}


async def test_a_failed_sync_is_never_tried_again_on_the_same_file(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.refuse("fdatasync", 1)
        disk.refuse("rename")
        assert await outcomes(log.append(b"1\n", "synced")) == [SyncFailed]
        assert await outcomes(log.append(b"2\n", "synced")) == [SyncFailed]
        assert disk.called["fdatasync"] == 1
        disk.allow("rename")
        assert await append(log, b"3\n") == [False]
        assert disk.called["fdatasync"] == 2  # the last one, on the new file


async def test_when_the_recovery_fails_too_the_unsynced_are_cut_away_and_the_log_recovers_later(
    tmp_path: Path,
) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        await append(log, b"durable\n")
        disk.refuse("fdatasync", 1)
        disk.refuse("fsync")
        futures = [log.append(b"1\n", "synced"), log.append(b"2\n", "synced")]
        assert await outcomes(*futures) == [SyncFailed, SyncFailed]
        assert content(log) == on_disk(log) == HEADER + b"durable\n"
        disk.allow("fsync")
        assert await append(log, b"3\n") == [False]
        assert content(log) == on_disk(log) == HEADER + b"durable\n3\n"


async def test_a_recovery_that_fails_takes_a_write_down_that_failed_before_it(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        with disk.hold("fdatasync"):
            before = log.append(b"1\n", "synced")
            await asyncio.sleep(0)
            disk.refuse("write", 1)
            failing, behind = log.append(b"2\n", "written"), log.append(b"3\n", "synced")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            disk.refuse("fdatasync", 1)
            disk.refuse("fsync", 1)
        assert await outcomes(before, failing, behind) == [SyncFailed] * 3
        assert await append(log, b"4\n") == [False]
        assert on_disk(log) == HEADER + b"4\n"


async def test_entries_acknowledged_as_written_survive_a_failed_sync_and_a_failed_recovery(
    tmp_path: Path,
) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.refuse("fdatasync")
        disk.refuse("fsync")
        await log.append(b"acknowledged\n", "written")
        both = [log.append(b"also\n", "written"), log.append(b"failing\n", "synced")]
        assert await outcomes(*both) == [False, SyncFailed]
        disk.allow("fdatasync")
        disk.allow("fsync")
        assert await append(log, b"later\n") == [False]
        assert content(log) == on_disk(log) == HEADER + b"acknowledged\nalso\nlater\n"


async def test_a_background_sync_that_fails_recovers_without_anybody_asking(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.refuse("fdatasync", 1)
        inode = file_of(log).stat().st_ino
        await log.append(b"1\n", "written")
        async with asyncio.timeout(5):
            while file_of(log).stat().st_ino == inode:  # noqa: ASYNC110 - the file is all there is to see
                await asyncio.sleep(0.01)
        assert on_disk(log) == HEADER + b"1\n"


async def test_our_lines_do_not_fuse_with_foreign_ones_that_the_system_dropped(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        with file_of(log).open("ab") as file:
            file.write(b"theirs\n")
        disk.refuse("fdatasync", 1)
        assert await append(log, b"ours\n") == [True]
        assert on_disk(log).endswith(b"\nours\n")


async def test_foreign_lines_survive_a_failed_sync(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.refuse("fdatasync", 1)

        disk.drops_pages = False

        def interfere() -> None:
            with file_of(log).open("ab") as file:
                file.write(b"theirs\n")

        disk.before_next("fdatasync", interfere)
        disk.before_next("rename", interfere)
        assert await append(log, b"ours\n") == [False]
        assert on_disk(log) == HEADER + b"ours\ntheirs\ntheirs\n"
        assert log.foreign_bytes() == 14


async def test_foreign_lines_behind_failed_ones_are_not_cut_away(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.refuse("fdatasync")
        disk.refuse("fsync")

        disk.drops_pages = False

        def interfere() -> None:
            with file_of(log).open("ab") as file:
                file.write(b"theirs\n")

        disk.before_next("fdatasync", interfere)
        assert await outcomes(log.append(b"failed\n", "synced")) == [SyncFailed]
        assert on_disk(log) == HEADER + b"failed\ntheirs\n"
        assert (log.size, log.foreign_bytes()) == (len(HEADER), 14)
        disk.allow("fdatasync")
        disk.allow("fsync")
        assert await append(log, b"later\n") == [True]
        assert on_disk(log) == content(log) == HEADER + b"failed\ntheirs\nlater\n"


async def test_accepted_foreign_lines_behind_failed_ones_are_not_cut_away(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.refuse("fdatasync")
        disk.refuse("fsync")
        disk.drops_pages = False
        with disk.hold("fdatasync"):
            future = log.append(b"failed\n", "synced")
            async with asyncio.timeout(5):
                while not disk.called["fdatasync"]:  # noqa: ASYNC110 - happens on another thread
                    await asyncio.sleep(0.001)
            with file_of(log).open("ab") as file:
                file.write(b"theirs\n")
            log.accept(log.size + log.foreign_bytes())
        assert await outcomes(future) == [SyncFailed]
        assert on_disk(log) == HEADER + b"failed\ntheirs\n"
        disk.allow("fdatasync")
        disk.allow("fsync")


async def test_a_file_that_was_replaced_is_not_recovered_over(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        path = file_of(log)

        def replace() -> None:
            path.rename(path.with_name("moved"))
            path.write_bytes(b"another\n")

        disk.refuse("fdatasync", 1)
        disk.before_next("fdatasync", replace)
        assert await outcomes(log.append(b"1\n", "synced")) == [LogReplaced]
        assert path.read_bytes() == b"another\n"


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
async def test_a_rewrite_that_is_refused_changes_nothing(tmp_path: Path, call: str) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.refuse(call, 1)
        with pytest.raises(StorageFailed):
            await log.rewrite(b"new\n", 1)
        assert content(log) == on_disk(log) == HEADER
        assert not any(name.endswith(".tmp") for name in names_in(file_of(log).parent))
        await log.rewrite(b"new\n", 1)
        assert content(log) == on_disk(log) == b"new\n"


@pytest.mark.parametrize("call", ["write", "fsync", "ftruncate"])
async def test_a_tail_that_cannot_be_kept_is_not_cut_away(tmp_path: Path, call: str) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls, lines=HEADER + b"torn") as log:
        disk.refuse(call, 1)
        with pytest.raises(StorageFailed):
            await log.quarantine_tail(len(HEADER), 1)
        assert content(log) == on_disk(log) == HEADER + b"torn"
        await log.quarantine_tail(len(HEADER), 1)
        assert on_disk(log) == HEADER


async def test_close_lets_go_also_when_the_last_sync_fails(tmp_path: Path) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        log = await new_log(store)
        open_before = len(names_in(Path("/dev/fd")))
        disk.refuse("fdatasync")
        disk.refuse("fsync")
        future = log.append(b"1\n", "synced")
        with pytest.raises(StorageFailed):
            await log.close()
        assert await outcomes(future) == [SyncFailed]
        assert len(names_in(Path("/dev/fd"))) == open_before - 1


@settings(max_examples=60)
@given(data=st.data())
def test_under_any_faults_what_was_acknowledged_is_in_the_file_once_and_in_order(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    steps = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(LEVELS),
                st.sampled_from(
                    ["", "", "write", "fdatasync", "fsync", "rename", "ftruncate", "full", "theirs"]
                ),
                st.booleans(),
            ),
            max_size=20,
        )
    )
    drops_pages = data.draw(st.booleans())

    async def main() -> None:
        disk = Disk()
        disk.drops_pages = drops_pages
        async with file_store(tmp_path_factory.mktemp("home"), disk.calls) as store:
            log = await new_log(store)
            lines: list[bytes] = []
            futures: list[asyncio.Future[bool]] = []
            foreign: list[bytes] = []
            for durability, fault, wait in steps:
                disk.room = None
                if fault == "full":
                    disk.room = 5
                elif fault == "theirs":
                    foreign.append(b"theirs %d\n" % len(foreign))
                    with file_of(log).open("ab") as file:
                        file.write(foreign[-1])
                elif fault:
                    disk.refuse(fault, 1)
                lines.append(b"ours %d\n" % len(lines))
                futures.append(log.append(lines[-1], durability))
                if wait:
                    await asyncio.wait(futures)
            results = await asyncio.gather(*futures, return_exceptions=True)
            disk.room = None
            for name in ("write", "fdatasync", "fsync", "rename", "ftruncate"):
                disk.allow(name)
            kept = [line for line, result in zip(lines, results, strict=True) if isinstance(result, bool)]
            await log.append(b"last\n", "synced")
            found = on_disk(log).splitlines(keepends=True)
            assert found[0] + found[-1] == HEADER + b"last\n"
            assert [line for line in found if line in kept] == kept
            if not drops_pages:  # behind a half line that could not be cut away a foreign one may have fused
                assert [line for line in foreign if on_disk(log).count(line) == 1] == foreign
            ours = [line for line in found if line in lines]
            assert len(ours) == len(set(ours))
            await log.close()

    asyncio.run(main())


async def test_a_rewrite_whose_name_cannot_be_synced_is_in_place_and_is_made_durable_by_the_next_append(
    tmp_path: Path,
) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        await append(log, b"1\n")
        disk.before_next("rename", lambda: disk.refuse("fsync", 1))  # the next one is that of the folder
        await log.rewrite(b"new\n", 1)
        assert (on_disk(log), content(log)) == (b"new\n", b"new\n")
        assert isinstance(log.write_error, SyncFailed)
        disk.trace.clear()
        assert await append(log, b"2\n") == [False]
        assert disk.trace.index("rename") < disk.trace.index("fdatasync"), "it was renewed first"
        assert on_disk(log) == b"new\n2\n"
