"""A way to the daemon on which an answer is lost: the daemon does what it was asked, and nobody hears of it."""

import contextlib
import json  # noqa: TID251 - the endpoint as a reader has it
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from sessiond.paths import Locations


class LossyWay:
    """One client after the other goes this way, which the endpoint of the daemon names."""

    def __init__(self, listening: socket.socket, daemon: str) -> None:
        self._listening = listening
        self._daemon = daemon
        self._then: Callable[[], None] | None = None

    def lose_answer(self, then: Callable[[], None]) -> None:
        """With the next thing that the daemon says, which is not passed on, the way ends; first `then` is called."""
        self._then = then

    def carry(self) -> None:
        """Carry bytes both ways, for one client after the other, until nobody listens any more."""
        while self._listening.fileno() >= 0:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with client, socket.socket(socket.AF_UNIX) as daemon:
                daemon.connect(self._daemon)
                asking = threading.Thread(target=self._ask, args=(client, daemon))
                asking.start()
                self._answer(daemon, client)
                for each in (client, daemon):
                    with contextlib.suppress(OSError):  # its other end has gone
                        each.shutdown(socket.SHUT_RDWR)
                asking.join()

    def _ask(self, client: socket.socket, daemon: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while said := client.recv(1 << 16):
                daemon.sendall(said)
            daemon.shutdown(socket.SHUT_WR)

    def _answer(self, daemon: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while said := daemon.recv(1 << 16):
                if self._then is not None:
                    self._then()
                    self._listening.close()
                    return
                client.sendall(said)


@contextlib.contextmanager
def a_lossy_way(locations: Locations) -> Iterator[LossyWay]:
    """The endpoint of the daemon that runs names it from now on; the endpoint of the next one does not."""
    endpoint = Path(locations.endpoint)
    told = json.loads(endpoint.read_text(encoding="utf-8"))
    path = f"{locations.home}/lossy.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        endpoint.write_text(json.dumps({**told, "socket": path}), encoding="utf-8")
        way = LossyWay(listening, locations.socket)
        carrying = threading.Thread(target=way.carry)
        carrying.start()
        try:
            yield way
        finally:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            carrying.join()
