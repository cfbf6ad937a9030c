"""A daemon of an older sessiond: the process of a daemon, which responds as one of `tests/data/older_daemons` did.

`python -m support.older_daemon FILE` runs it in the foreground. It knows no session: of the requests of a newer client,
it refuses each that is not about the daemon itself.
"""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

import sessiond
from sessiond.config import Config
from sessiond.paths import Locations
from sessiond.rpc.framing import Framer, encode_frame
from sessiond.server.process import main
from support.homes import TESTS, a_ready_process
from support.stand_in import StandIn

RECORDED = TESTS / "data" / "older_daemons"
SESSION = "0b65c411-271b-402a-968d-d3fffdd2d94b"
"""The session of the recorded home, with the entries `QUESTION` and `ANSWER`."""
QUESTION, ANSWER = "e3889704", "5262949f"
DELETED = "51c9125a-6d1a-4e9c-84ae-95a31cb16118"
"""The session in the trash of that home."""


@contextlib.contextmanager
def an_older_daemon(locations: Locations, recorded: str) -> Iterator[subprocess.Popen[str]]:
    """The daemon of a recording, ready, in a copy of the home of 0.1.0."""
    assert locations.home is not None
    shutil.copytree(RECORDED / "home-0.1.0", locations.home, dirs_exist_ok=True)
    command = [sys.executable, "-m", "support.older_daemon", str(RECORDED / recorded)]
    with a_ready_process(command, locations) as process:
        yield process


class OlderDaemon(StandIn):
    """Responds as recorded, and ends when a client requests it."""

    def __init__(self, recorded: dict[str, Any]) -> None:
        super().__init__()
        self._recorded = recorded
        self._attached = 0

    async def _echo(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._attached += 1
        framer = Framer()
        try:
            with sock, contextlib.suppress(ConnectionError):
                while data := await loop.sock_recv(sock, 65_536):
                    for body in framer.feed(data):
                        message = msgspec.json.decode(body)
                        if "id" not in message:
                            continue
                        outcome = self._outcome(message["method"], message.get("params") or {})
                        response = msgspec.json.encode({"jsonrpc": "2.0", "id": message["id"], **outcome})
                        await loop.sock_sendall(sock, encode_frame(response, framer.mode or "jsonLines"))
        finally:
            self._attached -= 1

    def _outcome(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        own: dict[str, Any] = self._recorded.get(method, {})
        if method == "server/status":
            result = dict(own["result"])
            count = "clientCount" if "clientCount" in result else "clients"
            return {"result": {**result, count: self._attached, "pid": os.getpid()}}
        if method == "server/stop" or (
            method == "server/drain" and set(params) <= {*self._recorded["drainParams"]}
        ):
            self.stopping.set()
            return {"result": {"pid": os.getpid(), "epoch": self.epoch}}
        if method == "server/drain":
            message = "server/drain: unknown parameter `note`."
            return {"error": {"code": -32602, "message": message, "data": {"kind": "invalidParams"}}}
        return own or self._recorded["refusal"]


async def build(locations: Locations, config: Config) -> OlderDaemon:
    recorded: dict[str, Any] = msgspec.json.decode(Path(sys.argv[1]).read_bytes())
    return OlderDaemon(recorded)


if __name__ == "__main__":
    sessiond.__version__ = "0.1.0"
    sys.exit(main.run(lambda stop: print("READY", flush=True), build=build))
