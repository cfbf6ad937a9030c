"""Real processes, started as people and editors start them."""

import _socket
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from sessiond.client.daemon_socket import DaemonStartError, read_endpoint
from sessiond.client.dial import connect
from sessiond.client.start import start
from sessiond.paths import Locations, make_private
from sessiond.server.process.lock import AnotherRuns, DaemonLock
from support.homes import a_home, a_stand_in, answers, environment, sessiond, wait_until

CLIENTS = 50
STATUS = b'{"jsonrpc":"2.0","id":1,"method":"server/status"}\n'
CLIENT = f"""
import socket
import sys
import time
from sessiond.client.dial import connect
from sessiond.paths import find_locations
sys.stdin.readline()
with connect(find_locations()) as daemon:
    daemon.sendall({STATUS!r})
    sys.stdout.buffer.write(socket.socket(fileno=daemon.detach()).makefile("rb").readline())
"""


def ask(client: _socket.socket) -> int:
    """The process id that the daemon at the other end gives."""
    client.settimeout(60)
    client.sendall(STATUS)
    reply = b""
    while not reply.endswith(b"\n"):
        reply += client.recv(65_536)
    return pid_in(reply)


def pid_in(reply: bytes) -> int:
    pid = msgspec.json.decode(reply)["result"]["pid"]
    assert isinstance(pid, int)
    return pid


def pid_of(locations: Locations) -> int:
    pid = read_endpoint(locations)["pid"]
    assert isinstance(pid, int)
    return pid


def nobody_runs(locations: Locations) -> bool:
    """Whether the lock is free, which is what counts; a dead process may stay in the table."""
    try:
        DaemonLock(locations.daemon_lock).release()
    except AnotherRuns:
        return False
    return True


def run(locations: Locations, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        sessiond(*words),
        env=environment(locations, **more),
        capture_output=True,
        encoding="utf-8",
        timeout=20,
        check=False,
    )


def test_fifty_clients_at_once_make_one_daemon_and_none_fails() -> None:
    with a_home() as locations:
        clients = [
            subprocess.Popen(
                [sys.executable, "-c", CLIENT],
                env=environment(locations),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for _ in range(CLIENTS)
        ]
        for client in clients:
            assert client.stdin is not None
            client.stdin.write(b"go\n")
            client.stdin.flush()
        replies = [client.communicate(timeout=30)[0] for client in clients]
        assert [client.returncode for client in clients] == [0] * CLIENTS
        assert {pid_in(reply) for reply in replies} == {pid_of(locations)}
        assert Path(locations.log).read_text(encoding="utf-8").count("listens at") == 1


def test_a_killed_daemon_is_followed_by_another() -> None:
    with a_home() as locations:
        with connect(locations) as client:
            first = ask(client)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: nobody_runs(locations))
        assert Path(locations.socket).is_socket()
        with connect(locations) as client:
            assert ask(client) not in (first, os.getpid())


def test_a_starter_that_is_killed_does_not_keep_others_from_starting() -> None:
    with a_home() as locations:
        with subprocess.Popen(
            [sys.executable, "-c", CLIENT], env=environment(locations), stdin=subprocess.PIPE
        ) as starter:
            assert starter.stdin is not None
            starter.stdin.write(b"go\n")
            starter.stdin.flush()
            wait_until(Path(locations.start_lock).exists)
            starter.kill()
        with connect(locations) as client:
            assert ask(client) == pid_of(locations)


def test_a_removed_socket_does_not_make_a_second_daemon() -> None:
    with a_home() as locations:
        with connect(locations) as client:
            first = ask(client)
        Path(locations.socket).unlink()
        with connect(locations) as client:
            assert ask(client) == first


def test_a_daemon_that_is_stopping_is_waited_for_and_followed() -> None:
    with a_home() as locations:
        with connect(locations) as client:
            first = ask(client)
        os.kill(first, signal.SIGTERM)
        wait_until(lambda: not Path(locations.socket).exists())
        with connect(locations) as client:
            assert ask(client) != first


def test_a_path_too_long_for_a_socket_still_gets_a_daemon(tmp_path: Path) -> None:
    home = tmp_path / ("x" * 120)
    told = subprocess.run(
        sessiond("serve", "--detach"), env={**os.environ, "SESSIOND_HOME": str(home)}, check=True, timeout=20
    )
    assert told.returncode == 0
    here = msgspec.json.decode((home / "state" / "endpoint.json").read_bytes())
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(here["socket"])
            assert ask(client) == here["pid"]
    finally:
        os.kill(here["pid"], signal.SIGTERM)
        wait_until(lambda: not Path(here["socket"]).exists())
        Path(here["socket"]).parent.rmdir()


def test_a_runtime_folder_that_cannot_be_used_is_the_reason_that_is_told() -> None:
    with a_home() as locations:
        Path(locations.runtime).write_text("a file", encoding="utf-8")
        with pytest.raises(DaemonStartError) as refused:
            connect(locations)
        assert refused.value.code == 73
        assert locations.runtime in str(refused.value)


def test_a_wrong_configuration_is_the_reason_that_is_told() -> None:
    with a_home() as locations:
        make_private(locations.config)
        Path(locations.config_file).write_text("[listen]\nidle_exitt = '1m'\n", encoding="utf-8")
        with pytest.raises(DaemonStartError) as refused:
            connect(locations)
        assert refused.value.code == 78
        assert "idle_exit is probably meant" in str(refused.value)


def test_a_lock_file_that_is_not_ours_is_the_reason_that_is_told_and_left_alone() -> None:
    with a_home() as locations:
        make_private(locations.state)
        Path(locations.daemon_lock).symlink_to("/etc/hostname")
        with pytest.raises(DaemonStartError) as refused:
            connect(locations)
        assert refused.value.code == 71
        assert Path(locations.daemon_lock).is_symlink()


@pytest.mark.parametrize("name", ["endpoint.json.new", "sessiond.log"])
def test_a_daemon_serves_without_a_file_that_it_only_tells_in(name: str) -> None:
    with a_home() as locations:
        make_private(f"{locations.state}/{name}")
        with connect(locations) as client:
            pid = ask(client)
        with connect(locations) as client:
            assert ask(client) == pid
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: nobody_runs(locations))


def test_a_lock_that_cannot_be_written_is_the_reason_that_is_told() -> None:
    with a_home() as locations:
        make_private(locations.start_lock)
        with pytest.raises(DaemonStartError) as refused:
            connect(locations)
        assert locations.state in str(refused.value)
        assert nobody_runs(locations)


def test_a_lock_that_nobody_listens_behind_is_the_reason_that_is_told_in_time() -> None:
    with a_home() as locations:
        make_private(locations.state)
        lock = DaemonLock(locations.daemon_lock)
        began = time.monotonic()
        with pytest.raises(DaemonStartError) as refused:
            start(locations, began + 10.0)
        assert locations.daemon_lock in str(refused.value)
        assert time.monotonic() - began < 60
        lock.release()


def test_the_daemon_holds_no_descriptor_of_its_starter() -> None:
    with a_home() as locations:
        piped = f"{' '.join(sessiond('serve', '--detach'))} 2>&1 | cat"
        subprocess.run(["/bin/sh", "-c", piped], env=environment(locations), check=True, timeout=10)
        assert pid_of(locations)


def test_the_daemon_takes_no_environment_of_its_starter_but_what_it_needs() -> None:
    with a_home() as locations:
        run(locations, "serve", "--detach", ANTHROPIC_API_KEY="not-to-be-seen", LC_ALL="C.UTF-8")
        inherited = Path(f"/proc/{pid_of(locations)}/environ").read_bytes().split(b"\0")
        assert b"LC_ALL=C.UTF-8" in inherited
        assert not [line for line in inherited if b"not-to-be-seen" in line]


def test_the_daemon_has_no_terminal_no_folder_and_no_parent_of_its_starter() -> None:
    with a_home() as locations:
        run(locations, "serve", "--detach")
        pid = pid_of(locations)
        assert Path(f"/proc/{pid}/cwd").readlink() == Path("/")
        assert os.getsid(pid) != os.getsid(0)
        assert f"PPid:\t{os.getpid()}\n" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")


def test_files_of_the_daemon_are_for_its_owner_only() -> None:
    with a_home() as locations:
        run(locations, "serve", "--detach")
        for path in (locations.state, locations.data, locations.runtime):
            assert stat.S_IMODE(Path(path).stat().st_mode) == 0o700
        for path in (
            locations.socket,
            locations.endpoint,
            locations.log,
            locations.daemon_lock,
            locations.start_lock,
        ):
            assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600


def test_a_second_daemon_says_who_runs_and_exits_with_75() -> None:
    with a_home() as locations, connect(locations):
        second = run(locations, "serve")
        assert second.returncode == 75
        assert str(pid_of(locations)) in second.stderr


def test_going_into_the_background_twice_is_no_error() -> None:
    with a_home() as locations:
        first, second = run(locations, "serve", "--detach"), run(locations, "serve", "--detach")
        assert (first.returncode, second.returncode) == (0, 0)
        assert first.stdout == second.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_daemon_in_order(number: signal.Signals) -> None:
    with a_home() as locations, a_stand_in(locations) as daemon:
        daemon.send_signal(number)
        assert daemon.wait(60) == 0
        assert not Path(locations.socket).exists()
        assert not Path(locations.endpoint).exists()
        assert Path(locations.daemon_lock).exists()


def test_a_daemon_without_clients_ends_by_itself() -> None:
    with a_home() as locations:
        make_private(locations.config)
        Path(locations.config_file).write_text('[listen]\nidle_exit = "1s"\n', encoding="utf-8")
        with a_stand_in(locations) as daemon:
            assert daemon.wait(60) == 0


def test_without_descriptors_clients_wait_and_the_log_stays_short() -> None:
    with a_home() as locations, a_stand_in(locations, descriptors=40):
        clients = [connect(locations, autostart=False) for _ in range(60)]
        refused = time.monotonic()
        wait_until(lambda: Path(locations.log).read_text(encoding="utf-8").count("for the moment") >= 4)
        assert time.monotonic() - refused > 0.4  # it pauses, and does not ask the system on and on
        for client in clients[:-1]:
            client.close()
        assert answers(clients[-1])
        clients[-1].close()
        assert Path(locations.log).read_text(encoding="utf-8").count("for the moment") <= 10


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_a_client_of_another_user_is_turned_away() -> None:
    stranger = (
        "import os,socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(1))"
    )
    with a_home() as locations, a_stand_in(locations):
        # The rights of the files would stop it before the daemon has to.
        Path(str(locations.home)).chmod(0o755)
        Path(locations.runtime).chmod(0o755)
        Path(locations.socket).chmod(0o666)
        told = subprocess.run(
            ["/usr/bin/env", "python3", "-c", stranger, locations.socket],
            user=65_534, capture_output=True, timeout=10, check=False,
        )  # fmt: skip
        assert told.stdout == b"b''\n"


def test_attach_carries_a_question_and_its_answer_and_starts_the_daemon() -> None:
    with a_home() as locations:
        told = subprocess.run(
            sessiond("attach", "--stdio"),
            input=STATUS,
            env=environment(locations),
            capture_output=True,
            timeout=20,
            check=True,
        )
        assert pid_in(told.stdout) == pid_of(locations)


def test_attach_says_that_the_daemon_went_away() -> None:
    with (
        a_home() as locations,
        subprocess.Popen(
            sessiond("attach", "--stdio"),
            env=environment(locations),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as attached,
    ):
        assert attached.stdin is not None
        assert attached.stdout is not None
        attached.stdin.write(STATUS)
        attached.stdin.flush()
        os.kill(pid_in(attached.stdout.readline()), signal.SIGKILL)
        assert attached.wait(60) == 1
        assert attached.stderr is not None
        assert attached.stderr.read()


def test_a_daemon_on_standard_input_listens_like_any_other_and_ends_with_its_input() -> None:
    with a_home() as locations:
        with subprocess.Popen(
            sessiond("serve", "--stdio"),
            env=environment(locations),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as daemon:
            assert daemon.stdin is not None
            assert daemon.stdout is not None
            daemon.stdin.write(STATUS)
            daemon.stdin.flush()
            assert pid_in(daemon.stdout.readline()) == daemon.pid
            with connect(locations, autostart=False) as another:
                assert ask(another) == daemon.pid
            daemon.stdin.close()
            assert daemon.wait(60) == 0
        assert nobody_runs(locations)


def test_standard_input_is_attached_to_a_daemon_that_runs_already() -> None:
    with a_home() as locations, connect(locations) as first:
        told = subprocess.run(
            sessiond("serve", "--stdio"),
            input=STATUS,
            env=environment(locations),
            capture_output=True,
            timeout=20,
            check=True,
        )
        assert pid_in(told.stdout) == ask(first)
