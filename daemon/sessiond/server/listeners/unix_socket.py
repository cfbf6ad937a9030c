"""The Unix socket listener: creates and removes its path, and accepts clients.

asyncio's server is not used: it replaces the path of a socket that is in use, and floods the log when file descriptors
run out. This module does not read from clients.
"""

import asyncio
import logging
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from sessiond.error_text import TemplatedError
from sessiond.rpc.peer import peer_uid

_BACKLOG: Final = 1024  # connections in the queue of the socket
_AT_ONCE: Final = 64  # clients accepted in one turn of the event loop
_PAUSE_SECONDS: Final = 0.2  # seconds without accepting after an error
_ACCEPTS: Final = 1 << 16  # __SO_ACCEPTCON in the flags of /proc/net/unix

log = logging.getLogger(__name__)


class CannotListen(TemplatedError):
    """Raised when a listener cannot be opened."""

    sentence = "Cannot listen at {path}: {reason}."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path=path, reason=reason)
        self.path = path


class UnixListener:
    """A listening Unix socket, open from the start.

    It replaces a stale socket at the path, so the caller must hold the daemon's lock.

    Args:
        path: The path of the socket.
        on_client: Called with each accepted, non-blocking socket of this user.
        inherited: A socket of the service manager. It is used instead of `path`, and its path is not removed.

    Raises:
        CannotListen: The socket cannot be opened.

    """

    def __init__(
        self, path: str, on_client: Callable[[socket.socket], None], inherited: socket.socket | None = None
    ) -> None:
        self.path = path
        self.accepted = 0  # number of clients accepted so far
        self._on_client = on_client
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._is_own = inherited is None
        if inherited is None:
            _refuse_if_taken(path)
            self._listening, self._identity = _bound(path)
        else:
            self.path = str(inherited.getsockname())
            self._listening, self._identity = inherited, _identity(self.path)
        self._loop.add_reader(self._listening, self._accept)

    def path_state(self) -> Literal["ours", "missing", "foreign"]:
        """Return whether the path has the socket of this listener, nothing, or another file."""
        try:
            found = Path(self.path).lstat()
        except FileNotFoundError:
            return "missing"
        except OSError:
            return "foreign"
        return "ours" if (found.st_dev, found.st_ino) == self._identity else "foreign"

    def bind_again(self) -> None:
        """Create a new socket at the path. Clients in the queue of the old socket are accepted first."""
        self._is_own = True
        self._accept()
        listening, identity = _bound(self.path)
        self._stop_accepting()
        self._listening.close()
        self._listening, self._identity = listening, identity
        self._loop.add_reader(self._listening, self._accept)

    def close_if_unused(self) -> bool:
        """Close if no client waits to be accepted. Otherwise accept it and return False.

        The path is removed first. No client can connect after that, so an empty queue then means that none is lost.
        """
        if self._accept():
            return False
        if self._is_own:
            self._remove_path()
            if self._accept():
                self.bind_again()
                return False
        self.close()
        return True

    def close(self) -> None:
        """Remove the path if it is ours, and close. Clients in the queue are disconnected.

        With a socket of the service manager, they wait for the next daemon. Further calls have no effect.
        """
        if self._listening.fileno() < 0:
            return
        if self._is_own:
            self._remove_path()
        self._stop_accepting()
        self._listening.close()

    def _accept(self) -> bool:
        """Accept waiting clients. Returns False if there are none."""
        before = self.accepted
        while self.accepted - before < _AT_ONCE:
            try:
                client, _ = self._listening.accept()
            except (BlockingIOError, InterruptedError):
                break
            except ConnectionAbortedError:
                continue
            except OSError as error:
                # Out of descriptors or memory: the client stays in the queue. Trying again at once would
                # use a whole core.
                log.warning("Cannot accept clients for the moment: %s", error)
                self._stop_accepting()
                self._pause = self._loop.call_later(_PAUSE_SECONDS, self._accept_again)
                break
            self.accepted += 1
            self._pass_on_if_own_user(client)
        return self.accepted > before

    def _pass_on_if_own_user(self, client: socket.socket) -> None:
        try:
            uid = peer_uid(client)
        except OSError:
            client.close()
            return
        if uid != os.geteuid():
            log.warning("Refused a client of user id %d", uid)
            client.close()
            return
        client.setblocking(False)
        self._on_client(client)

    def _accept_again(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listening, self._accept)

    def _stop_accepting(self) -> None:
        self._loop.remove_reader(self._listening)
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None

    def _remove_path(self) -> None:
        if self.path_state() == "ours":
            Path(self.path).unlink(missing_ok=True)


def _identity(path: str) -> tuple[int, int]:
    try:
        found = Path(path).lstat()
    except OSError as error:
        raise CannotListen(path, error.strerror or str(error)) from error
    return found.st_dev, found.st_ino


def _refuse_if_taken(path: str) -> None:
    """Raise `CannotListen` if anything other than a stale socket of this user is at the path.

    Another daemon cannot listen there, because this process holds the lock. A socket that a daemon left behind is
    replaced. The system lists sockets by the name they were bound to. A daemon binds to a temporary name, so the list
    contains `path` only if another program listens there.
    """
    try:
        found = Path(path).lstat()
    except OSError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        kind = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a socket"
        raise CannotListen(path, f"the file there is {kind}; inspect it and move it away")
    if found.st_uid != os.geteuid():
        raise CannotListen(
            path, f"the socket there belongs to user id {found.st_uid}; set SESSIOND_HOME to another folder"
        )
    if path in _listened_to():
        raise CannotListen(
            path,
            "another program listens there. If it is systemd, run systemctl --user start sessiond, or remove the "
            "service with sessiond uninstall-service",
        )


def _listened_to() -> set[str]:
    """Return the paths that listening Unix sockets were bound to. Empty on systems without /proc."""
    try:
        rows = Path("/proc/net/unix").read_bytes().splitlines()[1:]
    except OSError:
        return set()
    columns = (row.split(None, 7) for row in rows)
    return {
        os.fsdecode(column[7]) for column in columns if len(column) == 8 and int(column[3], 16) & _ACCEPTS
    }


def _bound(path: str) -> tuple[socket.socket, tuple[int, int]]:
    # The path must never name a socket that does not listen, so the socket gets a temporary name first. That is
    # shorter than the final one, and not in use, because this process holds the daemon's lock. The mode is
    # set before the rename, not by umask, which all threads share. Until then the folder's mode denies access.
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
