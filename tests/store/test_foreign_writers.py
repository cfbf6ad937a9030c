"""Other programs append to the same file, or put another in its place."""

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from sessiond.store.errors import LogReplaced, StorageFailed
from sessiond.store.files import half_lines
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


async def test_lines_of_another_program_are_counted_until_they_are_accepted(tmp_path: Path) -> None:
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


async def test_lines_that_landed_behind_a_foreign_half_line_are_written_again_on_lines_of_their_own(
    tmp_path: Path,
) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.before_next("write", lambda: add(file_of(log), b'{"half'))
        assert await append(log, b"first\n", b"second\n") == [True, True]
        blanks = b"\n" + b" " * 11 + b"\n"
        assert on_disk(log) == content(log) == HEADER + b'{"half' + blanks + b"first\nsecond\n"
        add(file_of(log), b' the rest"}\n')
        assert await append(log, b"third\n") == [True]
        assert on_disk(log).endswith(b'\nfirst\nsecond\n the rest"}\nthird\n')


async def test_lines_that_were_written_again_survive_a_sync_that_fails(tmp_path: Path) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.before_next("write", lambda: add(file_of(log), b'{"half'))
        disk.refuse("fdatasync", 1)
        assert await append(log, b"ours\n") == [True]
        assert [line.strip() for line in on_disk(log).splitlines()].count(b"ours") == 1
        assert on_disk(log).endswith(b"\nours\n")


async def test_a_program_that_always_writes_half_a_line_before_ours_gets_the_append_refused(
    tmp_path: Path,
) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        for _ in range(1000):
            disk.before_next("write", lambda: add(file_of(log), b"{half"))
        with pytest.raises(StorageFailed):
            await append(log, b"refused\n")
        assert b"refused" not in on_disk(log)


async def test_lines_that_cannot_be_taken_back_from_behind_a_foreign_half_line_are_not_acknowledged(
    tmp_path: Path,
) -> None:
    disk = Disk()
    async with file_log(tmp_path, disk.calls) as log:
        disk.before_next("write", lambda: add(file_of(log), b"{half"))
        disk.refuse("overwrite", 1)
        with pytest.raises(StorageFailed):
            await append(log, b"ours\n")
        assert await append(log, b"ours\n") == [True]
        assert on_disk(log).splitlines().count(b"ours") == 1


@pytest.mark.parametrize("size", [1, 400_000])
async def test_an_append_waits_for_the_rest_of_a_foreign_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(half_lines, "STILL_SECONDS", 1_000.0)
    monkeypatch.setattr(half_lines, "LONGEST_SECONDS", 1_000.0)
    ours = b"x" * size + b"\n"
    async with file_log(tmp_path) as log:
        add(file_of(log), b"half a line")
        done = asyncio.gather(log.append(ours, "synced"), log.append(b"next\n", "written"))
        await asyncio.sleep(0.05)
        add(file_of(log), b" and the rest\n")
        assert list(await done) == [True, True]
        assert on_disk(log) == HEADER + b"half a line and the rest\n" + ours + b"next\n"


async def test_an_append_does_not_wait_for_ever_for_a_line_that_grows_and_never_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(half_lines, "STILL_SECONDS", 1_000.0)
    monkeypatch.setattr(half_lines, "LONGEST_SECONDS", 0.05)
    async with file_log(tmp_path) as log:
        add(file_of(log), b"half")
        future = log.append(b"ours\n", "written")
        while not future.done():
            add(file_of(log), b"!")
            await asyncio.sleep(0)
        assert b"\nours\n" in on_disk(log)
        add(file_of(log), b"\nhalf")
        with monkeypatch.context() as patient:
            patient.setattr(half_lines, "LONGEST_SECONDS", 1_000.0)
            waiting = log.append(b"waits again\n", "written")
            await asyncio.sleep(0.03)
            add(file_of(log), b"whole\n")
            await waiting
        assert b"\nhalfwhole\nwaits again\n" in on_disk(log)


_MOMENTS = ("write", "overwrite", "fdatasync", "now")


@settings(max_examples=150)
@given(data=st.data())
def test_whenever_pieces_of_foreign_lines_come_every_acknowledged_line_is_there_once_on_a_line_of_its_own(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    count = data.draw(st.integers(1, 12))
    stream = b"".join(b"<theirs %d>\n" % number for number in range(count))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream)), max_size=14)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    # An append that is disturbed at each of its eight attempts is refused.
    lists = st.lists(st.sampled_from(_MOMENTS), min_size=len(pieces), max_size=len(pieces))
    moments = data.draw(lists.filter(lambda them: them.count("write") < 8))
    batches = data.draw(st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=10))
    at_most = data.draw(st.sampled_from([None, None, 5]))

    async def main() -> None:
        disk = Disk()
        disk.at_most = at_most
        async with file_log(tmp_path_factory.mktemp("home"), disk.calls) as log:
            left = list(zip(moments, pieces, strict=True))
            ours: list[bytes] = []
            futures: list[asyncio.Future[bool]] = []

            def write_next() -> None:
                if left:
                    _, piece = left.pop(0)
                    add(file_of(log), piece)
                    if left:
                        arm(left[0][0])

            def arm(moment: str) -> None:
                if moment != "now":
                    disk.before_next(moment, write_next)

            arm(moments[0])
            for lines, waits in batches:
                if left and left[0][0] == "now":
                    write_next()
                batch = [b"ours %d\n" % number for number in range(len(ours), len(ours) + lines)]
                ours += batch
                futures.append(log.append(b"".join(batch), "synced"))
                if waits:
                    await asyncio.wait(futures)
            await asyncio.gather(*futures)
            found = on_disk(log).splitlines(keepends=True)
            assert [line for line in found if line.startswith(b"ours")] == ours
            theirs = b"".join(line for line in found[1:] if line not in ours)
            written = stream[: len(stream) - sum(len(piece) for _, piece in left)]
            assert theirs.replace(b"\n", b"").replace(b" ", b"") == written.replace(b"\n", b"").replace(
                b" ", b""
            )

    with pytest.MonkeyPatch.context() as impatient:
        impatient.setattr(half_lines, "STILL_SECONDS", 0.0)
        asyncio.run(main())


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


async def test_lines_appended_while_a_file_is_rewritten_are_not_lost(tmp_path: Path) -> None:
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
