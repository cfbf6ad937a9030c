"""A daemon that a service manager starts: with a socket that is not its own, and somebody to report to."""

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.client.blocking import BlockingDaemon, connect
from sessiond.client.daemon_socket import DaemonConnectionError, read_endpoint
from sessiond.paths import Locations, make_private
from sessiond.server.listeners import activation
from sessiond.server.process.lifecycle import DISPLACED
from support.homes import a_home, environment, sessiond, wait_until
from support.manager import given, listening_at
from support.patience import BOUND


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that come before the daemon wait for as long as its start takes, on a machine with other things to do."""
    monkeypatch.setattr("sessiond.client.blocking.SILENCE_SECONDS", BOUND)


@contextlib.contextmanager
def started(locations: Locations, listening: socket.socket, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon that was given this socket; it need not be ready."""
    number = listening.fileno()
    with subprocess.Popen(
        given(sessiond("serve"), number), pass_fds=(number,), env=environment(locations, **more),
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as daemon:  # fmt: skip
        try:
            yield daemon
        finally:
            daemon.kill()


@contextlib.contextmanager
def managed() -> Iterator[tuple[Locations, socket.socket]]:
    with a_home() as locations:
        for folder in (locations.state, locations.runtime):
            make_private(folder)
        with listening_at(locations.socket) as listening:
            yield locations, listening


def ended(daemon: subprocess.Popen[bytes]) -> tuple[int, str]:
    _, said = daemon.communicate(timeout=BOUND)
    return daemon.returncode, said.decode()


def test_a_client_that_came_before_the_daemon_is_served_and_the_socket_outlives_it() -> None:
    with managed() as (locations, listening):
        # Both wait in the socket of the manager, one for each daemon.
        for _ in range(2):
            there = Path(locations.socket).stat().st_ino
            with (
                connect(autostart=False, locations=locations) as client,
                started(locations, listening) as daemon,
            ):
                told = client.call("server/status")
                assert (told["pid"], told["socket"]) == (daemon.pid, locations.socket)
                client.call("server/stop")
                assert ended(daemon)[0] == 0
            assert Path(locations.socket).stat().st_ino == there
            assert not Path(locations.endpoint).exists()


def test_the_socket_is_not_passed_on_to_children_of_the_daemon() -> None:
    with managed() as (locations, listening), started(locations, listening) as daemon:
        with connect(autostart=False, locations=locations) as client:
            client.call("server/status")
        flags = Path(f"/proc/{daemon.pid}/fdinfo/3").read_text(encoding="utf-8").split("flags:")[1].split()[0]
        assert int(flags, 8) & os.O_CLOEXEC


def test_a_path_that_was_removed_comes_back_as_a_socket_of_the_daemon() -> None:
    with managed() as (locations, listening), started(locations, listening):
        with connect(autostart=False, locations=locations) as client:
            client.call("server/status")
            pid = read_endpoint(locations)["pid"]
            Path(locations.socket).unlink()
            os.kill(pid, 1)
            wait_until(Path(locations.socket).exists, BOUND)
        with connect(autostart=False, locations=locations) as client:
            assert client.call("server/status")["pid"] == pid


def test_a_daemon_of_its_own_gives_way_to_the_one_that_the_manager_starts() -> None:
    with a_home() as locations:
        own = subprocess.Popen(
            sessiond("serve"), env=environment(locations), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        with own:
            wait_until(Path(locations.endpoint).exists, BOUND)
            with connect(autostart=False, locations=locations) as client:
                client.call("session/create", {"cwd": "/w", "id": "atlas-one"})
            with listening_at(locations.socket) as listening, started(locations, listening) as daemon:
                with connect(autostart=False, locations=locations) as client:
                    assert client.call("server/status")["pid"] == daemon.pid
                    client.call("session/info", {"sessionId": "atlas-one"})
                assert ended(own)[0] == DISPLACED


@pytest.mark.parametrize("kind", ["datagram", "deaf", "closed"])
def test_a_descriptor_that_is_no_listening_socket_is_refused_with_the_reason(kind: str) -> None:
    with a_home() as locations, contextlib.ExitStack() as stack:
        if kind == "closed":
            numbers: tuple[int, ...] = ()
            words = [
                "/usr/bin/env",
                "LISTEN_FDS=1",
                "sh",
                "-c",
                'exec 3>&-; LISTEN_PID=$$ exec "$@"',
                "sh",
                *sessiond("serve"),
            ]
        else:
            kind_of = socket.SOCK_DGRAM if kind == "datagram" else socket.SOCK_STREAM
            given_one = stack.enter_context(socket.socket(socket.AF_UNIX, kind_of))
            given_one.bind(f"{locations.home}/it")
            numbers = (given_one.fileno(),)
            words = given(sessiond("serve"), given_one.fileno())
        told = subprocess.run(
            words,
            pass_fds=numbers,
            env=environment(locations),
            capture_output=True,
            timeout=BOUND,
            check=False,
        )
        assert told.returncode == 73
        assert b"sessiond install-service" in told.stderr


def test_sockets_for_another_process_are_not_taken() -> None:
    environ = {"LISTEN_PID": str(os.getpid() + 1), "LISTEN_FDS": "1"}
    assert activation.inherited(environ) is None
    assert environ["LISTEN_FDS"] == "1"


@pytest.mark.parametrize("count", ["", "0", "-1", "1000", "x"])
def test_a_count_of_sockets_that_cannot_be_is_refused(count: str) -> None:
    with pytest.raises(activation.BadActivation):
        activation.inherited({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": count})


@pytest.mark.parametrize("abstract", [False, True])
def test_systemd_is_told_of_the_beginning_the_end_and_life_between(abstract: bool) -> None:
    with managed() as (locations, listening), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        name = f"{locations.home}/notify"
        heard.bind(f"\0{name}" if abstract else name)
        heard.settimeout(BOUND)
        # Ten unread messages may be all that the system keeps, and what is more gets lost: not too often, then.
        more = {"NOTIFY_SOCKET": f"@{name}" if abstract else name, "WATCHDOG_USEC": "2000000"}
        with started(locations, listening, **more) as daemon:
            assert heard.recv(4096).startswith(b"READY=1\n")
            assert [heard.recv(4096) for _ in range(3)] == [b"WATCHDOG=1"] * 3
            daemon.terminate()
            while (said := heard.recv(4096)) == b"WATCHDOG=1":
                pass
            assert said.startswith(b"STOPPING=1\n")
            assert ended(daemon)[0] == 0


def test_a_daemon_does_not_steal_the_path_from_a_manager_that_listens() -> None:
    with managed() as (locations, _listening):
        told = subprocess.run(
            sessiond("serve"), env=environment(locations), capture_output=True, timeout=BOUND, check=False
        )
        assert told.returncode == 73
        assert b"systemctl --user start" in told.stderr


def the_first_connection(locations: Locations) -> BlockingDaemon:
    """A connection as soon as something listens, which is some time after its path is there."""
    made: list[BlockingDaemon] = []

    def is_made() -> bool:
        with contextlib.suppress(DaemonConnectionError):
            made.append(connect(autostart=False, locations=locations))
        return bool(made)

    wait_until(is_made, BOUND)
    return made[0]


@pytest.mark.skipif(sys.platform != "linux", reason="systemd is of Linux")
@pytest.mark.system
def test_systemd_itself_starts_the_daemon_for_the_first_who_comes() -> None:
    with a_home() as locations:
        for folder in (locations.state, locations.runtime):
            make_private(folder)
        with subprocess.Popen(
            ["systemd-socket-activate", "-l", locations.socket, "--fdname=sessiond", "-E", "SESSIOND_HOME",
             *sessiond("serve")],
            env=environment(locations), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ) as daemon:  # fmt: skip
            with the_first_connection(locations) as client:
                assert client.call("server/status")["pid"] == daemon.pid
                client.call("server/stop")
            assert daemon.wait(BOUND) == 0
