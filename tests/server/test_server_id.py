"""The durable id of a daemon's home: made once, whole, and never replaced in silence."""

import errno
import logging
import stat
from pathlib import Path

import pytest

from sessiond.client.blocking import connect
from sessiond.server.process.server_id import server_id_of
from support.disk import Disk
from support.homes import a_home


@pytest.mark.slow
def test_a_home_keeps_its_id_across_restarts_while_the_epoch_changes() -> None:
    told = []
    with a_home() as locations:
        for _ in range(2):
            with connect(locations=locations) as daemon:
                told.append(daemon.call("server/status"))
                daemon.call("server/stop")
                daemon.wait_closed()
        assert stat.S_IMODE(Path(locations.server_id).stat().st_mode) == 0o600
    assert told[0]["serverId"] == told[1]["serverId"]
    assert told[0]["epoch"] != told[1]["epoch"]


def test_two_homes_have_two_ids(tmp_path: Path) -> None:
    one, other = str(tmp_path / "one"), str(tmp_path / "other")
    assert server_id_of(one) == server_id_of(one) != server_id_of(other)


@pytest.mark.parametrize("content", [b"", b"not an id\n", b"\xff" * 36, b"x" * 10_000])
def test_a_file_without_an_id_is_replaced_and_the_log_says_so(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "server-id"
    path.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        made = server_id_of(str(path))
    assert [str(path) in record.getMessage() for record in caplog.records] == [True]
    assert server_id_of(str(path)) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_link_is_replaced_and_its_target_is_not(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, target = tmp_path / "server-id", tmp_path / "elsewhere"
    theirs = server_id_of(str(target))
    path.symlink_to(target)
    assert server_id_of(str(path)) != theirs
    assert server_id_of(str(target)) == theirs
    assert not path.is_symlink()
    assert caplog.records


def test_the_first_id_is_made_without_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server_id_of(str(tmp_path / "server-id"))
    assert not caplog.records


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_an_id_is_stored_whole_or_not_at_all(
    tmp_path: Path, call: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "server-id"
    disk = Disk()
    disk.refuse(call, 1, error=errno.ENOSPC)
    assert server_id_of(str(path), disk.calls)
    assert list(tmp_path.iterdir()) == []
    assert [str(path) in record.getMessage() for record in caplog.records] == [True]
