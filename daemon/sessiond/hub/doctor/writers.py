"""Finds other processes that have session files open for writing, on systems with `/proc` (Linux)."""

import os
from collections.abc import Iterator
from pathlib import Path

from sessiond.hub.doctor.scope import Scope
from sessiond.store.files import paths


def check_writers(scope: Scope, files: set[str]) -> Iterator[None]:
    """Report each process of this user, other than a daemon, that has one of these files open for writing."""
    for process in sorted(Path("/proc").glob("[0-9]*")):
        for path in sorted(_written_by(process) & files):
            if not _is_daemon(process):
                name = _name(process)
                scope.add("openElsewhere", f"process {process.name} ({name}) has it open for writing", path)
        yield


def files_open_elsewhere() -> set[str]:
    """Return the session files that processes of this user other than this one have open for writing."""
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) != os.getpid():
            found |= _written_by(process)
    return found


def _written_by(process: Path) -> set[str]:
    found: set[str] = set()
    try:
        for descriptor in os.listdir(process / "fd"):  # noqa: PTH208
            path = os.readlink(process / "fd" / descriptor)  # noqa: PTH115
            if path.endswith(paths.SUFFIX) and _may_write(process / "fdinfo" / descriptor):
                found.add(path)
    except OSError:
        return found  # the process has ended or belongs to another user
    return found


def _may_write(fdinfo: Path) -> bool:
    for line in fdinfo.read_text(encoding="ascii").splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return False


def _is_daemon(process: Path) -> bool:
    """Return whether a process is this one or runs `sessiond serve`. True also if its command line is not readable."""
    if int(process.name) == os.getpid():
        return True
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return True
    return b"sessiond" in words and b"serve" in words


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "ended"
