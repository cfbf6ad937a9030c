"""Reads the files that an agent wrote beside a transcript, and makes entries of them (decision 0070).

Results of tools name the files with their whole outputs; other files are found by the session. Only regular files are
read, at the places that the agent's row allows, and no symbolic link below the agent's folder is followed. A file
whose status is that of the last reading is not read again. All functions block.
"""

import codecs
import contextlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from sessiond.agents.attachments import AttachmentRules, FilePlace, OwnFiles, SessionOfFile
from sessiond.agents.table import AGENTS
from sessiond.error_text import TemplatedError
from sessiond.hub import clock
from sessiond.hub.transfer.reading_progress import SeenNames
from sessiond.hub.transfer.source_state import FileStatus, LookedAt, is_settled
from sessiond.hub.transfer.spool import Spool
from sessiond.session.content import attachments, fields, preview
from sessiond.session.content.attachments import Attachment
from sessiond.session.dialects.import_builder import Imported, ImportedEntry
from sessiond.session.tree import lines

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""The maximum size of an output that is kept."""
MAX_OWN_BYTES: Final = 1024 * 1024
"""The maximum size of another file, such as a copy of a file before an edit."""
MAX_FILES: Final = 2_000
"""The maximum number of files of one session."""
_EDGE_CHARS: Final = 2_000
"""Characters at the beginning and at the end of a result in which it names the file with its whole output."""
_PIECE: Final = 1024 * 1024
_LISTED: Final = 3
"""The number of files that a problem names."""

_RULES: Final[dict[str, AttachmentRules]] = {
    agent.dialect: agent.load_attachments()
    for agent in AGENTS.values()
    if agent.dialect is not None and agent.load_attachments is not None
}


class _NotKept(TemplatedError):
    """Raised for a file that is not kept."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class AttachmentReader:
    """The files beside one source.

    Args:
        path: The path of the source.
        dialect: Its format.
        spool: Takes the content of the files.
        known: The files and folders that an earlier reading looked at, as far as the store still has the blobs.

    Attributes:
        looked_at: The files and folders that this reading looked at, by path.
        files: The files of the spool, by hash.
    """

    def __init__(self, path: str, dialect: str, spool: Spool, known: Mapping[str, LookedAt]) -> None:
        self.looked_at: dict[str, LookedAt] = {}
        self.files: dict[str, str] = {}
        self._path = path
        self._rules = _RULES.get(dialect)
        self._spool = spool
        self._known = known
        self._marks: set[str] = set()
        self._named: dict[
            str, tuple[FilePlace, str, str]
        ] = {}  # the place, the entry that names it, and its time
        self._gone: list[str] = []
        self._refused: list[str] = []

    def see(self, entry: ImportedEntry) -> None:
        """Note the files that an entry of the conversation names."""
        rules = self._rules
        if rules is None:
            return
        if rules.mark is not None and (found := rules.mark.search(entry.line)) is not None:
            self._marks.add(found[1].decode())
        if entry.role == "toolResult" and rules.reference is not None and rules.sign in entry.line:
            decoded = preview.decoded(entry.line)
            text = preview.text_of_content(fields.mapping(decoded.get("message")).get("content"))
            for place in _places(rules, self._path, text):
                at = fields.as_text(decoded.get("timestamp"))
                self._named.setdefault(place.path, (place, entry.id, at))

    @property
    def stored(self) -> frozenset[str]:
        """The hashes of files of an earlier reading, which the store has."""
        return frozenset(was.digest for was in self._known.values() if was.digest)

    def seen(self) -> SeenNames:
        """Return the names of the files that were seen."""
        named = [(place.folder, place.names, entry, at) for place, entry, at in self._named.values()]
        return SeenNames(self._marks, named)

    def restore(self, seen: SeenNames) -> None:
        """Take the names of files that another reader has seen."""
        self._marks = seen.marks
        for folder, names, entry, at in seen.files:
            place = FilePlace(folder, names)
            self._named[place.path] = (place, entry, at)

    def add_to(self, imported: Imported, *, is_whole: bool = True) -> Imported:
        """Return a session with the entries of the files beside it.

        Args:
            imported: The session.
            is_whole: Whether the whole source was read. Files that no entry names are only looked for then.
        """
        for entry in imported.entries[1 : imported.conversation_count + 1]:
            self.see(entry)
        made = self.entries(imported, is_whole=is_whole)
        return replace(imported, entries=[*imported.entries, *made]) if made else imported

    def entries(self, imported: Imported, *, is_whole: bool = True) -> list[ImportedEntry]:
        """Return the entries of the files beside a session whose entries were seen. See `add_to`.

        The first entry of the session is its origin.
        """
        if self._rules is None or not imported.entries:
            return []
        root = imported.entries[0].id
        made = [
            *self._of_results(root),
            *(self._of_session(imported, self._rules, root) if is_whole else ()),
        ]
        self._report(imported)
        # The record of the source is JSON, which has no bytes that are not UTF-8.
        self.looked_at = {path: was for path, was in self.looked_at.items() if lines.valid_text(path) == path}
        return made

    def _of_results(self, root: str) -> Iterator[ImportedEntry]:
        for place, target, at in list(self._named.values())[:MAX_FILES]:
            entry = self._entry("toolOutput", place, root, target=target, at=at)
            if entry is not None:
                yield entry

    def _of_session(self, imported: Imported, rules: AttachmentRules, root: str) -> Iterator[ImportedEntry]:
        session = SessionOfFile(self._path, imported.source_id, frozenset(self._marks))
        count = 0
        for files in rules.own(session):
            for place in self._found(files):
                count += 1
                if count > MAX_FILES or place.path in self._named:
                    continue
                entry = self._entry(files.kind, place, root)
                if entry is not None:
                    yield entry

    def _found(self, files: OwnFiles) -> list[FilePlace]:
        """Return the files of a folder, in the order of their names."""
        if files.name is None:
            return [files.place] if os.path.lexists(files.place.path) else []
        try:
            with _opened(files.place, os.O_DIRECTORY) as folder:
                names = sorted(
                    name
                    for name in os.listdir(folder)  # noqa: PTH208 - a descriptor
                    if files.name.fullmatch(name)
                )
                if names:  # most sessions have none, and their records need not say so
                    self.looked_at[files.place.path] = LookedAt(_settled(os.fstat(folder)))
        except (OSError, ValueError):
            return []
        return [replace(files.place, names=(*files.place.names, name)) for name in names]

    def _entry(
        self, kind: str, place: FilePlace, root: str, *, target: str | None = None, at: str | None = None
    ) -> ImportedEntry | None:
        """Return the entry of a file; None if the file is not kept."""
        was = self._known.get(place.path)
        limit = MAX_OWN_BYTES if target is None else MAX_FILE_BYTES
        try:
            with _opened(place) as file:
                status = os.fstat(file)
                _refuse(status, limit)
                found = self._content(file, status, was)
        except FileNotFoundError:
            self.looked_at[place.path] = LookedAt(None, *(() if was is None else (was.digest, was.is_text)))
            if was is None or not was.digest:
                self._gone.append(place.names[-1])
            return None
        except (_NotKept, OSError, ValueError) as error:
            reason = (
                str(error) if isinstance(error, _NotKept) else getattr(error, "strerror", None) or str(error)
            )
            self._refused.append(f"{place.names[-1]} ({reason})")
            return None
        digest, head, is_text = found
        self.looked_at[place.path] = LookedAt(_settled(status), digest, is_text)
        attachment = Attachment(
            kind=kind, name="/".join(place.names[-2:]), path=lines.valid_text(place.path), size_bytes=status.st_size,
            digest=digest, head=head if is_text else None, target_id=target,
        )  # fmt: skip
        name = f"attachment-{fields.digest(kind, *place.names, digest or head)}"
        encoded = fields.dumps({
            "type": "custom", "id": name, "parentId": root, "timestamp": at or clock.iso(status.st_mtime_ns),
            **attachments.payload_of(attachment),
        })  # fmt: skip
        return ImportedEntry(name, root, "custom", encoded)

    def _content(self, file: int, status: os.stat_result, was: LookedAt | None) -> tuple[str, str, bool]:
        """Return the hash of a file with a blob, the text at its beginning, and whether it is a text."""
        size = status.st_size
        head = os.pread(file, attachments.INLINE_BYTES, 0)
        if size <= attachments.INLINE_BYTES and (text := _text_in(head)) is not None:
            return "", text, True
        beginning = head[: attachments.HEAD_BYTES].decode("utf-8", "ignore")
        if was is not None and was.digest and was.status == FileStatus.of(status):
            return was.digest, beginning, was.is_text
        checked = _Checked(file, size)
        blob = self._spool.write(checked.pieces())
        if self.files.setdefault(blob.digest, blob.path) != blob.path:
            Path(blob.path).unlink()
        return blob.digest, beginning, checked.is_text

    def _report(self, imported: Imported) -> None:
        for problem, names in (("gone", self._gone), ("not kept", self._refused)):
            if names:
                shown = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
                imported.report.add_problem(0, f"{len(names):,} files beside it are {problem}: {shown}")


class _Checked:
    """Reads a file in pieces, and checks whether it is a text."""

    def __init__(self, file: int, size: int) -> None:
        self.is_text = True
        self._file = file
        self._size = size

    def pieces(self) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder("utf-8")()
        offset = 0
        while data := os.pread(self._file, min(_PIECE, self._size - offset), offset):
            offset += len(data)
            if self.is_text:
                try:
                    decoder.decode(data, final=offset >= self._size)
                    self.is_text = b"\0" not in data
                except UnicodeDecodeError:
                    self.is_text = False
            yield data


def is_unchanged(looked_at: Mapping[str, LookedAt]) -> bool:
    """Return whether the files beside a source are those of an earlier reading."""
    return all(
        _status(path) == was.status and (was.status is not None or not os.path.lexists(path))
        for path, was in looked_at.items()
    )


def missing(looked_at: Mapping[str, LookedAt]) -> list[str]:
    """Return the paths of files that were not there, and are not known from an earlier reading."""
    return [
        path
        for path, was in looked_at.items()
        if was.status is None and not was.digest and not os.path.lexists(path)
    ]


def transcript_of(path: str, dialect: str | None) -> str | None:
    """Return the transcript to which a file of an agent with this format belongs; None if its path does not show it."""
    rules = _RULES.get(dialect or "")
    return None if rules is None else rules.transcript_of(path)


def places_in(dialect: str, path: str, text: str) -> list[FilePlace]:
    """Return the places of the files that the text of a result names, for an agent with this format.

    Args:
        dialect: The format.
        path: The path of the source.
        text: The text.
    """
    rules = _RULES.get(dialect)
    return [] if rules is None else list(_places(rules, path, text))


def _places(rules: AttachmentRules, path: str, text: str) -> Iterable[FilePlace]:
    if rules.reference is None:
        return
    edges = text if len(text) <= 2 * _EDGE_CHARS else f"{text[:_EDGE_CHARS]}\n{text[-_EDGE_CHARS:]}"
    for found in rules.reference.finditer(edges):
        place = rules.place(path, found)
        if place is not None and place.is_plain:
            yield place


def _text_in(data: bytes) -> str | None:
    try:
        return None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None


def _refuse(status: os.stat_result, limit: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _NotKept("it is not a regular file")
    if status.st_size > limit:
        raise _NotKept(f"it has {status.st_size:,} bytes, more than {limit:,}")


def _settled(status: os.stat_result) -> FileStatus | None:
    """Return the status of a file; None if the file may change without changing it."""
    found = FileStatus.of(status)
    return found if is_settled(found, time.time_ns()) else None


def _status(path: str) -> FileStatus | None:
    try:
        return FileStatus.of(os.lstat(path))
    except (OSError, ValueError):
        return None


@contextlib.contextmanager
def _opened(place: FilePlace, flags: int = 0) -> Iterator[int]:
    """Open a file below a folder of the agent. No symbolic link below the folder is followed. Raises `OSError`."""
    with contextlib.ExitStack() as opened:
        folder = os.open(place.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, folder)
        is_shared = bool(os.fstat(folder).st_mode & stat.S_IWOTH)
        for name in place.names[:-1]:
            folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            opened.callback(os.close, folder)
        # Opening a FIFO must not block until it has a writer.
        found = os.open(
            place.names[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | flags, dir_fd=folder
        )
        opened.callback(os.close, found)
        if is_shared and os.fstat(found).st_uid != os.geteuid():
            raise _NotKept("it belongs to another user")
        yield found
