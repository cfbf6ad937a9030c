"""The scrub: reads blobs, originals and compressed logs in the background, and logs those that have changed.

A file that nobody opens may change on a disk without a word. Nothing is repaired: `doctor --fix` does that, and keeps
the original. The place of the scrub is a record on disk, so that it goes on after a restart.
"""

import asyncio
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from sessiond.hashing import sha256_for_many
from sessiond.store.files import paths
from sessiond.store.files.originals import FOLDER, damage_of, is_original

PAUSE_SECONDS: Final = 60.0
"""The pause between two parts."""
PART_BYTES: Final = 32 * 1024 * 1024
"""The bytes of a part: a tenth of a second of processor time. The last file of a part may exceed it."""
PASS_SECONDS: Final = 30 * 86_400
"""The time from the beginning of a pass over all files to that of the next one."""
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_BLOCK: Final = 1024 * 1024
_COMPRESSED: Final = f"{paths.SUFFIX}.zst"

log = logging.getLogger(__name__)


class ScrubRecord(msgspec.Struct, rename="camel"):
    """The place of the scrub, as its file has it.

    Attributes:
        began_at: When the pass began, in seconds since 1970.
        after: The last file that was read, relative to the data folder; empty if none was.
        is_over: Whether all files were read.
        damaged: The files of this pass that have changed, relative to the data folder.
    """

    began_at: float = 0.0
    after: str = ""
    is_over: bool = True
    damaged: list[str] = msgspec.field(default_factory=list)


class Scrub:
    """The scrub of one data folder.

    Args:
        data: The data folder.
        path: The file of the record.
        is_busy: Returns whether the daemon has other work at present.
    """

    def __init__(self, data: str, path: str, is_busy: Callable[[], bool]) -> None:
        self._data = Path(os.path.realpath(data))
        self._path = Path(path)
        self._is_busy = is_busy
        self._waiting: deque[str] | None = None
        """The files of the pass that were not read yet; None before they were listed."""
        self._record: ScrubRecord | None = None

    async def run(self) -> None:
        """Read a part after each pause, until canceled."""
        while True:
            await asyncio.sleep(PAUSE_SECONDS)
            if not self._is_busy():
                await asyncio.to_thread(self.read_part)

    def read_part(self) -> bool:
        """Read some files. Returns False if all have been read and the next pass is not due. Blocks."""
        record = self._record = self._record or self._stored()
        if record.is_over:
            if 0 <= time.time() - record.began_at < PASS_SECONDS:  # a clock that went back begins a pass
                return False
            record = self._record = ScrubRecord(time.time(), is_over=False)
            self._waiting = None
        if self._waiting is None:
            self._waiting = deque(name for name in _files(self._data) if name > record.after)
        size = 0
        while self._waiting and size < PART_BYTES:
            record.after = self._waiting.popleft()
            size += self._check(record.after, record)
        if not self._waiting:
            record.is_over, self._waiting = True, None
            if record.damaged:
                log.error(
                    "%d stored files have changed on the disk: sessiond doctor names them",
                    len(record.damaged),
                )
        self._save(record)
        return True

    def _check(self, name: str, record: ScrubRecord) -> int:
        """Read a file, and record if it has changed. Returns its size."""
        path = self._data / name
        try:
            fd = os.open(path, _FLAGS)
        except FileNotFoundError:
            return 0  # it was moved after the listing
        except OSError as error:
            self._note(name, f"it cannot be read: {error.strerror}", record)
            return 0
        try:
            _forget_cached(fd)  # what is cached does not show what is on the disk
            reason = damage_of(path) if path.parent.name == FOLDER else _changed(fd, path.name)
            _forget_cached(fd)
            if reason is not None and path.exists():
                self._note(name, reason, record)
            return os.fstat(fd).st_size
        except OSError as error:
            self._note(name, f"it cannot be read: {error.strerror}", record)
            return 0
        finally:
            os.close(fd)

    def _note(self, name: str, reason: str, record: ScrubRecord) -> None:
        record.damaged.append(name)
        log.error(
            "%s has changed on the disk: %s; nothing was repaired: sessiond doctor", self._data / name, reason
        )

    def _stored(self) -> ScrubRecord:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=ScrubRecord)
        except (OSError, ValueError):
            return ScrubRecord()

    def _save(self, record: ScrubRecord) -> None:
        """Write the record. If that fails, the next daemon begins where the last record says."""
        made = self._path.with_name(f"{self._path.name}.new")
        try:
            made.write_bytes(msgspec.json.encode(record))
            made.chmod(0o600)
            made.rename(self._path)
        except OSError as error:
            log.warning("the place of the scrub cannot be stored: %s", error)


def _files(data: Path) -> list[str]:
    """Return the blobs and the compressed logs, relative to the data folder, in order."""
    return sorted(
        os.path.relpath(entry.path, data)
        for folder in (data / "blobs", data / FOLDER, data / "sessions", *_folders(data / "sessions"))
        for entry in _entries(folder)
        if (folder.name == "blobs" and len(entry.name) == 64)
        or (folder.name == FOLDER and is_original(entry.name) and entry.name.endswith(".zst"))
        or entry.name.endswith(_COMPRESSED)
    )


def _folders(folder: Path) -> list[Path]:
    return [Path(entry.path) for entry in _entries(folder) if entry.is_dir(follow_symlinks=False)]


def _entries(folder: Path) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return


def _forget_cached(fd: int) -> None:
    """Have the system drop the pages of a file that it keeps in memory, where it can."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def _changed(fd: int, name: str) -> str | None:
    """Return the reason why a file is not what was stored; None if it is."""
    if name.endswith(_COMPRESSED):
        from sessiond.store.files.seekable import NoSeekTable, SeekTable  # many stores have no compressed log

        try:
            damages = SeekTable(fd).check(fd)
        except NoSeekTable as error:
            return str(error)
        return str(damages[0]) if damages else None
    digest = sha256_for_many()(b"")
    place = 0
    while block := os.pread(fd, _BLOCK, place):
        digest.update(block)
        place += len(block)
    return None if digest.hexdigest() == name else "its bytes do not match its hash"
