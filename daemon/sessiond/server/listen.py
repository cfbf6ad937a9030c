"""The socket that clients knock at: how its path comes and goes, and the loop that lets them in.

asyncio's own server is not used: it takes the path of a socket that is alive, and floods the log when
descriptors run out. Nothing here knows what a client says.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from sessiond.rpc.peer import peer_uid

_BACKLOG: Final = 1024
_AT_ONCE: Final = 64  # clients let in before the loop gets to serve those that are in
_PAUSE: Final = 0.2  # seconds without accepting after the system refused

log = logging.getLogger(__name__)


class CannotListen(Exception):
    """The daemon cannot be reached by way of {path}: {reason}."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"The daemon cannot be reached by way of {path}: {reason}.")
        self.path = path


class Listener:
    """A listening unix socket at `path`, open from the start; each client goes to `let_in`, non-blocking.

    Needs the daemon's lock, since it replaces whatever is at `path`. Raises `CannotListen`.
    """

    def __init__(self, path: str, let_in: Callable[[socket.socket], None]) -> None:
        self.path = path
        self.accepted = 0  # clients, ever
        self._let_in = let_in
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._listening, self._identity = _bound(path)
        self._loop.add_reader(self._listening, self._accept)

    def look(self) -> Literal["ours", "missing", "foreign"]:
        """See what is at the path now."""
        try:
            found = Path(self.path).lstat()
        except FileNotFoundError:
            return "missing"
        except OSError:
            return "foreign"
        return "ours" if (found.st_dev, found.st_ino) == self._identity else "foreign"

    def bind_again(self) -> None:
        """Put a new socket where the old one was. Whoever had reached the old one is let in first."""
        self._accept()
        listening, identity = _bound(self.path)
        self._stop_accepting()
        self._listening.close()
        self._listening, self._identity = listening, identity
        self._loop.add_reader(self._listening, self._accept)

    def leave_unless_wanted(self) -> bool:
        """Close, but only if nobody is at the door; False when somebody was, and is in now.

        The path goes first. Then nobody new can come, so a second empty look at the queue means that no one
        is lost.
        """
        if self._accept():
            return False
        self._remove_path()
        if self._accept():
            self.bind_again()
            return False
        self.close()
        return True

    def close(self) -> None:
        """Take the path away, if it is ours, and close. Whoever waits in the queue is cut off.

        May be called again.
        """
        if self._listening.fileno() < 0:
            return
        self._remove_path()
        self._stop_accepting()
        self._listening.close()

    def _accept(self) -> bool:
        """Let in who waits; False when nobody does."""
        before = self.accepted
        while self.accepted - before < _AT_ONCE:
            try:
                client, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                break
            except ConnectionAbortedError:
                continue
            except OSError as error:
                # Out of descriptors or memory: the client stays in the queue, and asking on would only burn
                # a core.
                log.warning("No client can be let in for now: %s", error)
                self._stop_accepting()
                self._pause = self._loop.call_later(_PAUSE, self._accept_again)
                break
            self.accepted += 1
            self._check_and_let_in(client)
        return self.accepted > before

    def _check_and_let_in(self, client: socket.socket) -> None:
        try:
            uid = peer_uid(client)
        except OSError:
            client.close()
            return
        if uid != os.geteuid():
            log.warning("A client of user id %d was turned away", uid)
            client.close()
            return
        client.setblocking(False)
        self._let_in(client)

    def _accept_again(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listening, self._accept)

    def _stop_accepting(self) -> None:
        self._loop.remove_reader(self._listening)
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None

    def _remove_path(self) -> None:
        if self.look() == "ours":
            Path(self.path).unlink(missing_ok=True)


def _bound(path: str) -> tuple[socket.socket, tuple[int, int]]:
    # The path must never name a socket that does not listen, so a name of its own comes first; it is
    # shorter than the last one, and there is only one, because the daemon's lock is held. The rights are
    # set before the rename and not by umask, which all threads share; the folder lets nobody in meanwhile.
    temporary = Path(path).with_name(".binding")
    temporary.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.setblocking(False)
        listening.bind(str(temporary))
        temporary.chmod(0o600)
        listening.listen(_BACKLOG)
        found = temporary.lstat()
        temporary.rename(path)
    except OSError as error:
        listening.close()
        raise CannotListen(path, error.strerror or str(error)) from error
    return listening, (found.st_dev, found.st_ino)
