"""The record of the process that runs a session, and the private socket on which that process accepts other clients.

For each running session there is a lock and a socket in the runtime folder, which only its owner can access. The lock
is held while the process runs, so a session runs in one agent at a time, and what a killed process left is recognized.
"""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from sessiond.acp.streams import READ_BYTES, LinePeer
from sessiond.session.content import fields

_PREFIX: Final = "acp-"
_LOCK: Final = ".lock"
_DIGITS: Final = 9
"""Digits of the digest in a name. The path must not be longer than that of the daemon's socket."""
CONNECT_SECONDS: Final = 5.0
"""Time that a process has between taking the lock and listening."""

Serve = Callable[[str, LinePeer], Awaitable[None]]


class SharedSessions:
    """The sessions that run in this process.

    Args:
        runtime: The folder of the daemon's socket.
        agent: The name of the agent.
        serve: Serves a client that connects, for the session with this id.
    """

    def __init__(self, runtime: str, agent: str, serve: Serve) -> None:
        self._runtime = runtime
        self._agent = agent
        self._serve = serve
        self._locks: dict[str, int] = {}
        self._servers: dict[str, asyncio.AbstractServer] = {}

    def claim(self, session_id: str) -> bool:
        """Take the lock of a session. Returns False if another process has it."""
        if session_id in self._locks:
            return True
        try:
            file = _locked(self._path(session_id) + _LOCK)
        except OSError:
            return True  # without a runtime folder, no session is shared
        if file is None:
            return False
        self._locks[session_id] = file
        return True

    def tidy(self) -> None:
        """Remove the locks and sockets of processes that were killed."""
        with contextlib.suppress(OSError):
            for lock in Path(self._runtime).glob(f"{_PREFIX}*{_LOCK}"):
                file = _locked(str(lock))
                if file is not None:
                    lock.with_suffix("").unlink(missing_ok=True)
                    lock.unlink()
                    os.close(file)

    async def listen(self, session_id: str) -> None:
        """Take clients for a session whose lock this process has."""
        if session_id not in self._locks or session_id in self._servers:
            return

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._serve(session_id, LinePeer("An attached client", reader, writer))

        path = self._path(session_id)
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108 - left by a process that was killed
            server = await asyncio.start_unix_server(connected, path, limit=READ_BYTES)
            os.chmod(path, 0o600)  # noqa: PTH101
            if session_id in self._locks:
                self._servers[session_id] = server
            else:
                server.close()

    def release(self, session_id: str) -> None:
        """Stop accepting clients, and release the lock."""
        path = self._path(session_id)
        if (server := self._servers.pop(session_id, None)) is not None:
            server.close()
            with contextlib.suppress(OSError):
                os.unlink(path)  # noqa: PTH108
        if (file := self._locks.pop(session_id, None)) is not None:
            with contextlib.suppress(OSError):
                os.unlink(path + _LOCK)  # noqa: PTH108
            os.close(file)

    def close(self) -> None:
        """Release all sessions."""
        for session_id in list(self._locks):
            self.release(session_id)

    async def connect(self, session_id: str) -> LinePeer | None:
        """Connect to the process that runs a session; None if it does not take clients in time."""
        deadline = asyncio.get_running_loop().time() + CONNECT_SECONDS
        while asyncio.get_running_loop().time() < deadline:
            with contextlib.suppress(OSError):
                streams = await asyncio.open_unix_connection(self._path(session_id), limit=READ_BYTES)
                return LinePeer("The process that runs the session", *streams)
            await asyncio.sleep(0.05)
        return None

    def _path(self, session_id: str) -> str:
        digest = fields.digest(self._agent, session_id)
        return f"{self._runtime}/{_PREFIX}{digest[:_DIGITS]}"


def _locked(path: str) -> int | None:
    """Open or create a file, and lock it. Returns None if another process has it. Raises `OSError`."""
    while True:
        file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(file)
            return None
        if _is_at(file, path):
            return file
        os.close(file)  # its last owner has removed the file meanwhile


def _is_at(file: int, path: str) -> bool:
    try:
        there, here = os.stat(path, follow_symlinks=False), os.fstat(file)  # noqa: PTH116
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)
