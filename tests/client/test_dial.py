import os
import socket
import threading
import time
from pathlib import Path

import msgspec
import pytest

from sessiond.client.daemon_socket import (
    DaemonBusyError,
    DaemonNotRunningError,
    SocketRefusedError,
    find_socket,
    read_endpoint,
)
from sessiond.client.dial import connect
from sessiond.paths import Locations, make_private
from support.homes import a_home


def listening(path: str, backlog: int = 8) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(backlog)
    return listener


def told(locations: Locations, **what: object) -> None:
    make_private(locations.state)
    Path(locations.endpoint).write_bytes(msgspec.json.encode(what))


def test_no_daemon_is_told_apart_and_none_is_started_unasked() -> None:
    with a_home() as locations, pytest.raises(DaemonNotRunningError):
        connect(locations, autostart=False)


def test_the_environment_can_forbid_to_start_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSIOND_NO_AUTOSTART", "1")
    with a_home() as locations, pytest.raises(DaemonNotRunningError):
        connect(locations)


def test_asking_for_a_daemon_that_does_not_run_makes_no_folder() -> None:
    with a_home() as locations:
        assert find_socket(locations, time.monotonic() + 1) is None
        assert list(Path(str(locations.home)).iterdir()) == []


def test_a_socket_that_nobody_listens_at_is_no_daemon() -> None:
    with a_home() as locations:
        make_private(locations.runtime)
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(locations.socket)
        assert find_socket(locations, time.monotonic() + 1) is None


def test_the_endpoint_leads_to_a_daemon_that_listens_elsewhere() -> None:
    with a_home() as locations:
        make_private(locations.runtime)
        elsewhere = f"{locations.runtime}/elsewhere.sock"
        told(locations, socket=elsewhere)
        with listening(elsewhere) as listener, connect(locations, autostart=False) as client:
            assert client.getblocking()
            listener.accept()[0].close()


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b"\xff\xfe", b'{"socket": 7}'])
def test_an_endpoint_that_cannot_be_read_is_passed_over(content: bytes) -> None:
    with a_home() as locations:
        make_private(locations.runtime)
        make_private(locations.state)
        Path(locations.endpoint).write_bytes(content)
        with listening(locations.socket), connect(locations, autostart=False):
            pass


def test_the_endpoint_of_a_dead_daemon_does_not_hide_its_successor() -> None:
    with a_home() as locations:
        make_private(locations.runtime)
        told(locations, socket=f"{locations.runtime}/gone.sock")
        with listening(locations.socket), connect(locations, autostart=False):
            pass


def test_a_full_queue_means_busy_and_never_absent() -> None:
    with a_home() as locations:
        make_private(locations.runtime)
        with listening(locations.socket, backlog=0), connect(locations, autostart=False):
            with pytest.raises(DaemonBusyError):
                find_socket(locations, time.monotonic() + 0.1)
            assert list(Path(locations.runtime).iterdir()) == [Path(locations.socket)]


def test_a_busy_daemon_is_waited_for() -> None:
    with a_home() as locations:
        make_private(locations.runtime)
        with listening(locations.socket, backlog=0) as listener, connect(locations, autostart=False):
            let_in: list[socket.socket] = []
            later = threading.Timer(0.1, lambda: let_in.append(listener.accept()[0]))
            later.start()
            second = find_socket(locations, time.monotonic() + 5)
            later.join()
            assert second is not None
            second.close()
            let_in[0].close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_the_socket_of_another_user_is_refused_before_a_word_is_said() -> None:
    with a_home() as locations:
        make_private(locations.runtime)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(locations.socket)
            os.seteuid(65_534)
            try:
                listener.listen(1)
            finally:
                os.seteuid(0)
            with pytest.raises(SocketRefusedError):
                connect(locations)


def test_a_notification_of_the_daemon_is_passed_on_unchanged() -> None:
    with a_home() as locations:
        told(locations, socket="/s", pid=7, later="unknown")
        assert read_endpoint(locations) == {"socket": "/s", "pid": 7, "later": "unknown"}
