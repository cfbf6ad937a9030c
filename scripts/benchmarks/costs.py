"""The cost of work of a daemon: processor time and memory of its process and its children, and bytes on disk."""

import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")


def cpu_with_children(pid: int) -> float:
    """Return the seconds of processor time of a process and of its children, also of those that have ended."""
    return _cpu(pid) + sum(map(_cpu, _children(pid)))


def _cpu(pid: int) -> float:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return 0.0  # it has ended meanwhile, and is soon one of those that have
    return sum(map(int, stat.rpartition(")")[2].split()[11:15])) / _TICKS


@contextmanager
def peaks(pid: int) -> Iterator[dict[int, int]]:
    """Record the highest memory in bytes of a process and of its children during the block, by process."""
    found: dict[int, int] = {}
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.05):
            for process in (pid, *_children(pid)):
                found[process] = max(found.get(process, 0), _peak(process))

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield found
    finally:
        is_over.set()
        watching.join()


def highest_child(found: dict[int, int], pid: int) -> int:
    """Return the highest memory of the children of a process among what `peaks` found; 0 without children."""
    return max((peak for child, peak in found.items() if child != pid), default=0)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, path.read_text(encoding="ascii").split())
        except OSError:
            continue  # the thread has ended
    return found


def _peak(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    found = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return next((int(line.split()[1]) * 1024 for line in found), 0)


def on_disk(home: Path) -> Counter[str]:
    """Return the bytes that a home takes on disk, by kind."""
    sizes: Counter[str] = Counter()
    for parent, _, names in os.walk(home):
        for name in names:
            path = Path(parent, name)
            sizes[_kind(path.relative_to(home))] += path.lstat().st_blocks * 512
    return sizes


def _kind(path: Path) -> str:
    if "blobs" in path.parts:
        return "blobs"
    if "sessions" in path.parts:
        return "logs"
    return "index" if path.name.startswith("index") else "other"
