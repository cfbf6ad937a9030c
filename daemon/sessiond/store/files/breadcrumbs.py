"""Which session each terminal had last: one small file a terminal, of two lines or three.

The first two lines, folder and path, are the seed's (oh-my-pi); the third, the session's id, is ours.
Reading is lenient: whatever is no breadcrumb is none.
"""

import os
from pathlib import Path

from sessiond.store.base import Breadcrumb
from sessiond.store.files import paths
from sessiond.store.files.folders import make_folder, new_file, sync_folder, temporary
from sessiond.store.files.syscalls import Syscalls, refusals_of

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LONGEST = 64 * 1024  # bytes; two paths and an id are far shorter


def read_breadcrumb(folder: Path, terminal_id: str) -> Breadcrumb | None:
    """What a terminal had last, None when nothing is known or the file is garbage."""
    try:
        fd = os.open(folder / paths.terminal_name(terminal_id), _FLAGS)
    except OSError:
        return None
    try:
        lines = os.read(fd, _LONGEST).split(b"\n")
    except OSError:
        return None
    finally:
        os.close(fd)
    if len(lines) < 2 or not all(line.startswith(b"/") and b"\0" not in line for line in lines[:2]):
        return None
    session_id = os.fsdecode(lines[2]) if len(lines) > 2 else ""
    return Breadcrumb(
        cwd=os.fsdecode(lines[0]),
        ref=os.fsdecode(lines[1]),
        session_id=session_id if paths.is_known_id(session_id) else None,
    )


def write_breadcrumb(folder: Path, terminal_id: str, crumb: Breadcrumb, calls: Syscalls) -> None:
    """Replace what a terminal had, at once and durably.

    A folder or path that does not fit in a line is not remembered, and then neither is what was there
    before, which would be wrong now.
    """
    path = folder / paths.terminal_name(terminal_id)
    with refusals_of(path):
        make_folder(folder, calls)
        lines = _lines(crumb)
        if lines is None:
            path.unlink(missing_ok=True)
            return
        temp = temporary(path)
        os.close(new_file(temp, [lines], calls))
        try:
            calls.rename(temp, path)
        except OSError:
            temp.unlink()
            raise
        sync_folder(folder, calls)


def _lines(crumb: Breadcrumb) -> bytes | None:
    fields = [crumb.cwd, crumb.ref, *([crumb.session_id] if crumb.session_id else [])]
    try:
        lines = [os.fsencode(field) for field in fields]
    except UnicodeEncodeError:
        return None
    if any(b"\n" in line for line in lines):
        return None
    return b"".join(line + b"\n" for line in lines)
