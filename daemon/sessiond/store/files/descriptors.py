"""Limits the descriptors of open session files to a share of the system's limit. The least recently used are closed.

A session file whose descriptor was closed stays open for its session: the next use opens the file again. `known_file`
checks that it is still the same file, and that no unsynced data is lost with a descriptor.
"""

import errno
import os
import resource
import threading
from collections import OrderedDict
from collections.abc import Callable
from itertools import islice
from typing import Final

SHARE: Final = 0.375
"""The share of the system's limit. Clients may have half of the descriptors (`server.welcome`). The rest is for
folders, blobs, the index and short-lived files.
"""
_FEWEST: Final = 8
_MAX_DESCRIPTORS: Final = 65_536
_TRIED_FIRST: Final = 32
_NONE_LEFT: Final = (errno.EMFILE, errno.ENFILE)


def granted() -> int | None:
    """Return the descriptor limit of this process; None if there is none."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


class Descriptors:
    """The descriptors of all session files of a store. Its methods are safe on any thread.

    Args:
        limit: The number of descriptors above which unused ones are closed; None for a share of the system's present
            limit.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.limit = max(_FEWEST, int((granted() or _MAX_DESCRIPTORS) * SHARE)) if limit is None else limit
        self._lock = threading.Lock()
        self._open: OrderedDict[Descriptor, None] = OrderedDict()  # the least recently used first

    @property
    def count(self) -> int:
        """The number of open descriptors."""
        return len(self._open)

    @property
    def is_exceeded(self) -> bool:
        """Whether more files than the limit are open, because no file can be closed at present."""
        return len(self._open) > self.limit

    def open(self, call: Callable[[], int]) -> int:
        """Return what `call` opens. If the system has no descriptor left, an unused one is closed first.

        Raises:
            OSError: As `call` does; `EMFILE` or `ENFILE` if none can be closed.
        """
        while True:
            try:
                return call()
            except OSError as error:
                if error.errno not in _NONE_LEFT or not self._close_one(below=granted()):
                    raise

    def opened(self, descriptor: "Descriptor") -> None:
        """Count a descriptor, and close unused ones while there are more than the limit."""
        with self._lock:
            self._open[descriptor] = None
        while self.is_exceeded and self._close_one():
            pass

    def used(self, descriptor: "Descriptor") -> None:
        """Mark a descriptor as the most recently used one."""
        with self._lock:
            if descriptor in self._open:
                self._open.move_to_end(descriptor)

    def closed(self, descriptor: "Descriptor") -> None:
        """Stop counting a descriptor."""
        with self._lock:
            self._open.pop(descriptor, None)

    def _close_one(self, *, below: int | None = None) -> bool:
        """Close the least recently used descriptor that can be closed. Return whether there was one.

        If `below` is given, only a descriptor with a lower number is closed: another would not help a process whose
        limit was lowered.
        """
        for count in (_TRIED_FIRST, None):
            with self._lock:
                candidates = list(islice(self._open, count))
            if any(
                (below is None or candidate.fd < below) and candidate.release() for candidate in candidates
            ):
                return True
        return False


class Descriptor:
    """One descriptor, which may be closed while it is not in use.

    Args:
        fd: The descriptor.
        all_open: The collection that counts it.
        reopen: Opens the same file again, or raises.
        may_close: Records the state of the file at that moment. Returns False if the descriptor must stay open.
    """

    def __init__(
        self, fd: int, all_open: Descriptors, reopen: Callable[[], int], may_close: Callable[[int], bool]
    ) -> None:
        self.fd = fd
        self._all_open = all_open
        self._reopen = reopen
        self._may_close = may_close
        self._lock = threading.RLock()
        self._users = 0
        self._ended = False
        all_open.opened(self)

    @property
    def is_released(self) -> bool:
        """Whether the descriptor is closed and the next use opens it again."""
        return self.fd < 0 and not self._ended

    @property
    def is_closed(self) -> bool:
        """Whether the descriptor is closed permanently."""
        return self._ended

    def __enter__(self) -> int:
        """Return the descriptor for use, and open the file again if necessary. May be nested."""
        with self._lock:
            if self.fd < 0:
                if self._ended:
                    raise OSError(errno.EBADF, os.strerror(errno.EBADF))
                self._open_again()
            self._users += 1
            fd = self.fd
        self._all_open.used(self)
        return fd

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._users -= 1

    def release(self) -> bool:
        """Close the descriptor unless it is in use or must stay open. Return whether it was closed. Never blocks."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self.fd < 0 or self._users or not self._may_close(self.fd):
                return False
            fd, self.fd = self.fd, -1
        finally:
            self._lock.release()
        self._all_open.closed(self)
        os.close(fd)
        return True

    def close(self) -> None:
        """Close the descriptor permanently."""
        with self._lock:
            fd, self.fd, self._ended = self.fd, -1, True
        self._all_open.closed(self)
        if fd >= 0:
            os.close(fd)

    def _open_again(self) -> None:
        self.fd = self._all_open.open(self._reopen)
        self._users += 1  # so that `opened` does not close it again to stay within the limit
        try:
            self._all_open.opened(self)
        finally:
            self._users -= 1
