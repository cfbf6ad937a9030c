"""Breadcrumbs: the session that each terminal used last in each folder, in one small file for each terminal.

A file holds records of two or three lines, newest folder first, with an empty line between records. The first two
lines, folder and path, are those of oh-my-pi. The third, the session's id, is an addition. So a file with one record
is what oh-my-pi writes. Lines that are not a record are skipped (decision 0025).
"""

import os
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from sessiond.store.files import paths
from sessiond.store.files.folders import make_folder, new_file, sync_folder, temporary
from sessiond.store.files.syscalls import Syscalls, refusals_of
from sessiond.store.records import Breadcrumb

MAX_FOLDERS: Final = 200
"""Maximum number of folders for one terminal. The least recently used folder is dropped."""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_BYTES = 64 * 1024


def read_breadcrumbs(folder: Path, terminal_id: str) -> list[Breadcrumb]:
    """Return the breadcrumbs of a terminal, one for each folder; empty if there are none or the file is malformed."""
    try:
        fd = os.open(folder / paths.terminal_name(terminal_id), _FLAGS)
    except OSError:
        return []
    try:
        data = os.read(fd, _MAX_BYTES)
    except OSError:
        return []
    finally:
        os.close(fd)
    found: dict[str, Breadcrumb] = {}
    for record in data.split(b"\n\n"):
        crumb = _breadcrumb(record.split(b"\n"))
        if crumb is not None:
            found.setdefault(crumb.cwd, crumb)
    return list(found.values())


def write_breadcrumb(folder: Path, terminal_id: str, crumb: Breadcrumb, calls: Syscalls) -> None:
    """Replace the breadcrumb of a terminal for one folder, atomically and durably.

    If a folder or path does not fit in a line, the new breadcrumb is not stored. The previous one is removed as well,
    because it is outdated.
    """
    path = folder / paths.terminal_name(terminal_id)
    others = [
        breadcrumb for breadcrumb in read_breadcrumbs(folder, terminal_id) if breadcrumb.cwd != crumb.cwd
    ]
    with refusals_of(path):
        make_folder(folder, calls)
        records = _fitting(_lines(breadcrumb) for breadcrumb in (crumb, *others))
        if not records:
            path.unlink(missing_ok=True)
            return
        temp = temporary(path)
        os.close(new_file(temp, [b"\n".join(records)], calls))
        try:
            calls.rename(temp, path)
        except OSError:
            temp.unlink()
            raise
        sync_folder(folder, calls)


def remove_breadcrumbs(folder: Path, terminal_id: str) -> None:
    """Remove the file of a terminal, if there is one."""
    path = folder / paths.terminal_name(terminal_id)
    with refusals_of(path):
        path.unlink(missing_ok=True)


def remove_old_breadcrumbs(folder: Path, max_age: float, living: Collection[str]) -> int:
    """Remove files not written for `max_age` seconds, except those of `living`. Return the number removed."""
    kept = {paths.terminal_name(terminal_id) for terminal_id in living}
    oldest, removed = time.time() - max_age, 0
    try:
        with os.scandir(folder) as entries:
            found = [item for item in entries if item.name not in kept and not item.name.startswith(".")]
    except FileNotFoundError:
        return 0
    for entry in found:
        with suppress(FileNotFoundError), refusals_of(Path(entry.path)):
            if entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry.path)  # noqa: PTH108 - the path from scandir
                removed += 1
    return removed


def _breadcrumb(lines: Sequence[bytes]) -> Breadcrumb | None:
    if len(lines) < 2 or not all(line.startswith(b"/") and b"\0" not in line for line in lines[:2]):
        return None
    session_id = os.fsdecode(lines[2]) if len(lines) > 2 else ""
    return Breadcrumb(
        cwd=os.fsdecode(lines[0]),
        ref=os.fsdecode(lines[1]),
        session_id=session_id if paths.is_known_id(session_id) else None,
    )


def _fitting(records: Iterable[bytes | None]) -> list[bytes]:
    """Return the records that have lines, as many as a file may hold."""
    kept: list[bytes] = []
    size = 0
    for record in records:
        if record is not None:
            size += len(record) + 1
            if size > _MAX_BYTES or len(kept) == MAX_FOLDERS:
                break
            kept.append(record)
    return kept


def _lines(crumb: Breadcrumb) -> bytes | None:
    fields = [crumb.cwd, crumb.ref, *([crumb.session_id] if crumb.session_id else [])]
    try:
        lines = [os.fsencode(field) for field in fields]
    except UnicodeEncodeError:
        return None
    if any(b"\n" in line for line in lines):
        return None
    return b"".join(line + b"\n" for line in lines)
