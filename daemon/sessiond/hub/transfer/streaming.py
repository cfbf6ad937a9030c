"""Reads a source part by part into the log of a new session, so that memory does not depend on the size of the source.

The reader of the format takes a part, the lines of a file or the messages in a database, and its entries go into files
of the spool (`entry_files`). The result is that of reading the whole source at once (decision 0071). A file whose lines
depend on later ones is left to `foreign_files`, and so is each that is not lines. All functions block.
"""

import contextlib
import gc
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final

import msgspec

from sessiond.agents import known
from sessiond.agents.companions import Companions
from sessiond.agents.session_database import UnreadableDatabase
from sessiond.hub import clock
from sessiond.hub.transfer import (
    compressed,
    database_sources,
    foreign_files,
    fork_history,
    memory_limit,
    reading_progress,
)
from sessiond.hub.transfer.attachments import AttachmentReader
from sessiond.hub.transfer.entry_files import EntryFiles, NamesOtherBlobs
from sessiond.hub.transfer.file_parts import FilePart, FileSource
from sessiond.hub.transfer.foreign_files import NO_ENTRIES, TOO_DEEP, NotImported, content_of
from sessiond.hub.transfer.json_texts import NotText
from sessiond.hub.transfer.message_parts import MessageSource
from sessiond.hub.transfer.reading_progress import PlainReport, ReadingProgress
from sessiond.hub.transfer.source_state import (
    Digests,
    FileStatus,
    LookedAt,
    SourceState,
    digest_of,
    digest_of_companions,
    is_settled,
)
from sessiond.hub.transfer.spool import Spool
from sessiond.hub.transfer.taken_texts import CHUNK, MARK, TakenTexts, without_mark
from sessiond.hub.transfer.unchanged import IMPORTER
from sessiond.session.content import fields
from sessiond.session.dialects import imported_log
from sessiond.session.dialects.import_builder import Imported, ImportReport
from sessiond.session.dialects.source import FIRST_LINES, first_objects
from sessiond.session.dialects.source_reader import NewReader
from sessiond.store.files.space import free_bytes

_MAX_FIRST: Final = 32 * 1024 * 1024
"""Bytes of the first lines in which the format of a file is looked for."""
_FREE_SHARE: Final = 2
"""A compressed file is not read if its content takes more than this part of the free bytes of the disk."""


@dataclass(frozen=True, slots=True)
class StreamedLog:
    """The log of a new session in a file, synced by nobody yet.

    Attributes:
        path: The file.
        session_id: The id of the session.
        cwd: Its folder.
        imported: The session, with its origin as the only entry.
        state: The state of the file that was read.
        count: The number of entries.
        is_answered: Whether it is more than a draft.
        reader: The state of the reader, if it can continue.
        named: The hashes of the blobs that the log names.
        files: The files of the spool with these blobs, by hash.
    """

    path: str
    session_id: str
    cwd: str
    imported: Imported
    state: SourceState
    count: int
    is_answered: bool
    reader: bytes | None
    named: frozenset[str]
    files: dict[str, str]


def read(
    path: str,
    dialect: str | None,
    companions: Companions,
    spool: Spool,
    known_files: Mapping[str, LookedAt] = MappingProxyType({}),
    *,
    cwd: str | None,
    title_space: bool,
) -> StreamedLog | None:
    """Read a file into the log of a new session.

    Args:
        path: The file.
        dialect: The format. If None, it is detected.
        companions: Finds what other files say about the session.
        spool: Takes the log, and the long texts.
        known_files: The files beside the source that an earlier reading looked at.
        cwd: The folder of the session; None for the one that the file names.
        title_space: Whether the header has space for a later title.

    Returns:
        The log; None if the file must be read whole. Nothing is in the spool then.

    Raises:
        NotImported: The file is not a session that can be imported.
        OSError: The file cannot be read, or the spool not be written.
    """
    log, is_own = None, True
    try:
        with contextlib.ExitStack() as opened:
            texts = TakenTexts(spool)
            source = _source(path, dialect, companions, texts, opened)
            if source is not None:
                attachments = AttachmentReader(path, source.dialect, spool, known_files)
                entries = opened.enter_context(EntryFiles(texts, attachments, source.dialect))
                log = _Stream(source, texts, entries, attachments).log(cwd, title_space=title_space)
    except UnreadableDatabase as error:
        log = None  # what was read is not of one moment
        raise NotImported(str(error)) from None
    except NamesOtherBlobs:
        pass
    except BlockingIOError:
        is_own = False
        raise
    except NotText:
        raise NotImported("it became shorter while it was read") from None
    except memory_limit.LineExceedsMemory as refusal:
        raise NotImported(str(refusal)) from None
    finally:
        if log is None and is_own:
            spool.clear()
    return log


def is_streamed(path: str, dialect: str | None) -> bool:
    """Return whether a source has lines or messages that a reader takes part by part. Raises what `read` raises."""
    if database_sources.is_no_file(path) or path.endswith(compressed.SUFFIX):
        return path.endswith(compressed.SUFFIX) or database_sources.parts_of(path) is not None
    with contextlib.ExitStack() as opened:
        file, status, _ = foreign_files.open_source(path, opened)
        found = dialect or _detected(FileSource("", b"", "", descriptor=file.fileno(), size=status.size))
    return found is not None and known.DIALECTS[found].reader is not None


@dataclass(slots=True)
class _OpenSource:
    """A source that is open.

    Attributes:
        dialect: Its format.
        status: Its status before it was read.
        now_ns: A time before that.
        lines: Its lines, which are in another file if they were compressed, or its messages.
        file: The file, whose bytes may be compressed; None for a session in a database.
        compressed: The digests of its bytes if they are compressed.
    """

    dialect: str
    status: FileStatus
    now_ns: int
    lines: FileSource | MessageSource
    file: BinaryIO | None
    compressed: Digests | None = None

    @property
    def new_reader(self) -> NewReader:
        """The function that returns a reader of the lines."""
        found = known.DIALECTS[self.dialect]
        make = found.reader if isinstance(self.lines, FileSource) else found.message_reader
        assert make is not None
        return make

    def state(self, *, is_final: bool) -> SourceState:
        """Return the state of the source after all lines."""
        digests = self.lines.digests if self.compressed is None else self.compressed
        consumed, digest = digests.whole if is_final else digests.lines
        return SourceState(
            status=self.status, is_settled=self._is_settled(digests.whole[0]), is_final=is_final,
            consumed_bytes=consumed, digest=digest, companions=digest_of_companions(self.lines.beside),
        )  # fmt: skip

    def _is_settled(self, size: int) -> bool:
        if self.file is None:
            return is_settled(self.status, self.now_ns)
        return size == self.status.size and foreign_files.is_as_before(self.file, self.status, self.now_ns)


def _source(
    path: str, dialect: str | None, companions: Companions, texts: TakenTexts, opened: contextlib.ExitStack
) -> _OpenSource | None:
    """Open a source; None if it must be read whole. Raises what `read` raises, and `UnreadableDatabase`."""
    if database_sources.is_no_file(path):
        return _messages(path, dialect, companions, texts, opened)
    source = _file(path, texts.spool, opened)
    lines = source.lines
    assert isinstance(lines, FileSource)
    found = dialect or _detected(lines)
    if found is None or known.DIALECTS[found].reader is None:
        return None
    inherited = fork_history.inherited(path, found, lines.first_line(), content_of(texts, opened))
    beside = companions.of(path, found)
    lines = replace(lines, beside=beside, texts=texts, inherited=inherited)
    return replace(source, dialect=found, lines=lines)


def _messages(
    path: str, dialect: str | None, companions: Companions, texts: TakenTexts, opened: contextlib.ExitStack
) -> _OpenSource | None:
    now_ns, parts = time.time_ns(), database_sources.parts_of(path)
    found = None if parts is None else database_sources.dialect_of(parts[0])
    if parts is None or found is None or dialect not in (None, found):
        return None
    status = database_sources.status_of(path)
    messages = opened.enter_context(database_sources.database_at(parts[0]).messages(*parts))
    detects, make = known.DIALECTS[found].detect_document, known.DIALECTS[found].message_reader
    if status is None or messages is None or make is None or not messages.is_in_order:
        return None
    if detects is None or not detects({"info": messages.info, "messages": []}):
        return None
    lines = MessageSource(
        Path(path).name, b"", clock.iso(status.modified_ns), foreign_files.is_growing(status),
        companions.of(path, found), messages=messages, texts=texts,
    )  # fmt: skip
    return _OpenSource(found, status, now_ns, lines, None)


def _file(path: str, spool: Spool, opened: contextlib.ExitStack) -> _OpenSource:
    """Open a file whose format is not known yet."""
    file, status, now_ns = foreign_files.open_source(path, opened)
    name, modified = Path(path).name, clock.iso(status.modified_ns)
    if not path.endswith(compressed.SUFFIX):
        growing = foreign_files.is_growing(status)
        lines = FileSource(name, b"", modified, growing, descriptor=file.fileno(), size=status.size)
        return _OpenSource("", status, now_ns, lines, file)
    free = free_bytes(Path(spool.folder))
    limit = None if free is None else free // _FREE_SHARE
    if limit is not None and status.size > limit:
        raise NotImported(compressed.TOO_LARGE.format(limit=limit))
    digests = Digests()
    while block := file.read(CHUNK):
        digests.update(block)
    file.seek(0)
    content = opened.enter_context(spool.unnamed())
    try:
        compressed.decompress(file, content, limit)
    except compressed.BadFrame as damage:
        refusal = NotImported(str(damage))
        nothing = FileSource(name, b"", modified)
        refusal.state = _OpenSource("", status, now_ns, nothing, file, digests).state(is_final=True)
        raise refusal from None
    lines = FileSource(name, b"", modified, descriptor=content.fileno(), size=content.tell())
    return _OpenSource("", status, now_ns, lines, file, digests)


def _detected(source: FileSource) -> str | None:
    """Return the format of a file by its first lines, or None."""
    found = known.detect(source.first_bytes(known.HEAD_BYTES))
    if found is not None or source.size <= known.HEAD_BYTES:
        return found
    first = first_objects(source.first_lines(FIRST_LINES, _MAX_FIRST))
    return next((name for name, dialect in known.DIALECTS.items() if dialect.detect(first)), None)


class _Stream:
    """One source on its way into a log."""

    def __init__(
        self, source: _OpenSource, texts: TakenTexts, entries: EntryFiles, attachments: AttachmentReader
    ) -> None:
        self._source = source
        self._lines = source.lines
        self._reader = source.new_reader(source.lines, None)
        self._texts = texts
        self._entries = entries
        self._attachments = attachments
        self._problems = ImportReport()  # of the texts, which are reported after those of the reader
        self._recorded = 0  # the offset of the last record of the progress
        self._state_bytes = 0

    def log(self, cwd: str | None, *, title_space: bool) -> StreamedLog | None:
        """Read the file. The arguments are those of `read`."""
        start, newlines = self._continued()
        reader, lines = self._reader, self._lines
        try:
            for part in lines.parts(start, newlines):
                reader.take(part.lines)
                if reader.is_behind:
                    return None
                self._pass_on()
                self._record(part)
            reader_state = self._reader_state()
            if not lines.growing:
                reader.end()
                self._pass_on()
            imported = reader.result()
        except RecursionError:
            raise self._refusal(TOO_DEEP) from None
        counts = self._entries.counts
        if not counts.tree:
            raise self._refusal(NO_ENTRIES)
        session_id = imported_log.candidates(imported, str(lines.beside["sourcePath"]))[0]
        imported = replace(imported, title=without_mark(imported.title), conversation_count=counts.tree)
        folder = imported.cwd if cwd is None else cwd
        path = self._entries.write_log(imported, session_id, folder, self._problems, title_space=title_space)
        imported.report.add_all(self._problems)
        is_final = not lines.growing or not (imported.report.held_back_count or lines.is_torn)
        state = msgspec.structs.replace(
            self._source.state(is_final=is_final), attachments=self._attachments.looked_at
        )
        count = 1 + counts.tree + counts.beside
        return StreamedLog(
            path, session_id, folder, replace(imported, entries=[]), state,
            count, imported.is_state or counts.is_answered, reader_state,
            frozenset(self._entries.named), {**self._attachments.files, **self._texts.files},
        )  # fmt: skip

    def _continued(self) -> tuple[int, int]:
        """Continue where a process that was ended has left the file. Returns the offset, and the newlines before it."""
        progress, lines = reading_progress.load(self._texts.spool), self._lines
        if progress is not None and self._is_of_this_file(progress):
            for chunk in lines.bytes_before(progress.offset):
                lines.digests.update(chunk)
            if (
                lines.digests.whole == (progress.offset, progress.digest)
                and self._texts.restore(progress.texts)
                and self._entries.restore(progress.entries)
            ):
                self._reader = self._source.new_reader(lines, progress.reader)
                self._reader.builder.restore_outline(progress.outline, progress.report.report())
                self._problems = progress.problems.report()
                self._attachments.restore(progress.seen)
                self._recorded, self._state_bytes = progress.offset, len(progress.reader)
                return progress.offset, progress.newlines
            lines.digests.reset()
            self._texts.files.clear()
        self._entries.begin()
        return 0, 0

    def _is_of_this_file(self, progress: ReadingProgress) -> bool:
        return progress.offset <= self._lines.size and (
            (progress.importer, progress.dialect, progress.companions)
            == (IMPORTER, self._source.dialect, self._companions)
        )

    @property
    def _companions(self) -> str:
        return digest_of_companions({**self._lines.beside, "inherited": digest_of(self._lines.inherited)})

    def _record(self, part: FilePart) -> None:
        """Record the progress if much was read since the last record."""
        since = part.end - self._recorded
        if since < max(reading_progress.MIN_BYTES, reading_progress.STATES * self._state_bytes):
            return
        builder, state = self._reader.builder, self._reader.state()
        if state is None or self._texts.has_texts:
            return
        self._recorded, self._state_bytes = part.end, len(state)
        progress = ReadingProgress(
            IMPORTER, self._source.dialect, self._companions, part.end, part.newlines, self._lines.digests.whole[1],
            state, builder.outline(), PlainReport.of(builder.report), PlainReport.of(self._problems),
            self._entries.written(), self._texts.spooled(), self._attachments.seen(),
        )  # fmt: skip
        reading_progress.store(self._texts.spool, progress)

    def _pass_on(self) -> None:
        """Write the entries that the reader has made, and forget what was in memory for them."""
        builder = self._reader.builder
        self._entries.add(*builder.drain(), self._problems)
        if self._texts.has_texts:
            self._texts.forget((self._reader.state() or b"") + fields.dumps(builder.origin))
        gc.collect(0)  # a child process has no garbage collection

    def _reader_state(self) -> bytes | None:
        """Return the state of the reader if it can continue after the last line, as `foreign_files` does."""
        if isinstance(self._lines, MessageSource):
            return None  # `database_tail` reads the last messages again
        size = self._lines.size + len(self._lines.inherited)
        if size < foreign_files.MIN_READER_BYTES or self._lines.is_torn:
            return None
        state = self._reader.state()
        return None if state is None or MARK in state else state

    def _refusal(self, reason: str) -> NotImported:
        """Return the refusal of the whole file."""
        for _ in self._lines.parts(self._lines.digests.whole[0]):
            pass  # the digests are those of all bytes
        refusal = NotImported(reason)
        state = self._source.state(is_final=not self._lines.growing)
        refusal.state = msgspec.structs.replace(state, companions=digest_of_companions({}))
        return refusal
