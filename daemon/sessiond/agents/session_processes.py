"""The processes that have a session of an agent, as files and locks of the agent tell on Linux.

Every function blocks, and takes the path of a session's source. It returns the processes of which at least one has the
session. A process that is named together with its start time may have ended; the others run. The result is empty if
nothing tells. Nothing of the agent is locked or written.
"""

# Without pathlib, which costs milliseconds at the start of a command.
# ruff: noqa: PTH115, PTH116, PTH208

import contextlib
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

_MAX_BYTES = 1 << 16
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


def of_claude_code(path: str) -> list[NamedProcess]:
    """Return the processes of Claude Code whose files in `sessions/` name a session, or that of a subagent."""
    above, _, below = path.rpartition("/projects/")
    parts = below.split("/")
    native_id = parts[1].removesuffix(".jsonl") if len(parts) > 1 else ""
    found, domain = [], _domain()
    for name in _names(f"{above}/sessions") if domain is not None else ():
        written = _object_in(f"{above}/sessions/{name}") if name.endswith(".json") else {}
        pid, started = written.get("pid"), str(written.get("procStart", ""))
        if written.get("sessionId") != native_id or written.get("pidDomain") != domain:
            continue
        if isinstance(pid, int) and 0 < pid < 1 << 31 and started.isascii() and started.isdigit():
            found.append(NamedProcess(pid, int(started)))
    return found


def of_codex(path: str) -> list[NamedProcess]:
    """Return the process of Codex that holds the lock of the thread in a rollout."""
    name = path.rpartition("/")[2].partition(".")[0]
    for folder in ("/sessions/", "/archived_sessions/"):
        above, separator, _ = path.rpartition(folder)
        if separator:
            return _holders([f"{above}/thread-writer-locks/{name[-36:]}.lock"])
    return []


def of_copilot(path: str) -> list[NamedProcess]:
    """Return the processes of Copilot CLI that hold a lock in the folder of a session."""
    folder = path.rpartition("/")[0]
    return _holders(f"{folder}/{it}" for it in _names(folder) if it.startswith("inuse."))


def of_opencode(path: str) -> list[NamedProcess]:
    """Return the processes of OpenCode that have the database of a session open. Any of them may have the session."""
    return _holders([path.rpartition("#")[0] + "-shm"])


def _holders(paths: Iterable[str]) -> list[NamedProcess]:
    """Return the other processes that hold a lock of one of these files."""
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


def _domain() -> str | None:
    """Return the domain in which process ids have our meaning, as Claude Code names it; None if that is not known."""
    try:
        with open("/etc/machine-id", encoding="ascii") as file:
            return f"linux:{file.read(_MAX_BYTES).strip()}:{os.readlink('/proc/self/ns/pid')}"
    except (OSError, ValueError):
        return None


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:_MAX_FILES]
    except (OSError, ValueError):
        return []


def _object_in(path: str) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one if there is none."""
    import json  # noqa: TID251 - the module is imported without msgspec

    try:
        with open(path, encoding="utf-8") as file:
            found = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
