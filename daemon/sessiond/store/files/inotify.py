"""Reports what changes in folders on Linux, by inotify(7), with names of any bytes.

watchfiles ends with an error at the first name that is not UTF-8, and reports that a file was opened as a change.
Symbolic links below the folders are not followed. All functions block, and are called on one thread.
"""

import ctypes
import errno
import os
import select
import struct
from collections.abc import Iterable, Iterator
from typing import Final

_EVENT: Final = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_BUFFER_BYTES: Final = 1 << 16

_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_OVERFLOW, _IGNORED, _ONLY_FOLDERS, _NO_LINKS, _IS_FOLDER = 0x4000, 0x8000, 0x1000000, 0x2000000, 0x40000000
_CHANGES: Final = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
)
_PASSING: Final = frozenset((errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP))
"""Errors of one folder: it is gone, it became another kind of file, or it may not be read."""


class FolderEvents:
    """The changes in folders. Those before the object was made are not reported.

    Args:
        roots: The folders.
        is_recursive: Whether folders below them are watched, too, and those that are made later.

    Raises:
        OSError: The system has no inotify, or its limits of watches are reached.
    """

    def __init__(self, roots: Iterable[str], *, is_recursive: bool) -> None:
        self._is_recursive = is_recursive
        self._system = ctypes.CDLL(None, use_errno=True)
        self._paths: dict[
            int, list[bytes]
        ] = {}  # a folder has one watch, and may be reached by several paths
        self._fd = self._checked(self._system.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
        try:
            for root in roots:
                for _ in self._watch(os.fsencode(root), 0):
                    pass
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop watching."""
        os.close(self._fd)

    def wait(self, seconds: float) -> set[str] | None:
        """Wait for changes, at most so long. Returns the paths that changed; None if the system dropped reports.

        The files in a new folder are reported, too. Of a folder that was moved away, nothing inside is reported.

        Raises `OSError` if the limits of the system are reached.
        """
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        if not poll.poll(seconds * 1000):
            return set()
        try:
            data = os.read(self._fd, _BUFFER_BYTES)
        except BlockingIOError:
            return set()
        changed: set[bytes] = set()
        for watch, mask, name in _events(data):
            if mask & _OVERFLOW:
                return None
            if mask & _IGNORED:
                self._paths.pop(watch, None)
                continue
            for folder in self._paths.get(watch, ()):
                path = folder + b"/" + name if name else folder
                changed.add(path)
                if mask & _IS_FOLDER and name and self._is_recursive:
                    if mask & (_CREATE | _MOVED_TO):
                        changed.update(self._watch(path, _NO_LINKS))
                    elif mask & _MOVED_FROM:
                        self._forget(path)
        return {os.fsdecode(path) for path in changed}

    def _watch(self, folder: bytes, flags: int) -> Iterator[bytes]:
        """Watch a folder and, if that is wanted, those below. Yields the files that are in those below."""
        waiting = [(folder, flags)]
        while waiting:
            above, flags = waiting.pop()
            if not self._add(above, flags) or not self._is_recursive:
                continue
            try:
                with os.scandir(above) as entries:
                    for item in entries:
                        if item.is_dir(follow_symlinks=False):
                            waiting.append((item.path, _NO_LINKS))
                        else:
                            yield item.path
            except OSError as error:
                if error.errno not in _PASSING:
                    raise

    def _add(self, folder: bytes, flags: int) -> bool:
        """Watch one folder. Returns False if there is none that may be read."""
        watch = self._system.inotify_add_watch(self._fd, folder, _CHANGES | _ONLY_FOLDERS | flags)
        if watch < 0 and ctypes.get_errno() in _PASSING:
            return False
        paths = self._paths.setdefault(self._checked(watch), [])
        if folder not in paths:
            paths.append(folder)
        return True

    def _forget(self, folder: bytes) -> None:
        """Stop watching a folder that was moved away, and all below: they have other paths now, or none."""
        below = folder + b"/"
        for watch, paths in list(self._paths.items()):
            paths[:] = [path for path in paths if path != folder and not path.startswith(below)]
            if not paths:
                del self._paths[watch]
                self._system.inotify_rm_watch(self._fd, watch)

    def _checked(self, result: int) -> int:
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result


def _events(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield the watch, the mask and the name of each event."""
    at = 0
    while at < len(data):
        watch, mask, _, length = _EVENT.unpack_from(data, at)
        at += _EVENT.size
        yield watch, mask, data[at : at + length].rstrip(b"\0")
        at += length
