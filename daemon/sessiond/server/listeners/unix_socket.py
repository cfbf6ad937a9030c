"""The socket that clients knock at: how its path comes and goes, and the loop that lets them in.

asyncio's own server is not used: it takes the path of a socket that is alive, and floods the log when
descriptors run out. Nothing here knows what a client says.
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

_BACKLOG: Final = 1024
_AT_ONCE: Final = 64  # clients let in before the loop gets to serve those that are in
_PAUSE: Final = 0.2  # seconds without accepting after the system refused
_ACCEPTS: Final = 1 << 16  # __SO_ACCEPTCON in the flags of /proc/net/unix

log = logging.getLogger(__name__)


class CannotListen(TemplatedError):
    """Raised when a listener cannot be opened."""

    sentence = "The daemon cannot be reached by way of {path}: {reason}."

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path=path, reason=reason)
        self.path = path


class UnixListener:
    """A listening unix socket at `path`, open from the start; each client goes to `let_in`, non-blocking.

    Needs the daemon's lock, since it replaces what is left at `path`. Raises `CannotListen`. With `inherited`, that
    socket of the service manager is listened to, where that put it, and its path stays when this ends.
    """

    def __init__(
        self, path: str, let_in: Callable[[socket.socket], None], inherited: socket.socket | None = None
    ) -> None:
        self.path = path
        self.accepted = 0  # clients, ever
        self._let_in = let_in
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
        self._is_own = True
        self._accept()
        listening, identity = _bound(self.path)
        self._stop_accepting()
        self._listening.close()
        self._listening, self._identity = listening, identity
        self._loop.add_reader(self._listening, self._accept)

    def leave_unless_wanted(self) -> bool:
        """Close, but only if nobody waits to be accepted; False when somebody was, and is in now.

        The path goes first. Then nobody new can come, so a second empty look at the queue means that no one
        is lost.
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
        """Take the path away, if it is ours, and close. Whoever waits in the queue is cut off.

        Unless the socket is the service manager's: there he waits for the next daemon. May be called again.
        """
        if self._listening.fileno() < 0:
            return
        if self._is_own:
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


def _identity(path: str) -> tuple[int, int]:
    try:
        found = Path(path).lstat()
    except OSError as error:
        raise CannotListen(path, error.strerror or str(error)) from error
    return found.st_dev, found.st_ino


def _refuse_if_taken(path: str) -> None:
    """Raise `CannotListen` for a path at which something else listens, or which leads elsewhere.

    A daemon of ours cannot be there, since its lock is ours; what it left behind is replaced. The system lists sockets
    under the name that they were bound to, and ours are bound to another one, so that the list also tells both apart.
    """
    try:
        found = Path(path).lstat()
    except OSError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        kind = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a socket"
        raise CannotListen(path, f"what is there is {kind}; look at it and move it away")
    if found.st_uid != os.geteuid():
        raise CannotListen(
            path, f"the socket there belongs to user id {found.st_uid}; set SESSIOND_HOME elsewhere"
        )
    if path in _listened_to():
        raise CannotListen(
            path,
            "another program listens there, perhaps systemd for sessiond itself: start that with "
            "systemctl --user start sessiond, or take it away with sessiond uninstall-service",
        )


def _listened_to() -> set[str]:
    """The paths of all unix sockets that listen, by the names they were bound to. Empty where there is no /proc."""
    try:
        rows = Path("/proc/net/unix").read_bytes().splitlines()[1:]
    except OSError:
        return set()
    columns = (row.split(None, 7) for row in rows)
    return {os.fsdecode(it[7]) for it in columns if len(it) == 8 and int(it[3], 16) & _ACCEPTS}


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
