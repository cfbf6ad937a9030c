"""The trash: deleted logs are moved here, with a note of the reason and the origin beside them.

A note is written before its log is moved in and removed after its log is moved out, so that a crash leaves no log
without a note. A note without a log is ignored.
"""

import hashlib
import json  # noqa: TID251 - a path may hold lone surrogates, which msgspec refuses
import os
import re
import stat
import uuid
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec

from sessiond.store.errors import LogExists, LogNotFound, StorageFailed
from sessiond.store.files import paths
from sessiond.store.files.folders import make_folder, move_to_free_name, new_file, sync_folder
from sessiond.store.files.logfile import LogFile
from sessiond.store.files.remains import remains_of
from sessiond.store.files.syscalls import Syscalls
from sessiond.store.records import Trashed, TrashNote

_NAME: Final = re.compile(rf".+{re.escape(paths.SUFFIX)}(\.zst)?(\.[0-9]+)?")
"""The name of a log in the trash. A second log of a name has a number."""
_TRASH_ID: Final = re.compile(r"[0-9a-f]{32}")
NOTE: Final = "note.json"
_READ_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def new_trash_id() -> str:
    """Return an id for a log that moves to the trash."""
    return uuid.uuid4().hex


def move_to_trash(
    file: LogFile,
    trash: Path,
    *,
    trash_id: str,
    reason: str,
    session_id: str,
    draft: bool,
    about: TrashNote,
    calls: Syscalls,
) -> Path:
    """Move a log file to the trash. Logs that are in the trash are unchanged.

    The note is written first, so that no log is ever without one. It also reserves the name.

    Returns:
        The new path.
    """
    make_folder(trash, calls)
    source = file.path
    now = _iso(datetime.now(UTC).timestamp())
    moved = Trashed(trash_id, "", about.session_id or session_id, str(source), draft, 0, reason, now, about)
    target, note_path = _take_name(trash, source.name, _note(moved, source.stat().st_mtime), calls)
    try:
        file.move(target)
    except BaseException:
        if file.path == source:
            note_path.unlink()
        raise
    return target


def add_to_trash(trashed: Trashed, trash: Path, origin: Path, lines: bytes, calls: Syscalls) -> None:
    """Write a log of another store's trash into this one, durable. Do nothing if the trash has the deletion.

    Args:
        trashed: The log.
        trash: The folder of the trash.
        origin: The path to which it is restored.
        lines: The content.
        calls: The system calls that access the disk.
    """
    if any(other.trash_id == trashed.trash_id for other in list_trash(trash)):
        return
    make_folder(trash, calls)
    note = _note(trashed._replace(origin=str(origin)), datetime.now(UTC).timestamp())
    target, note_path = _take_name(trash, origin.name, note, calls)
    try:
        os.close(new_file(target, [lines], calls))
    except BaseException:
        note_path.unlink()
        raise
    sync_folder(trash, calls)


def _note(trashed: Trashed, modified: float) -> bytes:
    """Return the note of a log that was changed last at a time, in seconds since 1970."""
    about = trashed.about
    note = {
        "trashId": trashed.trash_id,
        "reason": trashed.reason,
        "path": trashed.origin,
        "sessionId": trashed.session_id,
        "draft": trashed.draft,
        "modifiedAt": _iso(modified),
        "trashedAt": trashed.trashed_at,
        "by": about.by,
        "cwd": about.cwd,
        "title": about.title,
    }
    if about.command_id is not None:
        note["commandId"] = about.command_id
    return json.dumps(note).encode()


class Note(msgspec.Struct, rename="camel"):
    """The content of `note.json` in a folder of the trash: reason, origin and time."""

    reason: str
    path: str
    trashed_at: str


def make_trash_folder(folder: Path, *, origin: Path, reason: str, calls: Syscalls) -> None:
    """Make a folder of the trash, with its note first. An existing note is not changed."""
    make_folder(folder, calls)
    note = Note(reason=reason, path=_words(origin), trashed_at=_iso(datetime.now(UTC).timestamp()))
    with suppress(FileExistsError):
        os.close(new_file(folder / NOTE, [msgspec.json.encode(note)], calls))


def trash_other_file(path: Path, folder: Path, *, reason: str, calls: Syscalls) -> Path:
    """Move a file that is not a log into a folder of the trash. Return its new path. Durable on return."""
    make_trash_folder(folder, origin=path.parent, reason=reason, calls=calls)
    target = folder / path.name
    move_to_free_name(path, target, calls)
    sync_folder(folder, calls)
    sync_folder(path.parent, calls)
    return target


def list_trash(trash: Path) -> Sequence[Trashed]:
    """Return every log in the trash, the most recently trashed first."""
    try:
        names = [entry.name for entry in os.scandir(trash) if _NAME.fullmatch(entry.name)]
    except FileNotFoundError:
        return []
    found = [log for log in (_trashed(trash / name) for name in names) if log is not None]
    return sorted(found, key=lambda log: (log.trashed_at, log.ref), reverse=True)


def in_trash(trash: Path, ref: str) -> Trashed:
    """Return the log at a path in the trash. Raises `LogNotFound`."""
    path = Path(ref)
    found = _trashed(path) if path.parent == trash and _NAME.fullmatch(path.name) else None
    if found is None:
        raise LogNotFound(ref)
    return found


def move_back(found: Trashed, target: Path, *, renew: bool, calls: Syscalls) -> None:
    """Move a log in the trash back to its origin. A missing folder is created.

    Args:
        found: The log.
        target: Its origin.
        renew: Whether to set its modification time to now.
        calls: The system calls that access the disk.

    Raises:
        LogExists: The target exists.
    """
    if not target.parent.is_dir():
        make_folder(target.parent, calls)
    path = Path(found.ref)
    file = LogFile(path, os.open(path, _READ_FLAGS), calls)
    try:
        file.move(target)
    except FileExistsError:
        raise LogExists(found.session_id) from None
    finally:
        file.close()
    if renew:
        os.utime(target)
    note_of(path).unlink(missing_ok=True)


def unlink_for_good(found: Trashed, calls: Syscalls) -> None:
    """Delete a log in the trash and its remains. The note is last, so an interrupted purge can be repeated."""
    for name in found.leftovers:
        Path(name).unlink(missing_ok=True)
    path = Path(found.ref)
    path.unlink(missing_ok=True)
    sync_folder(path.parent, calls)
    note_of(path).unlink(missing_ok=True)


def origin_of(found: Trashed) -> Path:
    """Return the origin of a log in the trash. Raises `StorageFailed` if its note is missing."""
    if found.origin is None:
        raise StorageFailed(f"the note of {found.ref} with its origin is missing", path=found.ref)
    return Path(found.origin)


def _trashed(path: Path) -> Trashed | None:
    """Return the log at a path in the trash; None if it is not a log."""
    try:
        status = path.stat(follow_symlinks=False)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    note = _read_note(path)
    origin = note.get("path") if isinstance(note.get("path"), str) else None
    return Trashed(
        trash_id=_trash_id(note, path.name),
        ref=str(path),
        session_id=_text(note, "sessionId") or paths.session_id_of(path.name) or path.name,
        origin=origin,
        draft=note.get("draft") is True,
        size=status.st_size,
        reason=_text(note, "reason") or "",
        trashed_at=_text(note, "trashedAt") or _text(note, "modifiedAt") or _iso(status.st_mtime),
        about=TrashNote(
            _text(note, "by") or "daemon",
            None,
            _text(note, "cwd"),
            _text(note, "title"),
            _text(note, "commandId"),
        ),
        leftovers=() if origin is None else tuple(remains_of(Path(origin))),
    )


def _read_note(path: Path) -> dict[str, Any]:
    try:
        note = json.loads(note_of(path).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return note if isinstance(note, dict) else {}


def _trash_id(note: dict[str, Any], name: str) -> str:
    """Return the id in a note. Without one (the note was lost, or is of an older sessiond), derive it from the name."""
    noted = _text(note, "trashId")
    if noted is not None and _TRASH_ID.fullmatch(noted):
        return noted
    return hashlib.sha256(os.fsencode(name)).hexdigest()[:32]


def _text(note: dict[str, Any], name: str) -> str | None:
    value = note.get(name)
    return value if isinstance(value, str) else None


def is_log_in_trash(name: str) -> bool:
    """Return whether a file of this name in the trash is a log, and not a note or a folder of blobs."""
    return _NAME.fullmatch(name) is not None


def note_of(path: Path) -> Path:
    """Return the path of the note of a log in the trash."""
    return path.with_name(f"{path.name}.json")


def _take_name(trash: Path, name: str, note: bytes, calls: Syscalls) -> tuple[Path, Path]:
    target, numbers = trash / name, count(2)
    while True:
        note_path = note_of(target)
        if not os.path.lexists(target):
            with suppress(FileExistsError):
                os.close(new_file(note_path, [note], calls))
                sync_folder(trash, calls)  # before the log arrives: names may become durable in any order
                return target, note_path
        target = trash / f"{name}.{next(numbers)}"


def _words(path: Path) -> str:
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _iso(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
