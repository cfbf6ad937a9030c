"""The journal of setup: for each file what was added, a copy of the file before, and a digest of the file after.

A record is on disk before its file is changed, so that an undo knows everything that a setup may have done, wherever
it was interrupted.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from sessiond.error_text import TemplatedError
from sessiond.setup import files
from sessiond.setup.additions import Addition

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION: Final = 1


class UnreadableJournalError(TemplatedError):
    """Raised when it is not known what setup has added: the journal or a copy is damaged or missing."""

    sentence = "The record of what setup has added is not usable: {path}: {reason}."
    advice = "The folder {copies} has the files as they were before."

    def __init__(self, path: str, reason: str, copies: str) -> None:
        super().__init__(path=path, reason=reason, copies=copies)


class FileRecord(msgspec.Struct, rename="camel", omit_defaults=True):
    """A record of an addition of setup to one file.

    Attributes:
        path: The file, as its agent or shell names it.
        addition: The addition.
        written: The digest of the file as setup wrote it.
        original: The digest of the file before, which names its copy; None if there was no file.
        folders: The folders that setup created for the file, outermost first.
    """

    path: str
    addition: Addition
    written: str
    original: str | None = None
    folders: list[str] = msgspec.field(default_factory=list)


class _Content(msgspec.Struct, rename="camel"):
    version: int
    files: list[FileRecord] = msgspec.field(default_factory=list)
    folders: list[str] = msgspec.field(default_factory=list)


class SetupJournal:
    """The records of one user. Use `opened`."""

    def __init__(self, state: str) -> None:
        self.folder: Final = os.path.join(state, "setup")
        self._path: Final = os.path.join(self.folder, "journal.json")
        self._content = self._read()

    @property
    def records(self) -> list[FileRecord]:
        """The records, in the order in which the files were changed."""
        return self._content.files

    def find(self, path: str) -> FileRecord | None:
        """Return the record of a file; None without one."""
        return next((file for file in self._content.files if file.path == path), None)

    def put(self, record: FileRecord) -> None:
        """Store a record, in place of the earlier one of its file."""
        self._content.files = [file for file in self._content.files if file.path != record.path] + [record]
        self._write()

    def drop(self, record: FileRecord) -> None:
        """Remove a record."""
        self._content.files.remove(record)
        self._write()

    def keep(self, path: str, content: bytes) -> str:
        """Store a copy of a file durably, once. Returns its digest."""
        found = digest(content)
        copy = self.copy_of(path, found)
        if not os.path.exists(copy):  # noqa: PTH110
            self._prepare()
            files.replace(copy, content, None)
        return found

    def copy_of(self, path: str, content_digest: str) -> str:
        """Return the path of the copy of a file."""
        return os.path.join(self.folder, f"{content_digest[:16]}-{os.path.basename(path)}")  # noqa: PTH119

    def original(self, record: FileRecord) -> bytes | None:
        """Return the content of a file before setup; None if there was no file.

        Raises:
            UnreadableJournalError: The copy is missing or has other content.
        """
        if record.original is None:
            return None
        copy = self.copy_of(record.path, record.original)
        content = files.read(copy)
        if content is None or digest(content) != record.original:
            raise UnreadableJournalError(copy, "the copy is missing or was changed", self.folder)
        return content

    def clear(self) -> None:
        """Remove the journal, its copies and its folder, if no record is left."""
        if self._content.files or not os.path.isdir(self.folder):  # noqa: PTH112
            return
        for file in Path(self.folder).iterdir():
            file.unlink()
        Path(self.folder).rmdir()
        files.remove_empty_folders(self._content.folders)

    def _prepare(self) -> None:
        """Create the folder. The folders above it that are missing are recorded."""
        missing = files.missing_folders(self.folder)
        if not os.path.isdir(self.folder):  # noqa: PTH112
            files.create_folders([*missing, self.folder])
            self._content.folders = missing
            self._write()

    def _read(self) -> _Content:
        try:
            content = files.read(self._path)
            if content is None:
                return _Content(_VERSION)
            found = msgspec.json.decode(content, type=_Content)
        except (OSError, files.UneditableFileError, msgspec.MsgspecError) as error:
            raise UnreadableJournalError(self._path, str(error), self.folder) from error
        if found.version != _VERSION:
            reason = f"it has version {found.version}; a newer sessiond wrote it"
            raise UnreadableJournalError(self._path, reason, self.folder)
        return found

    def _write(self) -> None:
        self._prepare()
        content = msgspec.json.format(msgspec.json.encode(self._content), indent=2)
        files.replace(self._path, content, files.read(self._path))


@contextlib.contextmanager
def opened(state: str) -> Iterator[SetupJournal]:
    """Return the journal in a state folder. Only one process has it at a time; others wait."""
    lock = os.open(_existing(state), os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield SetupJournal(state)
    finally:
        os.close(lock)


def digest(content: bytes) -> str:
    """Return the SHA-256 of a content in hexadecimal."""
    return sha256(content).hexdigest()


def _existing(folder: str) -> str:
    """Return the folder, or the closest one above it that exists."""
    while not os.path.isdir(folder):  # noqa: PTH112
        folder = os.path.dirname(folder)  # noqa: PTH120
    return folder
