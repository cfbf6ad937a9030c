"""The trash: a log is moved here, never deleted, with a note beside it that says why and where it was."""

import os
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import msgspec

from sessiond.store.files.folders import make_folder, new_file
from sessiond.store.files.logfile import LogFile
from sessiond.store.files.syscalls import Syscalls


class Note(msgspec.Struct, rename="camel"):
    """What `<name>.json` beside a trashed log says: why, where it was, and when it was last written."""

    reason: str
    path: str
    session_id: str
    draft: bool
    modified_at: str


def move_to_trash(
    file: LogFile, trash: Path, *, reason: str, session_id: str, draft: bool, calls: Syscalls
) -> Path:
    """Move a log file to the trash; returns where it is. Whatever is in the trash already stays as it is.

    The note comes first, so that no file is ever there without one; it also takes the name.
    """
    make_folder(trash, calls)
    source = file.path
    modified = datetime.fromtimestamp(source.stat().st_mtime, UTC)
    note = msgspec.json.encode(
        Note(
            reason=reason,
            path=str(source),
            session_id=session_id,
            draft=draft,
            modified_at=modified.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        )
    )
    target, note_path = _take_name(trash, source.name, note, calls)
    try:
        file.move(target)
    except BaseException:
        if file.path == source:
            note_path.unlink()
        raise
    return target


def _take_name(trash: Path, name: str, note: bytes, calls: Syscalls) -> tuple[Path, Path]:
    target, numbers = trash / name, count(2)
    while True:
        note_path = target.with_name(f"{target.name}.json")
        if not os.path.lexists(target):
            with suppress(FileExistsError):
                os.close(new_file(note_path, [note], calls))
                return target, note_path
        target = trash / f"{name}.{next(numbers)}"
