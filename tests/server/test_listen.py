import asyncio
import socket
import stat
from pathlib import Path

import pytest

from sessiond.paths import make_private
from sessiond.server.listeners.unix_socket import CannotListen, UnixListener
from support.homes import a_home


def open_connection(path: str) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(1)
    client.connect(path)
    return client


class Accepting:
    """A listener in a folder of its own, and who was let in."""

    def __init__(self, folder: str) -> None:
        make_private(folder)
        self.path = f"{folder}/sessiond.sock"
        self.inside: list[socket.socket] = []
        self.listener = UnixListener(self.path, self.inside.append)

    async def let_in(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.inside) < count:  # noqa: ASYNC110 - let_in is not told of this loop
                await asyncio.sleep(0.001)

    def close(self) -> None:
        self.listener.close()
        for client in self.inside:
            client.close()


async def test_a_client_is_let_in_and_its_socket_does_not_block() -> None:
    with a_home() as locations:
        listener = Accepting(locations.runtime)
        with open_connection(listener.path):
            await listener.let_in(1)
        assert not listener.inside[0].getblocking()
        listener.close()


async def test_the_socket_is_for_its_owner_only_and_nothing_else_is_left_beside_it() -> None:
    with a_home() as locations:
        listener = Accepting(locations.runtime)
        assert stat.S_IMODE(Path(listener.path).stat().st_mode) == 0o600
        assert [file.name for file in Path(locations.runtime).iterdir()] == ["sessiond.sock"]
        listener.close()
        assert not Path(listener.path).exists()


async def test_the_socket_of_a_killed_daemon_is_replaced() -> None:
    with a_home() as locations:
        make_private(locations.runtime)
        for name in (locations.socket, f"{locations.runtime}/.binding"):
            with socket.socket(socket.AF_UNIX) as dead:
                dead.bind(name)
        listener = Accepting(locations.runtime)
        with open_connection(listener.path):
            await listener.let_in(1)
        listener.close()


async def test_a_removed_path_is_noticed_and_can_be_bound_again() -> None:
    with a_home() as locations:
        listener = Accepting(locations.runtime)
        seen = [listener.listener.path_state()]
        with open_connection(listener.path):
            Path(listener.path).unlink()
            seen.append(listener.listener.path_state())
            listener.listener.bind_again()
            seen.append(listener.listener.path_state())
            with open_connection(listener.path):
                await listener.let_in(2)
        assert seen == ["ours", "missing", "ours"]
        listener.close()


async def test_the_socket_of_another_is_noticed_and_not_removed() -> None:
    with a_home() as locations:
        listener = Accepting(locations.runtime)
        Path(listener.path).unlink()
        with socket.socket(socket.AF_UNIX) as another:
            another.bind(listener.path)
            assert listener.listener.path_state() == "foreign"
            listener.close()
            assert Path(listener.path).is_socket()


async def test_a_listener_leaves_when_nobody_is_waiting() -> None:
    with a_home() as locations:
        listener = Accepting(locations.runtime)
        assert listener.listener.close_if_unused()
        assert not Path(listener.path).exists()


async def test_a_listener_stays_for_whoever_came_at_the_last_moment() -> None:
    with a_home() as locations:
        listener = Accepting(locations.runtime)
        with open_connection(listener.path):
            assert not listener.listener.close_if_unused()
            assert len(listener.inside) == 1
        with open_connection(listener.path):
            await listener.let_in(2)
        listener.close()


async def test_a_listener_stays_for_whoever_came_while_its_path_was_removed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with a_home() as locations:
        listener = Accepting(locations.runtime)
        late: list[socket.socket] = []
        unlink = Path.unlink

        def unlink_too_late(path: Path, **more: bool) -> None:
            if not late and path == Path(listener.path):
                late.append(open_connection(listener.path))
            unlink(path, **more)

        # The moment is too short to hit it from outside.
        monkeypatch.setattr(Path, "unlink", unlink_too_late)
        assert not listener.listener.close_if_unused()
        assert len(listener.inside) == 1
        assert listener.listener.path_state() == "ours"
        late[0].close()
        listener.close()


async def test_a_folder_that_is_not_there_is_an_error() -> None:
    with a_home() as locations, pytest.raises(CannotListen):
        UnixListener(locations.socket, lambda client: client.close())


async def test_four_hundred_clients_at_once_are_all_let_in() -> None:
    with a_home() as locations:
        listener = Accepting(locations.runtime)
        clients = [open_connection(listener.path) for _ in range(400)]
        await listener.let_in(400)
        for client in clients:
            client.close()
        listener.close()
