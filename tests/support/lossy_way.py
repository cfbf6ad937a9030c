"""A connection that loses an answer: the daemon executes the request, and no client receives the answer."""

import contextlib
import json  # noqa: TID251 - the endpoint as a reader has it
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from sessiond.paths import Locations


class LossyWay:
    """A proxy that the endpoint of the daemon names. It serves one client after the other."""

    def __init__(self, listening: socket.socket, daemon: str) -> None:
        self._listening = listening
        self._daemon = daemon
        self._then: Callable[[], None] | None = None

    def lose_answer(self, then: Callable[[], None]) -> None:
        """At the next message of the daemon, call `then`, and close the connection without passing the message on."""
        self._then = then

    def carry(self) -> None:
        """Pass bytes in both directions, for one client after the other, until the socket is closed."""
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
                    with contextlib.suppress(OSError):  # the other end has closed the connection
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
    """Write the proxy into the endpoint of the running daemon. The next daemon writes its own endpoint."""
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
