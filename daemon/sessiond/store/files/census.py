"""Finds new, changed and removed log files by polling, at low cost.

A folder whose modification time is unchanged has the same files, so for most files it suffices to check their folder.
Growth of a file does not change its folder. The most recently written files are therefore checked at every call. All
other files are checked at intervals, and when a watch on the folders reports them.
"""

import heapq
import logging
import os
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sessiond.store.files import paths
from sessiond.store.files.syscalls import refusal
from sessiond.store.records import Changes, Stored

log = logging.getLogger(__name__)

FULL_SECONDS: Final = 2.0
"""Interval of a full check, in seconds."""
WATCHED_SECONDS: Final = 60.0
"""Interval of a full check while the folders are watched, in seconds."""
NEWEST: Final = 256
"""Number of files that are checked at every call: half a millisecond."""
_SETTLED_NS: Final = 100_000_000
"""A folder that changed less than this before it was read may change again within the same clock tick."""


@dataclass(frozen=True, slots=True)
class Root:
    """A folder of logs and of folders of logs. `own`: a failure to read it raises an error and is not skipped."""

    path: str
    draft: bool = False
    own: bool = True


@dataclass(slots=True)
class _Folder:
    root: Root
    modified_ns: int = -1
    settled: bool = False
    refs: set[str] = field(default_factory=set)
    folders: tuple[str, ...] = ()


def _due(polled_at: float) -> bool:
    return time.monotonic() - polled_at >= FULL_SECONDS


class FileCensus:
    """A census of log files. `poll` is called by one thread at a time."""

    def __init__(self, roots: Sequence[Root], *, due: Callable[[float], bool] = _due) -> None:
        """Create a census.

        Args:
            roots: The folders.
            due: Returns whether a full check is due, by the time of the last one (monotonic clock, seconds).
        """
        self._due = due
        self._roots = roots
        self._folders: dict[str, _Folder] = {}
        self._stored: dict[str, Stored] = {}
        self._found: dict[str, Stored] = {}
        self._gone: set[str] = set()
        self._newest: list[str] = []
        self._polled_at = -float("inf")
        self._complained: set[str] = set()

    def poll(self, hints: Iterable[str] = ()) -> Changes:
        """Return the changes since the last call; at the first call, all logs.

        Args:
            hints: Changed files, or folders of them.

        Raises:
            StorageFailed: An own folder cannot be read.
        """
        if self._due(self._polled_at):
            self._polled_at = time.monotonic()
            for folder in self._folders.values():
                folder.settled = False
        read = set(self._read_changed_folders())
        self._check_files({*self._newest, *hints}, read)
        found, gone = list(self._found.values()), list(self._gone)
        self._found, self._gone = {}, set()
        if found or gone:
            latest = heapq.nlargest(NEWEST, self._stored.values(), key=lambda stored: stored.modified_ns)
            self._newest = [stored.ref for stored in latest]
        return Changes(found, gone)

    def _read_changed_folders(self) -> Iterator[str]:
        """Read every folder whose names may have changed, and yield its path."""
        for root in self._roots:
            yield from self._visit(root.path, root)
            for folder in self._folders[root.path].folders:
                yield from self._visit(folder, root)
        listed = {folder for root in self._roots for folder in (root.path, *self._folders[root.path].folders)}
        for folder in self._folders.keys() - listed:
            for ref in self._folders.pop(folder).refs:
                self._drop(ref)

    def _visit(self, path: str, root: Root) -> Iterator[str]:
        known = self._folders.get(path)
        if known is None:
            known = self._folders[path] = _Folder(root)
        now = time.time_ns()
        try:
            modified = os.stat(path).st_mtime_ns  # noqa: PTH116 - of many folders, at every call
        except OSError:
            modified = -1
        if known.settled and known.modified_ns == modified:
            return
        known.settled = False
        self._read(path, known)  # if this raises, the next call tries again
        known.modified_ns, known.settled = modified, modified < now - _SETTLED_NS
        yield path

    def _read(self, path: str, known: _Folder) -> None:
        refs: set[str] = set()
        folders: list[str] = []
        entries = self._entries(path, known.root)
        names = {entry.name for entry in entries}
        for entry in entries:
            session_id = id_of_log(entry.name, names, known.root)
            try:
                if session_id is not None and entry.is_file(follow_symlinks=False):
                    self._store(stored(entry.path, session_id, entry.stat(follow_symlinks=False), known.root))
                    refs.add(entry.path)
                elif path == known.root.path and entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
            except FileNotFoundError:
                continue  # it was moved after the listing
        for ref in known.refs - refs:
            self._drop(ref)
        known.refs, known.folders = refs, tuple(folders)

    def _entries(self, path: str, root: Root) -> "list[os.DirEntry[str]]":
        try:
            with os.scandir(path) as entries:
                return list(entries)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            if root.own:
                raise refusal(error, Path(path)) from error
            if path not in self._complained:
                self._complained.add(path)
                log.warning("the sessions in %s cannot be listed: %s", path, error)
            return []

    def _check_files(self, refs: Iterable[str], read: set[str]) -> None:
        for ref in refs:
            known = self._stored.get(ref)
            # There are thousands of names, and `os.path.dirname` takes four times as long.
            path, _, _ = ref.rpartition("/")
            folder = self._folders.get(path)
            if known is None or folder is None or path in read:
                continue
            try:
                status = os.lstat(ref)
                if (status.st_size, status.st_mtime_ns, status.st_ctime_ns) != known.stamp[2:]:
                    self._store(stored(ref, known.session_id, status, folder.root))
            except OSError:
                folder.settled = False  # it is gone; the next call reads its folder
                folder.refs.discard(ref)
                self._drop(ref)

    def _store(self, stored: Stored) -> None:
        if self._stored.get(stored.ref) != stored:
            self._stored[stored.ref] = self._found[stored.ref] = stored
            self._gone.discard(stored.ref)

    def _drop(self, ref: str) -> None:
        if self._stored.pop(ref, None) is not None:
            self._found.pop(ref, None)
            self._gone.add(ref)


def id_of_log(name: str, names: Container[str], root: Root) -> str | None:
    """Return the id in the name of a log; None for any other file.

    Packed logs are those in own folders. Beside the plain file of the same log, a packed one does not count: it was
    left by a crash (`packing`).

    Args:
        name: The name of the file.
        names: The names of all files in its folder.
        root: The root of the folder.
    """
    session_id = paths.session_id_of(name)
    if session_id is None or not name.endswith(paths.PACKED_SUFFIX):
        return session_id
    return session_id if root.own and paths.plain_name(name) not in names else None


def stamp_of(status: os.stat_result) -> tuple[int, ...]:
    """Return the stamp of a file."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def stored(ref: str, session_id: str, status: os.stat_result, root: Root) -> Stored:
    """Return the listing record of one file."""
    return Stored(
        ref=ref,
        session_id=session_id,
        draft=root.draft,
        size=status.st_size,
        modified_ns=status.st_mtime_ns,
        stamp=stamp_of(status),
        identity=(status.st_dev, status.st_ino),
    )
