"""Waits for the ends of processes that have sources. The system reports each end immediately (`pidfd_open`, Linux)."""

import asyncio
import logging
import os
from collections.abc import Callable, Collection
from typing import Final

from sessiond.hub.discovery.processes import is_running
from sessiond.store.records import Process

log = logging.getLogger(__name__)

MAX_PROCESSES: Final = 200
"""Limit of the processes that are watched. Each takes a file descriptor."""


class ProcessWatch:
    """The running processes of sources.

    Args:
        ended: Is called with a source when its last process has ended.
    """

    def __init__(self, ended: Callable[[str], None]) -> None:
        self._ended = ended
        self._processes: dict[str, set[Process]] = {}
        self._watched: dict[Process, tuple[int, set[str]]] = {}  # the descriptor and the sources

    def __contains__(self, source: str) -> bool:
        return source in self._processes

    def add(self, source: str, processes: Collection[Process]) -> None:
        """Add processes, one of which has a source. Processes that cannot be watched are left out."""
        for process in processes:
            if process not in self._watched and not self._open(process):
                continue
            self._watched[process][1].add(source)
            self._processes.setdefault(source, set()).add(process)

    def beside(self, source: str) -> set[str]:
        """Return the other sources that a process of this one has, or may have."""
        found = {
            source for process in self._processes.get(source, ()) for source in self._watched[process][1]
        }
        return found - {source}

    def drop(self, source: str) -> None:
        """Forget the processes of a source."""
        for process in self._processes.pop(source, set()):
            sources = self._watched[process][1]
            sources.discard(source)
            if not sources:
                self._close(process)

    def close(self) -> None:
        """Forget all."""
        for source in list(self._processes):
            self.drop(source)

    def _open(self, process: Process) -> bool:
        """Begin to wait for the end of a process. Returns False if it has ended, or the system reports no ends."""
        if not hasattr(os, "pidfd_open") or len(self._watched) >= MAX_PROCESSES:
            return False
        try:
            descriptor = os.pidfd_open(process.pid)
        except OSError as error:
            log.debug("process %d cannot be watched: %s", process.pid, error)
            return False
        if not is_running(process):  # another process has its id
            os.close(descriptor)
            return False
        self._watched[process] = descriptor, set()
        asyncio.get_running_loop().add_reader(descriptor, self._note_end, process)
        return True

    def _close(self, process: Process) -> None:
        descriptor, _ = self._watched.pop(process)
        asyncio.get_running_loop().remove_reader(descriptor)
        os.close(descriptor)

    def _note_end(self, process: Process) -> None:
        sources = self._watched[process][1]
        self._close(process)
        for source in sources:
            processes = self._processes[source]
            processes.discard(process)
            if not processes:
                del self._processes[source]
                self._ended(source)
