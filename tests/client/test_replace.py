"""One daemon makes room for another, with clients attached."""

import asyncio
import json  # noqa: TID251 - what a command prints is for any reader
import os
import subprocess
import threading
from pathlib import Path

import pytest

import sessiond
from campaigns.other_version import build, command as of_version
from sessiond.client import connect
from sessiond.client.blocking import connect as connect_blocking
from sessiond.client.daemon_socket import DaemonNotRunningError, VersionMismatchError, read_endpoint
from sessiond.client.dial import connect as dial
from sessiond.client.replace import replace_if_older, restart
from sessiond.client.wire import RpcError
from sessiond.paths import Locations
from support.homes import a_home, environment, sessiond as command
from support.patience import BOUND


def run(locations: Locations, words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, env=environment(locations), capture_output=True, encoding="utf-8", timeout=BOUND, check=False
    )


def start(locations: Locations, oldest: int, newest: int) -> None:
    """Have a daemon that speaks these versions."""
    told = run(locations, of_version(oldest, newest, "serve", "--detach"))
    assert told.returncode == 0, told.stderr
    assert read_endpoint(locations)["protocol"] == [oldest, newest]


def test_a_daemon_that_is_started_anew_is_another_one_with_the_same_sessions() -> None:
    with a_home() as locations:
        with connect_blocking(locations=locations) as daemon:
            daemon.call("session/create", {"cwd": "/w", "id": "atlas-one"})
            before = daemon.call("server/status")
        told = restart(locations)
        assert told is not None
        assert told["epoch"] == before["epoch"]
        with connect_blocking(locations=locations) as daemon:
            after = daemon.call("server/status")
            assert after["epoch"] != before["epoch"]
            assert (
                daemon.call("session/info", {"sessionId": "atlas-one"})["session"]["sessionId"] == "atlas-one"
            )


def test_a_restart_of_a_daemon_that_does_not_run_starts_it() -> None:
    with a_home() as locations:
        assert restart(locations) is None
        assert read_endpoint(locations)["build"] == sessiond.__version__


def test_restarts_at_the_same_time_leave_one_daemon() -> None:
    with a_home() as locations:
        restart(locations)
        threads = [threading.Thread(target=restart, args=(locations,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(BOUND)
        assert not any(thread.is_alive() for thread in threads)
        with dial(locations, autostart=False):
            pass


def test_the_command_restart_says_which_daemon_stands_in_place_of_which() -> None:
    with a_home() as locations:
        first = run(locations, command("restart"))
        pid = read_endpoint(locations)["pid"]
        assert (first.returncode, str(pid) in first.stdout) == (0, True)
        second = run(locations, command("restart", "--now", "--json"))
        told = json.loads(second.stdout)
        assert told["before"]["pid"] == pid
        assert told["after"] == read_endpoint(locations)


def test_a_newer_client_has_an_older_daemon_make_room_and_starts_its_own() -> None:
    with a_home() as locations:
        with connect_blocking(locations=locations) as daemon:
            daemon.call("session/create", {"cwd": "/w", "id": "atlas-one"})
        told = run(locations, of_version(2, 3, "show", "atlas-one", "--json"))
        assert told.returncode == 0, told.stderr
        assert (read_endpoint(locations)["build"], read_endpoint(locations)["protocol"]) == (build(3), [2, 3])
        run(locations, command("stop"))


def test_an_older_client_says_what_both_sides_speak_and_leaves_the_daemon_alone() -> None:
    with a_home() as locations:
        start(locations, 2, 3)
        there = read_endpoint(locations)
        told = run(locations, command("list"))
        assert told.returncode == 69
        assert "versions 2 to 3" in told.stderr
        assert "version 1." in told.stderr
        assert read_endpoint(locations) == there
        with pytest.raises(VersionMismatchError):
            replace_if_older(locations)
        run(locations, command("stop"))


def test_a_daemon_that_shares_a_version_and_is_not_older_is_used_as_it_is() -> None:
    with a_home() as locations:
        start(locations, 1, 2)
        there = read_endpoint(locations)
        assert run(locations, command("list")).returncode == 0
        assert run(locations, of_version(1, 2, "list")).returncode == 0
        assert read_endpoint(locations) == there
        run(locations, command("stop"))


def test_a_program_that_may_not_start_a_daemon_is_told_to_have_it_started_anew() -> None:
    with a_home() as locations:
        restart(locations)
        there = read_endpoint(locations)
        told = subprocess.run(
            of_version(2, 2, "list"), env=environment(locations, SESSIOND_NO_AUTOSTART="1"),
            capture_output=True, encoding="utf-8", timeout=BOUND, check=False,
        )  # fmt: skip
        assert told.returncode == 69
        assert "sessiond restart" in told.stderr
        assert read_endpoint(locations) == there


def test_versions_in_the_endpoint_file_are_not_believed_before_a_daemon_is_ended() -> None:
    """A daemon that died may have left it, while its successor is about to write its own."""
    with a_home() as locations:
        restart(locations)
        there = read_endpoint(locations)
        Path(locations.endpoint).write_text(json.dumps({**there, "protocol": [0, 0]}), encoding="utf-8")
        with replace_if_older(locations):
            pass
        os.kill(there["pid"], 0)
        with connect_blocking(locations=locations) as daemon:
            assert daemon.call("server/status")["epoch"] == there["epoch"]


def test_status_and_stop_reach_a_daemon_of_any_version() -> None:
    with a_home() as locations:
        start(locations, 7, 9)
        assert run(locations, command("status")).returncode == 0
        assert run(locations, command("stop")).returncode == 0
        with pytest.raises(DaemonNotRunningError):
            dial(locations, autostart=False)


async def test_writes_and_subscriptions_of_an_attached_client_go_on_over_a_restart() -> None:
    with a_home() as locations:
        async with connect(locations=locations) as daemon, connect(locations=locations) as writer:
            session = (await daemon.create("/w", id="atlas-one")).session.session_id
            seen: list[int] = []

            async def write() -> None:
                for n in range(60):
                    await writer.append(session, [{"type": "custom", "customType": "n", "data": n}])
                    if n in (10, 40):
                        await asyncio.to_thread(restart, locations)
                    await writer.rename(session, f"{n}")

            async with daemon.subscribe(session, after=0) as news, asyncio.timeout(BOUND):
                writing = asyncio.create_task(write())
                async for entry in news:
                    if entry["type"] == "custom":
                        seen.append(entry["data"])
                    if len(seen) == 60:
                        break
                await writing
            assert seen == list(range(60))


async def test_a_subscription_ends_in_a_clear_error_when_the_next_daemon_is_too_new() -> None:
    with a_home() as locations:
        async with connect(locations=locations) as daemon:
            await daemon.create("/w", id="atlas-one")
            async with daemon.subscribe("atlas-one", after=0) as news, asyncio.timeout(BOUND):
                await asyncio.to_thread(run, locations, of_version(2, 2, "list"))
                with pytest.raises((VersionMismatchError, RpcError)) as refused:
                    await anext(news)
                assert "version 2" in str(refused.value)
        run(locations, command("stop"))


def test_a_write_that_a_leaving_daemon_refuses_is_done_by_the_next_one() -> None:
    with a_home() as locations, connect_blocking(locations=locations) as daemon:
        daemon.call("session/create", {"cwd": "/w", "id": "atlas-one"})
        with connect_blocking(locations=locations) as another:
            # While this request waits for room, the daemon takes no writes but has not ended.
            another.call("server/drain", {"timeoutMs": 300})
            entry = {"type": "custom", "customType": "n", "data": 1}
            assert (
                daemon.call("session/append", {"sessionId": "atlas-one", "entries": [entry]})["lastSeq"] == 1
            )
        assert daemon.call("server/status")["draining"] is False
