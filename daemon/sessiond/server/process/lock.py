"""The lock that allows one daemon per state folder: flock, held for its lifetime, never unlinked.

flock is used instead of lockf, because a POSIX lock is lost when any descriptor of the file is closed. A process id is
not sufficient: it may belong to another process by now, or to another machine. The kernel releases the lock when the
process ends.
"""

import errno
import fcntl
import os
import stat
import threading
from pathlib import Path
from typing import Final

from sessiond.error_text import TemplatedError

_TIMEOUT_SECONDS: Final = 5.0  # seconds; a call to a network filesystem may never return


class AnotherRuns(TemplatedError):
    """Raised when the lock of the state folder is held by another process."""

    sentence = "Another sessiond holds {path}."

    def __init__(self, path: str) -> None:
        super().__init__(path=path)
        self.path = path


class LockRefused(TemplatedError):
    """Raised when the lock file cannot be opened or locked, and no other daemon is the reason."""

    sentence = "Cannot acquire the lock {path}: {reason}."
    advice = "To solve this: {advice}."

    def __init__(self, path: str, reason: str, advice: str) -> None:
        super().__init__(path=path, reason=reason, advice=advice)
        self.path = path


class DaemonLock:
    """The held lock. A file that is already at the path is not modified.

    Raises:
        AnotherRuns: Another process holds the lock.
        LockRefused: The file cannot be opened or locked for another reason.

    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = _opened(path)
        try:
            _lock(path, self._descriptor)
        except BaseException:
            os.close(self._descriptor)
            raise

    @property
    def still_ours(self) -> bool:
        """Whether the path still names the locked file. If not, a second daemon could start while this one runs."""
        try:
            there = Path(self._path).lstat()
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self._descriptor))

    def release(self) -> None:
        """Release the lock."""
        os.close(self._descriptor)


def _opened(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        reason = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror or str(error)
        raise LockRefused(path, reason, "inspect the file and move it away") from error
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        refusal = ("it is not a regular file", "inspect the file and move it away")
    elif found.st_uid != os.geteuid():
        refusal = (
            f"it belongs to user id {found.st_uid}",
            "set SESSIOND_HOME to a folder that belongs to you",
        )
    elif found.st_nlink != 1:
        refusal = ("it has more than one name (hard link)", "remove the other hard links")
    elif found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        refusal = ("other users can open it", f"run chmod 600 '{path}'")
    else:
        return descriptor
    os.close(descriptor)
    raise LockRefused(path, *refusal)


def _lock(path: str, descriptor: int) -> None:
    outcome: list[OSError | None] = []

    def attempt() -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            outcome.append(error)
        else:
            outcome.append(None)

    # On some network filesystems even the non-blocking call blocks. Then its thread is abandoned, because it
    # cannot be stopped.
    waiting = threading.Thread(target=attempt, name="daemon-lock", daemon=True)
    waiting.start()
    waiting.join(_TIMEOUT_SECONDS)
    advice = (
        "set SESSIOND_HOME to a folder on a local disk; the filesystem of this folder does not support locks"
    )
    if not outcome:
        raise LockRefused(
            path, f"the filesystem did not respond within {_TIMEOUT_SECONDS:.0f} seconds", advice
        )
    error = outcome[0]
    if isinstance(error, BlockingIOError):
        raise AnotherRuns(path) from error
    if error is not None:
        raise LockRefused(path, error.strerror or str(error), advice) from error
