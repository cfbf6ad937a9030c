"""The session ids in the names of all logs, for creating a log of an id that no other log has.

A folder is read again when its modification time has changed, which it does with each name in it. So a look costs one
`stat` for each folder, however many logs there are. With thousands of folders, that takes longer than creating a log.
The next look then comes after some time, and what this process creates meanwhile is known without it.
"""

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from sessiond.store.files.census import Root, id_of_log
from sessiond.store.files.finding import entries_of

_SETTLED_NS: Final = 100_000_000
"""A folder that changed less than this many nanoseconds before it was read may change again at the same time."""


SHORT_LOOK_SECONDS: Final = 0.002
"""A look that took longer is not repeated for each new log."""
REST_FACTOR: Final = 10
"""As a multiple of the time that it took."""


@dataclass(slots=True)
class _Folder:
    modified_ns: int = -1
    is_settled: bool = False
    ids: frozenset[str] = frozenset()
    folders: tuple[str, ...] = field(default=())


class LogNames:
    """The names of the logs in these roots. Its methods may be called on any thread."""

    def __init__(self, roots: Sequence[Root]) -> None:
        self._roots = roots
        self._folders: dict[str, _Folder] = {}
        self._added: set[str] = set()  # since the last look
        self._next_look = -float("inf")
        self._lock = threading.Lock()

    def has(self, session_id: str) -> bool:
        """Return whether a log has this id in its name. Raises `OSError` if an own folder cannot be read."""
        with self._lock:
            if time.monotonic() >= self._next_look or self._is_known(session_id):
                self._look()
            return self._is_known(session_id)

    def add(self, session_id: str) -> None:
        """Record that this process has created or restored a log."""
        with self._lock:
            self._added.add(session_id)

    def _is_known(self, session_id: str) -> bool:
        return session_id in self._added or any(session_id in folder.ids for folder in self._folders.values())

    def _look(self) -> None:
        began = time.monotonic()
        self._added.clear()  # their files exist
        self._update()
        took = time.monotonic() - began
        self._next_look = began + took * (1 + REST_FACTOR) if took > SHORT_LOOK_SECONDS else began

    def _update(self) -> None:
        found: dict[str, _Folder] = {}
        for root in self._roots:
            found[root.path] = self._checked(root.path, root)
            for folder in found[root.path].folders:
                found[folder] = self._checked(folder, root)
        self._folders = found

    def _checked(self, path: str, root: Root) -> _Folder:
        """Return the content of a folder, which is read if it may have changed."""
        now = time.time_ns()
        try:
            modified_ns = os.stat(path).st_mtime_ns  # noqa: PTH116 - of all folders, for each new log
        except OSError:
            modified_ns = -1
        known = self._folders.get(path)
        if known is not None and known.is_settled and known.modified_ns == modified_ns:
            return known
        ids: set[str] = set()
        folders: list[str] = []
        entries = entries_of(path, root)
        names = {entry.name for entry in entries}
        for entry in entries:
            session_id = id_of_log(entry.name, names, root)
            if session_id is not None and entry.is_file(follow_symlinks=False):
                ids.add(session_id)
            elif path == root.path and entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
        return _Folder(modified_ns, modified_ns < now - _SETTLED_NS, frozenset(ids), tuple(folders))
