"""Reports log files that were written, moved or removed in the watched folders, within a tenth of a second.

Reports are hints. The system drops events when its limits are reached, and sends none on network file systems, so the
daemon also polls (decision 0007).
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from sessiond.store.files import paths

if TYPE_CHECKING:
    from sessiond.store.files.inotify import FolderEvents

log = logging.getLogger(__name__)

_STEP_MS: Final = 50
_GATHER_MS: Final = 400
_LOOK_MS: Final = 1_000
"""Milliseconds between checks that the watched folders still exist. A new folder of the same name is not watched."""
_RETRY_SECONDS: Final = 60.0


class FolderWatch:
    """A thread that calls `changed` with the paths of changed files, on that thread.

    Args:
        roots: The folders.
        changed: Receives the paths.
        is_reported: Returns whether a path is reported. Default: log files are.
        is_recursive: Whether folders below the roots are watched, too. Except on Linux, symbolic links to folders are
            then followed.
        began: Called on the thread each time a watch has begun. Earlier changes are not reported.
    """

    def __init__(
        self,
        roots: Sequence[str],
        changed: Callable[[set[str]], None],
        *,
        is_reported: Callable[[str], bool] | None = None,
        is_recursive: bool = True,
        began: Callable[[], None] | None = None,
    ) -> None:
        self._roots = roots
        self._changed = changed
        self._is_reported = is_reported or _is_log
        self._is_recursive = is_recursive
        self._began = began
        self._since: float | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sessiond-watch", daemon=True)
        self._thread.start()

    def has_watched_since(self, moment: float) -> bool:
        """Return whether all changes since `moment` (monotonic clock, seconds) were reported."""
        since = self._since
        return since is not None and since <= moment

    def close(self) -> None:
        """Stop reporting. The thread ends shortly afterwards."""
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.is_set():
            there = self._there()
            if not there:
                self._stop.wait(_LOOK_MS / 1000)
                continue
            try:
                self._watch(there)
            except Exception as error:  # after any error, another watch can begin
                is_expected = isinstance(error, OSError | RuntimeError)
                log.warning("cannot watch folders, so they are polled: %s", error, exc_info=not is_expected)
                self._since = None
                self._stop.wait(_RETRY_SECONDS)

    def _watch(self, there: dict[str, tuple[int, int]]) -> None:
        rounds = self._rounds_of_inotify if sys.platform == "linux" else self._rounds_of_watchfiles
        for changed in rounds(there):
            if self._there() != there or any(path in there for path in changed):
                break  # a new folder may even have the inode of the removed one
            reported = {path for path in changed if self._is_reported(path)}
            if reported and not self._stop.is_set():
                self._changed(reported)
        self._since = None

    def _rounds_of_inotify(self, there: dict[str, tuple[int, int]]) -> Iterator[set[str]]:
        """Yield what changed, and from time to time nothing, until it is to stop."""
        from sessiond.store.files.inotify import FolderEvents  # ctypes, which other systems do not need

        events = FolderEvents(there, is_recursive=self._is_recursive)
        try:
            self._note_begin()
            while not self._stop.is_set():
                if (changed := _gathered(events)) is None:
                    log.info("the system dropped reports of changes; another watch begins")
                    return
                yield changed
        finally:
            events.close()

    def _rounds_of_watchfiles(self, there: dict[str, tuple[int, int]]) -> Iterator[set[str]]:
        """Yield what changed, and from time to time nothing, until it is to stop."""
        from watchfiles import watch  # the import takes 30 ms, only on this thread

        logging.getLogger("watchfiles").setLevel(logging.WARNING)  # it would log every change
        stop = _StopEvent(self._stop, self._note_begin)
        for changes in watch(
            *there, watch_filter=None, step=_STEP_MS, debounce=_GATHER_MS, rust_timeout=_LOOK_MS,
            yield_on_timeout=True, stop_event=stop, raise_interrupt=False, ignore_permission_denied=True,
            recursive=self._is_recursive,
        ):  # fmt: skip
            yield {path for _, path in changes}

    def _note_begin(self) -> None:
        self._since = time.monotonic()
        if self._began is not None and not self._stop.is_set():
            self._began()

    def _there(self) -> dict[str, tuple[int, int]]:
        """Return the existing folders with device and inode."""
        found: dict[str, tuple[int, int]] = {}
        for root in self._roots:
            try:
                status = os.stat(root)  # noqa: PTH116 - every second
            except OSError:
                continue
            found[root] = status.st_dev, status.st_ino
        return found


class _StopEvent:
    """The event that a watch asks after each step whether to stop. It is asked only after the watch has begun."""

    def __init__(self, stop: threading.Event, begin: Callable[[], None]) -> None:
        self._stop = stop
        self._begin = begin
        self._has_begun = False

    def is_set(self) -> bool:
        """Return whether to stop."""
        if not self._has_begun:
            self._has_begun = True
            self._begin()
        return self._stop.is_set()


def _gathered(events: "FolderEvents") -> set[str] | None:
    """Wait for changes, and for those that follow soon. Returns the paths; None if the system dropped reports."""
    changed = more = events.wait(_LOOK_MS / 1000)
    until = time.monotonic() + _GATHER_MS / 1000
    while changed and more and time.monotonic() < until:
        more = events.wait(_STEP_MS / 1000)
        changed = None if more is None else changed | more
    return changed


def _is_log(path: str) -> bool:
    return paths.session_id_of(os.path.basename(path)) is not None  # noqa: PTH119
