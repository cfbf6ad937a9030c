import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from sessiond.server.process import endpoint

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="processes are told apart by /proc")


def test_the_endpoint_file_can_be_read_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "endpoint.json"
    told = endpoint.describe("/r/sessiond.sock", "e-1")
    endpoint.publish(str(path), told)
    assert endpoint.read(str(path)) == told
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["endpoint.json"]


def test_the_file_has_the_names_that_clients_look_for(tmp_path: Path) -> None:
    path = tmp_path / "endpoint.json"
    endpoint.publish(str(path), endpoint.describe("/r/sessiond.sock", "e-1"))
    told = msgspec.json.decode(path.read_bytes())
    assert set(told) == {"socket", "tcp", "epoch", "bootId", "pid", "startTime", "build", "protocol"}
    assert (told["socket"], told["epoch"], told["pid"]) == ("/r/sessiond.sock", "e-1", os.getpid())


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"pid": 1}', b"\xff"])
def test_a_missing_or_broken_file_tells_nothing(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "endpoint.json"
    if content is not None:
        path.write_bytes(content)
    assert endpoint.read(str(path)) is None


@LINUX
def test_a_process_is_alive_only_as_the_one_that_it_was() -> None:
    told = endpoint.describe("/s", "e-1")
    assert endpoint.is_alive(told)
    assert told.start_time is not None
    assert not endpoint.is_alive(msgspec.structs.replace(told, start_time=told.start_time + 1))
    assert not endpoint.is_alive(msgspec.structs.replace(told, boot_id="another boot"))
    assert not endpoint.is_alive(msgspec.structs.replace(told, pid=2**22 + 1))


@LINUX
def test_only_the_very_process_is_roused() -> None:
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        stranger = msgspec.structs.replace(endpoint.describe("/s", "e-1"), pid=sleeper.pid)
        assert not endpoint.wake(stranger)
        assert sleeper.poll() is None
        sleeper.send_signal(signal.SIGKILL)
