"""A log that moves to the folder of another working directory: what was beside it goes along, nothing is replaced."""

from pathlib import Path

import pytest

from sessiond.store.errors import LogExists, StorageFailed
from support.disk import Disk
from support.stores import HEADER, append, content, file_of, file_store, names_in, new_log


async def test_files_beside_a_log_move_along(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store, lines=b"one\ntorn")
        await log.quarantine_tail(4, 1)
        await log.rewrite(b"two\n", 3)
        before = file_of(log)
        await log.move("/work/elsewhere")
        after = file_of(log)
        assert after == before.parent.parent / "--work-elsewhere--" / before.name
        assert names_in(after.parent) == {after.name, f"{after.name}.torn-1", f"{after.name}.v3.bak"}
        assert names_in(before.parent) == set()
        await log.close()


async def test_a_log_never_takes_the_place_of_another_file(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        log = await new_log(store)
        target = file_of(log).parent.parent / "--work-elsewhere--" / file_of(log).name
        target.parent.mkdir()
        target.write_bytes(b"theirs\n")
        with pytest.raises(LogExists):
            await log.move("/work/elsewhere")
        await append(log, b"1\n")
        assert (content(log), target.read_bytes()) == (HEADER + b"1\n", b"theirs\n")
        await log.close()


async def test_a_move_that_the_disk_refuses_can_be_tried_again(tmp_path: Path) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        log = await new_log(store)
        disk.refuse("rename", 1)
        with pytest.raises(StorageFailed):
            await log.move("/work/elsewhere")
        await append(log, b"1\n")
        await log.move("/work/elsewhere")
        assert file_of(log).read_bytes() == HEADER + b"1\n"
        await log.close()
