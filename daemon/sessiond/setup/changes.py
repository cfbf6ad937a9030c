"""Adds parts to files and removes them again, one file at a time, with a record of each file in the journal.

A file that cannot be edited is left untouched and reported; the others are edited nevertheless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sessiond.error_text import TemplatedError
from sessiond.setup import files
from sessiond.setup.journal import FileRecord, digest

if TYPE_CHECKING:
    from sessiond.setup.additions import Addition
    from sessiond.setup.journal import SetupJournal


@dataclass(frozen=True)
class FileChange:
    """One change that setup makes.

    Attributes:
        title: The name of the addition, for people.
        path: The file.
        addition: The addition to it.
        note: Further facts or steps for the user; may be empty.
    """

    title: str
    path: str
    addition: Addition
    note: str = ""


@dataclass(frozen=True)
class ChangeOutcome:
    """The real or planned effect on one file.

    Attributes:
        path: The file.
        state: `changed` by setup; `unchanged` because everything is there already; `restored` to what it was, byte
            for byte; `removed` as setup had created it; `cleaned` of what setup added, with the edits of others;
            `absent` if the file or the addition is gone; `failed` if the file was left untouched.
        reason: The reason of a failure.
        copy: The path of the copy of the previous content, if there is one.
    """

    path: str
    state: Literal["changed", "unchanged", "restored", "removed", "cleaned", "absent", "failed"]
    reason: str = ""
    copy: str = ""


@dataclass(frozen=True)
class _Edit:
    """A computed edit: the present file, the file before setup, the new file, and the addition."""

    current: bytes | None
    base: bytes | None
    after: bytes
    addition: Addition


def preview(journal: SetupJournal, change: FileChange) -> ChangeOutcome:
    """Return what `install` would do. Changes nothing."""
    try:
        edit = _edit(journal, change)
    except (TemplatedError, OSError) as error:
        return _failed(change.path, error)
    return ChangeOutcome(change.path, "unchanged" if edit is None else "changed")


def install(journal: SetupJournal, change: FileChange) -> ChangeOutcome:
    """Add to one file. If the file has everything, nothing is written."""
    try:
        edit = _edit(journal, change)
        if edit is None:
            return ChangeOutcome(change.path, "unchanged")
        kept = None if edit.base is None else journal.keep(change.path, edit.base)
        copy = ""
        if edit.current is not None:
            copy = journal.copy_of(change.path, journal.keep(change.path, edit.current))
        earlier = journal.find(change.path)
        missing = files.missing_folders(change.path)
        folders = [*(earlier.folders if earlier is not None else ()), *missing]
        journal.put(FileRecord(change.path, edit.addition, digest(edit.after), kept, folders))
        files.create_folders(missing)
        files.replace(change.path, edit.after, edit.current)
    except (TemplatedError, OSError) as error:
        return _failed(change.path, error)
    return ChangeOutcome(change.path, "changed", copy=copy)


def uninstall(journal: SetupJournal, record: FileRecord) -> ChangeOutcome:
    """Remove what setup added to one file, and the record. After a failure, the record stays."""
    try:
        outcome = _uninstalled(journal, record)
    except (TemplatedError, OSError) as error:
        return _failed(record.path, error)
    files.remove_empty_folders(record.folders)
    journal.drop(record)
    return outcome


def _uninstalled(journal: SetupJournal, record: FileRecord) -> ChangeOutcome:
    current = files.read(record.path)
    original = journal.original(record)
    if current is None or current == original:
        return ChangeOutcome(record.path, "absent")
    after = _removed(record, current, original)
    if after == current:
        return ChangeOutcome(record.path, "absent")
    if after == original:
        _write(record.path, after, current)
        return ChangeOutcome(record.path, "removed" if after is None else "restored")
    copy = journal.copy_of(record.path, journal.keep(record.path, current))
    _write(record.path, after, current)
    return ChangeOutcome(record.path, "removed" if after is None else "cleaned", copy=copy)


def _edit(journal: SetupJournal, change: FileChange) -> _Edit | None:
    """Return the edit that adds what is missing; None if nothing is missing."""
    current = files.read(change.path)
    text = _text(current)
    if current is not None and change.addition.added(text) == text:
        return None
    record = journal.find(change.path)
    base, earlier = current, None
    if record is not None and current is not None:
        earlier = record.addition
        base = _removed(record, current, journal.original(record))
    addition = change.addition.narrowed(_text(base), earlier, text)
    return _Edit(current, base, _bytes(addition.added(_text(base))), addition)


def _removed(record: FileRecord, current: bytes, original: bytes | None) -> bytes | None:
    """Return a file without the addition; None if nothing is left of a file that setup created."""
    if digest(current) == record.written:
        return original
    left = record.addition.removed(_text(current), _text(original))
    return None if original is None and not left else _bytes(left)


def _write(path: str, content: bytes | None, current: bytes) -> None:
    if content is None:
        files.remove(path)
    else:
        files.replace(path, content, current)


def _text(content: bytes | None) -> str:
    # Bytes that are not UTF-8 survive, for example in a comment of a startup file.
    return "" if content is None else content.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _failed(path: str, error: TemplatedError | OSError) -> ChangeOutcome:
    reason = str(error) if isinstance(error, TemplatedError) else error.strerror or str(error)
    return ChangeOutcome(path, "failed", reason)
