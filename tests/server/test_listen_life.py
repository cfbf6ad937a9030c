import asyncio
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from sessiond.paths import Locations, make_private
from sessiond.server.process import endpoint, lifecycle
from sessiond.server.process.lock import DaemonLock
from support.homes import a_home
from support.stand_in import StandIn

QUICK = lifecycle.Intervals(idle_exit=None, check=0.02, drain=0.2)


class Running:
    """A life in this process, with an echo for a server."""

    def __init__(self, locations: Locations, pace: lifecycle.Intervals) -> None:
        for folder in (locations.state, locations.runtime):
            make_private(folder)
        self.locations = locations
        self.server = StandIn()
        self.logs_reopened = 0
        self.stop: Callable[[], None]
        self.lock = DaemonLock(locations.daemon_lock)
        self._ready = asyncio.Event()
        self._life = asyncio.create_task(
            lifecycle.live(self.server, locations, self.lock, pace, self._is_ready, self._reopened)
        )

    async def ready(self) -> "Running":
        async with asyncio.timeout(5):
            await self._ready.wait()
        return self

    async def end(self) -> int:
        async with asyncio.timeout(5):
            status = await self._life
        self.lock.release()
        return status

    def _is_ready(self, stop: Callable[[], None]) -> None:
        self.stop = stop
        self._ready.set()

    def _reopened(self) -> None:
        self.logs_reopened += 1


async def running(locations: Locations, pace: lifecycle.Intervals = QUICK) -> Running:
    return await Running(locations, pace).ready()


async def a_client(locations: Locations) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_unix_connection(locations.socket)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - files change without telling
            await asyncio.sleep(0.005)


async def test_a_ready_daemon_says_where_it_listens_and_takes_that_back_at_the_end() -> None:
    with a_home() as locations:
        daemon = await running(locations)
        told = endpoint.read(locations.endpoint)
        assert told is not None
        assert (told.socket, told.epoch, told.pid) == (locations.socket, daemon.server.epoch, os.getpid())
        daemon.server.stopping.set()
        assert await daemon.end() == lifecycle.ENDED
        assert endpoint.read(locations.endpoint) is None
        assert not Path(locations.socket).exists()
        assert daemon.server.closed


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_in_order(number: signal.Signals) -> None:
    with a_home() as locations:
        daemon = await running(locations)
        os.kill(os.getpid(), number)
        assert await daemon.end() == lifecycle.ENDED
        assert daemon.server.closed


async def test_another_thread_may_ask_for_the_end() -> None:
    with a_home() as locations:
        daemon = await running(locations)
        await asyncio.to_thread(daemon.stop)
        assert await daemon.end() == lifecycle.ENDED


async def test_a_daemon_without_clients_ends_after_a_while() -> None:
    with a_home() as locations:
        daemon = await running(locations, lifecycle.Intervals(idle_exit=0.1))
        assert await daemon.end() == lifecycle.ENDED


async def test_a_client_keeps_the_daemon_and_its_leaving_starts_the_wait_anew() -> None:
    with a_home() as locations:
        daemon = await running(locations, lifecycle.Intervals(idle_exit=0.1))
        began = asyncio.get_running_loop().time()
        reader, writer = await a_client(locations)
        for _ in range(20):
            writer.write(b"x")
            assert await reader.read(1) == b"x"
            await asyncio.sleep(0.015)
        assert Path(locations.socket).exists()
        writer.close()
        assert await daemon.end() == lifecycle.ENDED
        assert asyncio.get_running_loop().time() - began > 0.3


async def test_lines_that_are_not_on_disk_yet_keep_the_daemon() -> None:
    with a_home() as locations:
        daemon = await running(locations, lifecycle.Intervals(idle_exit=0.05))
        daemon.server.dirty = True
        await asyncio.sleep(0.2)
        assert Path(locations.socket).exists()
        daemon.server.dirty = False
        assert await daemon.end() == lifecycle.ENDED


async def test_a_removed_socket_comes_back() -> None:
    with a_home() as locations:
        daemon = await running(locations)
        Path(locations.socket).unlink()
        await until(Path(locations.socket).is_socket)
        reader, writer = await a_client(locations)
        writer.write(b"x")
        assert await reader.read(1) == b"x"
        writer.close()
        daemon.stop()
        assert await daemon.end() == lifecycle.ENDED


async def test_a_removed_runtime_folder_and_endpoint_come_back() -> None:
    with a_home() as locations:
        daemon = await running(locations)
        Path(locations.socket).unlink()
        Path(locations.runtime).rmdir()
        Path(locations.endpoint).unlink()
        await until(
            lambda: endpoint.read(locations.endpoint) is not None and Path(locations.socket).is_socket()
        )
        daemon.stop()
        assert await daemon.end() == lifecycle.ENDED


async def test_a_hang_up_reopens_the_log_and_looks_after_the_socket_at_once() -> None:
    with a_home() as locations:
        daemon = await running(locations, lifecycle.Intervals(idle_exit=None))
        Path(locations.socket).unlink()
        os.kill(os.getpid(), signal.SIGHUP)
        await until(Path(locations.socket).is_socket)
        assert daemon.logs_reopened == 1
        daemon.stop()
        assert await daemon.end() == lifecycle.ENDED


async def test_a_daemon_gives_way_to_whoever_took_its_socket() -> None:
    with a_home() as locations:
        daemon = await running(locations)
        with socket.socket(socket.AF_UNIX) as another:
            another.bind(f"{locations.runtime}/x")
            Path(f"{locations.runtime}/x").rename(locations.socket)
            assert await daemon.end() == lifecycle.DISPLACED
        assert Path(locations.socket).is_socket()
        assert daemon.server.closed


async def test_a_daemon_without_its_lock_ends_and_leaves_the_endpoint_to_the_next() -> None:
    with a_home() as locations:
        daemon = await running(locations)
        Path(locations.daemon_lock).unlink()
        successor = DaemonLock(locations.daemon_lock)
        assert await daemon.end() == lifecycle.DISPLACED
        assert endpoint.read(locations.endpoint) is not None
        successor.release()


async def test_a_flush_that_does_not_end_is_given_up_and_told() -> None:
    with a_home() as locations:
        daemon = await running(locations)
        daemon.server.hangs_at_the_end = True
        daemon.stop()
        assert await daemon.end() == lifecycle.UNFINISHED


async def test_a_second_signal_does_not_wait_for_the_flush() -> None:
    with a_home() as locations:
        daemon = await running(locations, lifecycle.Intervals(idle_exit=None, drain=60))
        daemon.server.hangs_at_the_end = True
        os.kill(os.getpid(), signal.SIGTERM)
        await until(lambda: not Path(locations.socket).exists())
        os.kill(os.getpid(), signal.SIGTERM)
        assert await daemon.end() == lifecycle.UNFINISHED
