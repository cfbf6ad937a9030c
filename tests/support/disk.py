"""A disk that fails, waits or is changed by another program when a test says so; all other calls are real."""

import errno
import os
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sessiond.store.files.syscalls import Syscalls

ALWAYS = 1_000_000


class Disk:
    """Provides `calls`, the system calls for a `FileStore`, and counts them in `called`.

    `room` is the number of free bytes, `at_most` the maximum number of bytes of one write; None for no limit. With
    `drops_pages`, a failed sync leaves zeros in place of the bytes that it should have synced, as a system
    does that drops pages that it cannot write (if /proc allows the simulation).
    """

    def __init__(self) -> None:
        self.drops_pages = True
        self._durable: dict[int, int] = {}
        self.called: Counter[str] = Counter()
        self.trace: list[str] = []
        self.room: int | None = None
        self.at_most: int | None = None
        self._refusals: dict[str, tuple[int, int]] = {}
        self._before: dict[str, list[Callable[[], object]]] = {}
        self._gates: dict[str, threading.Event] = {}
        self._real = Syscalls()
        self.calls = Syscalls(
            write=self._write,
            overwrite=self._overwrite,
            fdatasync=self._fdatasync,
            fsync=self._fsync,
            ftruncate=self._ftruncate,
            rename=self._rename,
        )

    def refuse(self, name: str, times: int = ALWAYS, *, error: int = errno.EIO) -> None:
        """Let the next `times` calls of this name fail without an effect."""
        self._refusals[name] = (times, error)

    def allow(self, name: str) -> None:
        self._refusals.pop(name, None)

    def before_next(self, name: str, do: Callable[[], object]) -> None:
        """Call a function directly before the next call of this name, as another program could."""
        self._before.setdefault(name, []).append(do)

    @contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Let calls of this name wait until the end of the block."""
        gate = self._gates[name] = threading.Event()
        try:
            yield
        finally:
            del self._gates[name]
            gate.set()

    def _enter(self, name: str) -> None:
        self.called[name] += 1
        self.trace.append(name)
        if name in self._gates:
            self._gates[name].wait(30)
        if self._before.get(name):
            self._before[name].pop(0)()
        times, error = self._refusals.get(name, (0, 0))
        if times > 0:
            self._refusals[name] = (times - 1, error)
            raise OSError(error, os.strerror(error))

    def _write(self, fd: int, data: bytes | memoryview) -> int:
        self._enter("write")
        data = data[: self.at_most]
        if self.room is None:
            return self._real.write(fd, data)
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._real.write(fd, data[: self.room])
        self.room -= written
        return written

    def _overwrite(self, fd: int, data: bytes, offset: int) -> int:
        self._enter("overwrite")
        return self._real.overwrite(fd, data, offset)

    def _fdatasync(self, fd: int) -> None:
        self._sync("fdatasync", self._real.fdatasync, fd)

    def _fsync(self, fd: int) -> None:
        self._sync("fsync", self._real.fsync, fd)

    def _ftruncate(self, fd: int, size: int) -> None:
        self._enter("ftruncate")
        self._real.ftruncate(fd, size)

    def _rename(self, source: Path, target: Path) -> None:
        self._enter("rename")
        self._real.rename(source, target)

    def _sync(self, name: str, sync: Callable[[int], None], fd: int) -> None:
        status = os.fstat(fd)
        try:
            self._enter(name)
        except OSError:
            by_descriptor = Path(f"/proc/self/fd/{fd}")
            if self.drops_pages and stat.S_ISREG(status.st_mode) and by_descriptor.exists():
                durable = self._durable.get(status.st_ino, 0)
                with by_descriptor.open("r+b") as file:
                    file.seek(durable)
                    file.write(bytes(max(0, os.fstat(fd).st_size - durable)))
            raise
        sync(fd)
        self._durable[status.st_ino] = status.st_size
