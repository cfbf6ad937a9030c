"""Finds the processes that have a session of an agent, by files and locks of the agent on Linux. All functions block.

Nothing of the agent is locked or written.
"""

# Without pathlib, which costs milliseconds at the start of a command.
# ruff: noqa: PTH116, PTH208

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from sessiond.agents import regular_files

MAX_BYTES = 1 << 16
"""Limit of the bytes of a file that names a process."""
_MAX_FILES = 1000


class NamedProcess(NamedTuple):
    """A process as an agent or the system names it.

    Attributes:
        pid: Its id.
        start_time: When it started, in clock ticks after boot; None if it runs now.
    """

    pid: int
    start_time: int | None = None


def holders(paths: Iterable[str]) -> list[NamedProcess]:
    """Return the other processes that hold a lock of one of these files. All of them run."""
    inodes = set()
    for path in paths:
        with contextlib.suppress(OSError, ValueError):
            inodes.add(os.stat(path).st_ino)
    pids = {pid for pid, inode in _locks() if inode in inodes} if inodes else set()
    return [NamedProcess(pid) for pid in sorted(pids - {os.getpid()})]


def _locks() -> Iterator[tuple[int, int]]:
    """Yield the process and the inode of each lock: `1: FLOCK ADVISORY WRITE 4711 fe:00:2174593 0 EOF`.

    The device is not compared: some file systems report another one here. At worst, a process too many is watched.
    """
    try:
        with open("/proc/locks", encoding="ascii") as file:
            for line in file:
                words = line.split()
                if len(words) == 8 and words[4].isdigit() and words[4] != "0":
                    yield int(words[4]), int(words[5].rpartition(":")[2])
    except (OSError, ValueError):
        return


def names_in(folder: str) -> list[str]:
    """Return the names in a folder, up to a limit; none if it cannot be read."""
    try:
        return sorted(os.listdir(folder))[:_MAX_FILES]
    except (OSError, ValueError):
        return []


def object_in(path: str) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one if there is none."""
    import json  # noqa: TID251 - the module is imported without msgspec

    try:
        found = json.loads(regular_files.content(path, MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
