"""Finds and reads the session files of other programs. All functions block and run in a thread."""

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from sessiond.agents import known
from sessiond.agents.companions import Companions
from sessiond.agents.session_database import UnreadableDatabase
from sessiond.agents.table import AGENTS
from sessiond.error_text import TemplatedError
from sessiond.hub import clock
from sessiond.hub.transfer import (
    compressed,
    database_sources,
    fork_history,
    memory_limit,
)
from sessiond.hub.transfer.attachments import AttachmentReader
from sessiond.hub.transfer.json_texts import NotText
from sessiond.hub.transfer.source_state import (
    Digests,
    FileStatus,
    LookedAt,
    SourceState,
    digest_of,
    digest_of_companions,
    digest_of_file,
    is_settled,
)
from sessiond.hub.transfer.spool import Spool
from sessiond.hub.transfer.taken_texts import LONG_TEXT, MARK, TakenTexts
from sessiond.session.content.prompt_key import first_prompt_key
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.dialects.source import Source

GROWING_SECONDS: Final = 300.0
"""A file modified less than this many seconds ago may be in use: its last message may be incomplete."""
MIN_READER_BYTES: Final = 256 * 1024
"""Minimum size in bytes of a file whose reader's state is kept, so that only added lines are read."""
NO_ENTRIES: Final = "it has no entries"
TOO_DEEP: Final = "it is nested too deeply"
_SUFFIXES: Final = tuple({suffix for agent in AGENTS.values() for suffix in agent.suffixes})


class NotImported(TemplatedError):
    """Raised when a file is not imported; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason
        self.state: SourceState | None = None
        """The state of the file, if the reason is its content."""
        self.cwd = ""
        """The folder that the file names, if it was refused for that."""


@dataclass(frozen=True, slots=True)
class ImportCandidate:
    """A file that may hold a session. `named` is True if the request names the file itself, not a folder above it."""

    path: str
    named: bool


class ReadSource(NamedTuple):
    """The session that was read from a file.

    Attributes:
        imported: The session.
        state: The state of the file.
        reader: The state of its reader, if it can continue.
        files: The files of the spool with the texts that were taken out of its lines and the files beside it, by hash.
        log: The file of the spool with a log of the entries, which are not in memory; None if they are.
        log_count: The number of entries in that log.
    """

    imported: Imported
    state: SourceState
    reader: bytes | None = None
    files: Mapping[str, str] = MappingProxyType({})
    log: str | None = None
    log_count: int = 0

    @property
    def first_prompt(self) -> str:
        """The key of its first prompt; empty if it has none."""
        return first_prompt_key((entry.role, entry.line) for entry in self.imported.entries)


class _Content(NamedTuple):
    """The bytes of a source as its reader receives them.

    Attributes:
        data: The bytes.
        status: Its status before it was read.
        is_identified: Whether a source with this status has these bytes.
        digests: The digests of its own bytes, if texts were taken out of them.
    """

    data: bytes
    status: FileStatus
    is_identified: bool
    digests: Digests | None = None


def find(paths: Iterable[str]) -> list[ImportCandidate]:
    """Return the named files and the possible session files below the named folders, in order, without duplicates.

    For a named file, the files in the folder `subagents` that belongs to it are included. For a named database,
    the sessions in it are returned.
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


def read(
    path: str,
    dialect: str | None,
    companions: Companions,
    spool: Spool | None = None,
    known_files: Mapping[str, LookedAt] = MappingProxyType({}),
) -> ReadSource:
    """Read the session in a file.

    Args:
        path: The file.
        dialect: The format. If None, it is detected.
        companions: Finds what other files say about the session.
        spool: Takes the long texts, and the files that the agent wrote beside it. If None, long texts stay in the
            entries, and no other files are read.
        known_files: The files beside it as an earlier reading found them, if the store has them.

    Raises:
        NotImported: The file is not a session that can be imported.
        OSError: The file cannot be read.
    """
    with contextlib.ExitStack() as opened:
        texts = None if spool is None else TakenTexts(spool)
        try:
            found = _read_source(path, dialect, companions, texts, opened)
        except BaseException as error:
            if texts is not None and texts.files:
                texts.spool.clear()
            if isinstance(error, NotText):
                raise NotImported("it became shorter while it was read") from None
            if isinstance(error, memory_limit.LineExceedsMemory):
                raise NotImported(str(error)) from None
            raise
    return found if spool is None else _with_attachments(found, path, spool, known_files)


def _read_source(
    path: str,
    dialect: str | None,
    companions: Companions,
    texts: TakenTexts | None,
    opened: contextlib.ExitStack,
) -> ReadSource:
    content = _bytes(path, texts, opened)
    data, status = content.data, content.status
    is_compressed = path.endswith(
        compressed.SUFFIX
    )  # compressed by its agent, which no longer writes to the file
    growing = not is_compressed and is_growing(status)
    try:
        source = data
        if is_compressed:
            source = compressed.decompressed(data, memory_limit.largest_readable())
        if texts is not None and content.digests is None:
            source = texts.shortened(source, growing=growing)
        imported, beside, reader = _imported(
            path, source, status, dialect, companions, growing=growing,
            content=content_of(texts, opened),
        )  # fmt: skip
        if texts is not None:
            imported = texts.put_into(imported)
    except compressed.BadFrame as damage:
        refusal = NotImported(str(damage))
        refusal.state = _state(content, {}, is_final=True)
        raise refusal from None
    except NotImported as refusal:
        refusal.state = _state(content, {}, is_final=not growing)
        raise
    is_final = not growing or (imported.report.held_back_count == 0 and data.endswith(b"\n"))
    state = _state(content, beside, is_final=is_final)
    return ReadSource(imported, state, reader, {} if texts is None else texts.files)


def _with_attachments(
    found: ReadSource, path: str, spool: Spool, known_files: Mapping[str, LookedAt]
) -> ReadSource:
    """Return what was read with the files that the agent wrote beside it."""
    beside = AttachmentReader(path, found.imported.dialect, spool, known_files)
    try:
        imported = beside.add_to(found.imported)
    except BaseException:
        if found.files or beside.files:
            spool.clear()
        raise
    state = msgspec.structs.replace(found.state, attachments=beside.looked_at)
    return found._replace(imported=imported, state=state, files={**beside.files, **found.files})


def is_growing(status: FileStatus) -> bool:
    """Return whether the program may still write to a file."""
    return time.time() - status.modified_ns / 1e9 < GROWING_SECONDS


def reason_to_skip(status: os.stat_result) -> str | None:
    """Return why a file with this status is not read; None if it may be read."""
    return None if stat.S_ISREG(status.st_mode) else "it is not a regular file"


def state_if_same_content(path: str, known_state: SourceState) -> SourceState | None:
    """Read a file, and return its present state if it has the content of an earlier state, otherwise None.

    Raises:
        NotImported: The file is not a regular file, or too large.
        OSError: The file cannot be read.
    """
    if (parts := database_sources.parts_of(path)) is not None:
        content, (size, digest) = _digested_in_database(path, parts, time.time_ns())
    elif database_sources.is_no_file(path):
        content = _bytes_in_database(path, time.time_ns())
        size, digest = len(content.data), digest_of(content.data)
    else:
        with contextlib.ExitStack() as opened:
            file, status, now_ns = open_source(path, opened)
            size, digest = status.size, digest_of_file(file, status.size)[0]
            content = _Content(b"", status, is_as_before(file, status, now_ns))
    if size != known_state.consumed_bytes or digest != known_state.digest:
        return None
    return msgspec.structs.replace(known_state, status=content.status, is_settled=content.is_identified)


def _state(content: _Content, beside: dict[str, Any], *, is_final: bool) -> SourceState:
    if content.digests is not None:
        consumed, digest = content.digests.whole if is_final else content.digests.lines
    else:
        consumed = len(content.data) if is_final else content.data.rfind(b"\n") + 1
        digest = digest_of(memoryview(content.data)[:consumed])
    return SourceState(
        status=content.status, is_settled=content.is_identified, is_final=is_final, consumed_bytes=consumed,
        digest=digest, companions=digest_of_companions(beside),
    )  # fmt: skip


def _imported(
    path: str, data: bytes, status: FileStatus, dialect: str | None, companions: Companions,
    *, growing: bool, content: Callable[[str], bytes | None],
) -> tuple[Imported, dict[str, Any], bytes | None]:  # fmt: skip
    """Return the session in the bytes of a file, the data from files beside it, and the state of its reader.

    Raises `NotImported`.
    """
    if not data or data.isspace():
        raise NotImported(NO_ENTRIES)  # its program has just created it
    detected = dialect or known.detect_whole(data)
    if detected is None:
        raise NotImported("it is not a session file of a known program")
    beside = companions.of(path, detected)
    source = Source(
        name=Path(path).name,
        data=data,
        modified=clock.iso(status.modified_ns),
        growing=growing,
        beside=beside,
        inherited=fork_history.inherited(path, detected, data, content),
    )
    try:
        imported, reader = _read(source, detected)
    except RecursionError:
        raise NotImported(TOO_DEEP) from None
    if not imported.conversation_count:
        raise NotImported(NO_ENTRIES)
    return imported, beside, reader


def _read(source: Source, dialect: str) -> tuple[Imported, bytes | None]:
    """Return the session, and the state of the reader after all lines if the reader can continue in this file."""
    make = known.DIALECTS[dialect].reader
    size = len(source.data) + len(source.inherited)
    if make is None or size < MIN_READER_BYTES or not source.data.endswith(b"\n"):
        return known.DIALECTS[dialect].read(source), None
    reader = make(source, None)
    reader.take(source.lines())
    state = reader.state()
    if not source.growing:
        reader.end()
    # No reader would find a text that was taken out of a line that waits.
    return reader.result(), None if state is None or MARK in state else state


def content_of(texts: TakenTexts | None, opened: contextlib.ExitStack) -> Callable[[str], bytes | None]:
    """Return what reads the content of a file, which may be compressed; None if it cannot be read."""
    return lambda path: _content(path, texts, opened)


def _content(path: str, texts: TakenTexts | None, opened: contextlib.ExitStack) -> bytes | None:
    try:
        content = _bytes(path, texts, opened)
        data = content.data
        if path.endswith(compressed.SUFFIX):
            data = compressed.decompressed(data, memory_limit.largest_readable())
    except (NotImported, OSError, compressed.BadFrame):
        return None
    return data if texts is None or content.digests is not None else texts.shortened(data, growing=False)


def _bytes(path: str, texts: TakenTexts | None, opened: contextlib.ExitStack) -> _Content:
    """Return the bytes of a regular file, or of a session in a database, without long texts if the file is large.

    The file is open as long as `opened`.
    """
    if database_sources.is_no_file(path):
        return _bytes_in_database(path, time.time_ns())
    file, status, now_ns = open_source(path, opened)
    if texts is not None and status.size > LONG_TEXT and not path.endswith(compressed.SUFFIX):
        if (reason := memory_limit.reason_to_refuse(status.size)) is not None:
            raise NotImported(reason)
        data, digests = texts.read(file.fileno(), status.size, growing=is_growing(status))
        has_all = digests.whole[0] == status.size
        return _Content(data, status, has_all and is_as_before(file, status, now_ns), digests)
    data = _read_bytes(file, status)
    return _Content(data, status, len(data) == status.size and is_as_before(file, status, now_ns))


def open_source(path: str, opened: contextlib.ExitStack) -> tuple[BinaryIO, FileStatus, int]:
    """Open a regular file. Returns it with its status, and a time before it was read.

    Raises `NotImported` for another file, and for one with large holes.
    """
    now_ns = time.time_ns()
    fd = os.open(
        path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    )  # opening a FIFO must not block until it has a writer
    file = opened.enter_context(os.fdopen(fd, "rb"))
    found = os.fstat(fd)
    if (reason := reason_to_skip(found) or memory_limit.reason_to_refuse_holes(fd, found)) is not None:
        raise NotImported(reason)
    return file, FileStatus.of(found), now_ns


def _read_bytes(file: BinaryIO, status: FileStatus) -> bytes:
    """Return the bytes of a file that is read as a whole. Raises `NotImported` if the memory does not suffice."""
    if (reason := memory_limit.reason_to_refuse(status.size)) is not None:
        raise NotImported(reason)
    return file.read()


def is_as_before(file: BinaryIO, status: FileStatus, now_ns: int) -> bool:
    """Return whether a file has the status that it had before it was read, and this status identifies its bytes."""
    return FileStatus.of(os.fstat(file.fileno())) == status and is_settled(status, now_ns)


def _bytes_in_database(path: str, now_ns: int) -> _Content:
    """Return what `_bytes` returns, for a session in a database or in folders."""
    parts = database_sources.parts_of(path)
    if parts is None and (folders := database_sources.folders_of(path)) is not None:
        status, content = database_sources.status_of(path), folders.document(path)
        if status is None or content is None:
            raise NotImported("the session is gone")
        is_same = database_sources.status_of(path) == status
        return _Content(content, status, is_settled(status, now_ns) and is_same)
    database = database_sources.database_at(path if parts is None else parts[0])
    try:
        if parts is None:
            database.marks(path)
            raise NotImported("it has no sessions")
        if (reason := memory_limit.reason_to_refuse(database.size_of(*parts))) is not None:
            raise NotImported(reason)
        status = database_sources.status_of(path)
        data = database.document(*parts)
    except UnreadableDatabase as error:
        raise NotImported(str(error)) from None
    if data is None or status is None:
        raise NotImported("the database has no such session")
    return _Content(data, status, is_settled(status, now_ns))


def _digested_in_database(path: str, parts: tuple[str, str], now_ns: int) -> tuple[_Content, tuple[int, str]]:
    """Return what `_bytes` returns for a session in a database, without its bytes, and their number and digest."""
    digests = Digests()
    try:
        status = database_sources.status_of(path)
        with database_sources.database_at(parts[0]).messages(*parts) as messages:
            if messages is None or status is None:
                raise NotImported("the database has no such session")
            for piece in messages.pieces():
                digests.update(piece)
    except UnreadableDatabase as error:
        raise NotImported(str(error)) from None
    return _Content(b"", status, is_settled(status, now_ns)), digests.whole


def _below(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(str(Path(folder))):
        folders.sort()
        if (having_sessions := database_sources.names_in(parent)) is not None:
            folders[:] = having_sessions  # the other folders have the messages
        for name in sorted(names):
            if name.endswith(_SUFFIXES) and not name.endswith(".meta.json"):
                yield f"{parent.rstrip('/')}/{name}"
