"""Finds and reads the session files of other programs. All functions block and run in a thread."""

import os
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from sessiond.agents import opencode_database
from sessiond.agents.opencode_database import UnreadableDatabase
from sessiond.error_text import TemplatedError
from sessiond.hub import clock
from sessiond.hub.transfer import cline_tasks, compressed, cursor_projects, database_sources, gemini_folders
from sessiond.hub.transfer.source_state import (
    FileStatus,
    SourceState,
    digest_of,
    digest_of_companions,
    is_settled,
)
from sessiond.session.dialects import cline, codex, cursor, gemini, known
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.dialects.source import Source

MAX_BYTES: Final = 1 << 30
"""Limit of a file."""
GROWING_SECONDS: Final = 300.0
"""A file modified less than this many seconds ago may be in use: its last message may be incomplete."""
NO_ENTRIES: Final = "it has no entries"
_SUFFIXES: Final = (".jsonl", ".json", ".jsonl.zst")
_INDEX: Final = "session_index.jsonl"


class NotImported(TemplatedError):
    """Raised when a file is not imported; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason
        self.state: SourceState | None = None
        """The state of the file, if the reason is its content."""


@dataclass(frozen=True, slots=True)
class ImportCandidate:
    """A file that may hold a session. `named` is True if the request names the file itself, not a folder above it."""

    path: str
    named: bool


class ReadSource(NamedTuple):
    """The session that was read from a file, and the state of the file."""

    imported: Imported
    state: SourceState


def find(paths: Iterable[str]) -> list[ImportCandidate]:
    """Return the named files and the possible session files below the named folders, in order, without duplicates.

    For a named file, the files in the folder `subagents` that belongs to it are included. For a named database of
    OpenCode, the sessions in it are returned.
    """
    found: dict[str, ImportCandidate] = {}
    for path in paths:
        if Path(path).is_dir():
            for below in _below(path):
                found.setdefault(below, ImportCandidate(below, named=False))
        elif database_sources.is_database(path):
            for source in database_sources.sources_in(path):
                found.setdefault(source, ImportCandidate(source, named=True))
        else:
            found[path] = ImportCandidate(path, named=True)
            for below in _below(str(Path(path).with_suffix("") / "subagents")):
                found.setdefault(below, ImportCandidate(below, named=False))
    return list(found.values())


def read(path: str, dialect: str | None, titles: "Titles") -> ReadSource:
    """Read the session in a file.

    Args:
        path: The file.
        dialect: The format. None: it is detected.
        titles: Finds the titles of Codex sessions.

    Raises:
        NotImported: The file is not a session that can be imported.
        OSError: The file cannot be read.
    """
    data, status, is_identified = _bytes(path)
    is_compressed = path.endswith(compressed.SUFFIX)  # by Codex, which no longer writes to such a file
    growing = not is_compressed and time.time() - status.modified_ns / 1e9 < GROWING_SECONDS
    try:
        content = compressed.decompressed(data, MAX_BYTES) if is_compressed else data
        imported, beside = _imported(path, content, status, dialect, titles, growing=growing)
    except compressed.BadFrame as damage:
        refusal = NotImported(str(damage))
        refusal.state = _state(data, status, {}, is_settled=is_identified, is_final=True)
        raise refusal from None
    except NotImported as refusal:
        refusal.state = _state(data, status, {}, is_settled=is_identified, is_final=not growing)
        raise
    is_final = not growing or (imported.report.held_back_count == 0 and data.endswith(b"\n"))
    return ReadSource(imported, _state(data, status, beside, is_settled=is_identified, is_final=is_final))


def reason_to_skip(status: os.stat_result) -> str | None:
    """Return why a file with this status is not read; None if it may be read."""
    if not stat.S_ISREG(status.st_mode):
        return "it is not a regular file"
    if status.st_size > MAX_BYTES:
        return f"it has {status.st_size:,} bytes; at most {MAX_BYTES:,} are read"
    return None


def state_if_same_content(path: str, known_state: SourceState) -> SourceState | None:
    """Read a file, and return its present state if it has the content of an earlier state, otherwise None.

    Raises:
        NotImported: The file is not a regular file, or too large.
        OSError: The file cannot be read.
    """
    data, status, is_identified = _bytes(path)
    if len(data) != known_state.consumed_bytes or digest_of(data) != known_state.digest:
        return None
    return msgspec.structs.replace(known_state, status=status, is_settled=is_identified)


def _state(
    data: bytes, status: FileStatus, beside: dict[str, Any], *, is_settled: bool, is_final: bool
) -> SourceState:
    consumed = len(data) if is_final else data.rfind(b"\n") + 1
    return SourceState(
        status=status, is_settled=is_settled, is_final=is_final, consumed_bytes=consumed,
        digest=digest_of(memoryview(data)[:consumed]), companions=digest_of_companions(beside),
    )  # fmt: skip


def _imported(
    path: str, data: bytes, status: FileStatus, dialect: str | None, titles: "Titles", *, growing: bool
) -> tuple[Imported, dict[str, Any]]:
    """Return the session in the bytes of a file, and the data from files beside it. Raises `NotImported`."""
    if not data or data.isspace():
        raise NotImported(NO_ENTRIES)  # its program has just created it
    head = data[: known.HEAD_BYTES]
    detected = dialect or known.detect(head)
    if detected is None and path.endswith(".json"):
        detected = known.detect(data)
    if detected is None:
        raise NotImported("it is not a session file of a known program")
    beside = companions(path, detected, titles)
    source = Source(
        name=Path(path).name,
        data=data,
        modified=clock.iso(status.modified_ns),
        growing=growing,
        beside=beside,
    )
    try:
        imported = known.DIALECTS[detected].read(source)
    except RecursionError:
        raise NotImported("it is nested too deeply") from None
    if not imported.conversation_count:
        raise NotImported(NO_ENTRIES)
    return imported, beside


class Titles:
    """The titles of Codex sessions, which one index file holds for all sessions. An index file is read once."""

    def __init__(self) -> None:
        self._by_file: dict[str, dict[str, str]] = {}

    def of(self, path: str) -> str | None:
        """Return the last title of a rollout file, found by the id in its file name; None if it has none."""
        home = next((it for it in Path(path).parents if (it / _INDEX).is_file()), None)
        if home is None:
            return None
        index = str(home / _INDEX)
        if index not in self._by_file:
            self._by_file[index] = dict(_names(index))
        return self._by_file[index].get(Path(path).name.partition(".jsonl")[0][-36:])


def _names(index: str) -> Iterator[tuple[str, str]]:
    for line in Path(index).read_bytes().split(b"\n"):
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(value, dict):
            session, name = value.get("id"), value.get("thread_name")
            if isinstance(session, str) and isinstance(name, str):
                yield session, name


def companions(path: str, dialect: str, titles: Titles) -> dict[str, Any]:
    """Return the data about a session from files beside its file."""
    beside: dict[str, Any] = {"sourcePath": path}
    if dialect == codex.NAME and (title := titles.of(path)) is not None:
        beside["title"] = title
    if dialect == gemini.NAME and (folder := gemini_folders.folder_of(path)) is not None:
        beside["cwd"] = folder
    if dialect == cline.NAME:
        beside |= cline_tasks.beside(path)
    if dialect == cursor.NAME:
        beside |= cursor_projects.beside(path)
    meta = os.path.splitext(path)[0] + ".meta.json"  # noqa: PTH122 - for each of many files, and pathlib is slow
    if os.path.isfile(meta):  # noqa: PTH113
        try:
            values = msgspec.json.decode(Path(meta).read_bytes())
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError):
            return beside
        if isinstance(values, dict):
            beside |= {name: value for name, value in values.items() if isinstance(value, str | int | bool)}
    return beside


def _bytes(path: str) -> tuple[bytes, FileStatus, bool]:
    """Return the bytes of a regular file, its status before it was read, and whether the status identifies them."""
    now_ns = time.time_ns()
    if path.endswith(".db") or database_sources.parts_of(path) is not None:
        return _bytes_in_database(path, now_ns)
    fd = os.open(
        path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    )  # opening a FIFO must not block until it has a writer
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        if (reason := reason_to_skip(found)) is not None:
            raise NotImported(reason)
        data, before = file.read(), FileStatus.of(found)
        is_unchanged = len(data) == before.size and FileStatus.of(os.fstat(fd)) == before
        return data, before, is_unchanged and is_settled(before, now_ns)


def _bytes_in_database(path: str, now_ns: int) -> tuple[bytes, FileStatus, bool]:
    """Return what `_bytes` returns, for a session in a database."""
    parts = database_sources.parts_of(path)
    try:
        if parts is None:
            opencode_database.marks(path)
            raise NotImported("it has no sessions")
        if (size := opencode_database.size_of(*parts)) > MAX_BYTES:
            raise NotImported(f"it has {size:,} bytes; at most {MAX_BYTES:,} are read")
        status = database_sources.status_of(path)
        data = opencode_database.document(*parts)
    except UnreadableDatabase as error:
        raise NotImported(str(error)) from None
    if data is None or status is None:
        raise NotImported("the database has no such session")
    return data, status, is_settled(status, now_ns)


def _below(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(str(Path(folder))):
        folders.sort()
        for name in sorted(names):
            if name.endswith(_SUFFIXES) and not name.endswith(".meta.json"):
                yield f"{parent.rstrip('/')}/{name}"
