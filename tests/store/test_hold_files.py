"""Holds of terminals as files: what is no hold is reported, never obeyed and never lost."""

import logging
import os
from pathlib import Path

import pytest

from sessiond.store.errors import StorageFailed
from sessiond.store.records import Hold, Process
from support.disk import Disk
from support.stores import file_store, names_in

HOLD = Hold("tmux:%5@1", "tmux", Process(7, 81234, "boot"), {"/work/pi": "one"})
WHOLE = (
    b'{"version":1,"terminal":"tmux:%5@1","kind":"tmux",'
    b'"process":{"pid":7,"startTime":81234,"bootId":"boot"},"sessions":{"/work/pi":"one"}}\n'
)


def hold_file(home: Path, name: str = "tmux=3a%5@1.json") -> Path:
    return home / "state" / "terminal-holds" / name


async def test_a_hold_is_a_json_file_that_only_the_owner_may_read(tmp_path: Path) -> None:
    async with file_store(tmp_path) as store:
        await store.write_hold(HOLD)
    file = hold_file(tmp_path)
    assert file.read_bytes() == WHOLE
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 100,
        WHOLE[:-20],
        b"[" * 100_000,
        WHOLE.replace(b'"version":1', b'"version":2'),
        WHOLE.replace(b'"pid":7', b'"pid":-7'),
        WHOLE.replace(b'"pid":7', b'"pid":99999999999'),
        WHOLE.replace(b"81234", b'"soon"'),
        WHOLE.replace(b"%5@1", b"%6@1"),
        WHOLE.replace(b"one", b"o" * 300_000),
    ],
)
async def test_a_file_that_is_no_hold_is_reported_not_obeyed_and_kept(
    tmp_path: Path, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    file = hold_file(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_bytes(data)
    async with file_store(tmp_path) as store:
        with caplog.at_level(logging.WARNING):
            assert not await store.read_holds()
            await store.remove_hold(HOLD.terminal_id)
        assert [message for message in caplog.messages if str(file) in message]
        assert file.read_bytes() == data
        await store.write_hold(HOLD)
        assert await store.read_holds() == [HOLD]
    assert file.with_name(f"{file.name}.damaged").read_bytes() == data


async def test_a_path_that_is_no_file_is_no_hold(tmp_path: Path) -> None:
    folder = hold_file(tmp_path).parent
    folder.mkdir(parents=True)
    (folder / "folder.json").mkdir()
    os.mkfifo(folder / "fifo.json")
    (tmp_path / "secret").write_bytes(WHOLE)
    (folder / "tmux=3a%5@1.json").symlink_to(tmp_path / "secret")
    async with file_store(tmp_path) as store:
        assert not await store.read_holds()


async def test_an_id_that_may_be_no_session_is_left_out(tmp_path: Path) -> None:
    file = hold_file(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_bytes(WHOLE.replace(b'"one"', b'"../../x"'))
    async with file_store(tmp_path) as store:
        assert [hold.sessions for hold in await store.read_holds()] == [{}]


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
async def test_a_hold_that_cannot_be_written_leaves_the_one_before(tmp_path: Path, call: str) -> None:
    disk = Disk()
    async with file_store(tmp_path, disk.calls) as store:
        await store.write_hold(HOLD)
        disk.refuse(call, 1)
        with pytest.raises(StorageFailed):
            await store.write_hold(Hold(HOLD.terminal_id, "tmux", HOLD.process, {"/new": "two"}))
        assert await store.read_holds() == [HOLD]
    assert names_in(hold_file(tmp_path).parent) == {hold_file(tmp_path).name}
