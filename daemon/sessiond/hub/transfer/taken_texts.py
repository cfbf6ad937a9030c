"""Takes long texts out of the lines of a source before it is decoded, and puts references into its entries.

A line of 200 MB would be in memory several times while it is decoded and converted, and no client could read its entry.
So the reader of the format receives the line with a short form of its long texts: the beginning, a mark and the end.
Afterwards, each entry that has a mark gets the beginning of its text and a reference to a blob with the whole text
(decision 0014). If a reader has changed the beginning or the end of a text, its blob has the same change. A text that
is JSON is shortened inside, so that a reader can decode it, too.
"""

import codecs
import contextlib
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Raw

from sessiond.hub.session.drafts import MAX_ENTRY_BYTES
from sessiond.hub.transfer import memory_limit
from sessiond.hub.transfer.json_texts import NotText, ReadAt, Region, decoded, long_texts
from sessiond.hub.transfer.reading_progress import SpooledText
from sessiond.hub.transfer.source_state import Digests
from sessiond.hub.transfer.spool import Spool, SpooledBlob
from sessiond.session.content import blobs, extract_blobs
from sessiond.session.dialects import imported_log
from sessiond.session.dialects.import_builder import Imported, ImportedEntry, ImportReport

LONG_TEXT: Final = 16 * 1024 * 1024
"""Bytes of JSON above which a text is taken out. It depends on nothing else, so a file that grows changes no entry."""
MARK: Final = b"[sessiond-text:"
_MARK: Final = re.compile(r"\[sessiond-text:([0-9a-f]{64})\]")
CHUNK: Final = 1024 * 1024
"""Bytes of one read of a file."""
LONG_HEAD: Final = extract_blobs.MAX_CHARS - len(blobs.NOTICE)
SHORT_HEAD: Final = 4096
TAIL: Final = 1024
"""Characters of a taken text that stay: at its beginning, in a text of a message and elsewhere, and at its end."""
MIN_INNER: Final = 64 * 1024
"""Bytes above which a text is taken out of a text that is JSON."""
_MAX_INNER: Final = 1024 * 1024
"""Limit of the rest of a text that is JSON, when the texts in it are taken out."""
_CHANGED: Final = "a text of {size:,} bytes is shortened; the whole one is the blob {digest}"

_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_items = msgspec.json.Decoder(list[Raw]).decode
_references = msgspec.json.Decoder(dict[str, str]).decode
_string = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that was taken out: the ends that its reader received, and its blob."""

    head: str
    tail: str
    blob: SpooledBlob

    def between(self, head: str, tail: str) -> Region:
        """Return its bytes, with the changes that the reader made to its beginning and end."""
        skipped = len(self.head.removesuffix(head).encode())
        omitted = len(self.tail.removeprefix(tail).encode())
        return Region(_File(self.blob.path), skipped, self.blob.size - omitted)


class TakenTexts:
    """The texts that are taken out of one source.

    Attributes:
        files: The paths of their blobs, by hash.
        spool: Has these files.
    """

    def __init__(self, spool: Spool) -> None:
        self.files: dict[str, str] = {}
        self.spool = spool
        self._blobs: dict[str, SpooledBlob] = {}  # by path
        self._texts: dict[str, _Text] = {}
        self._wholes: list[tuple[str, Region]] = []
        """Lines, and texts that are JSON, in their short form, with the bytes that they stand for."""

    # --- before a source is read -----------------------------------------------------------------------

    def read(self, file: int, size: int, *, growing: bool) -> tuple[bytes, Digests]:
        """Return the first bytes of a file without long texts, and the digests of all of them.

        Args:
            file: Its descriptor, which stays open until `put_into`.
            size: The number of bytes.
            growing: Whether the last line may be incomplete. A long one is then cut, because it is read again.
        """
        return self._read(lambda offset, count: os.pread(file, count, offset), size, growing=growing)

    def shortened(self, data: bytes, *, growing: bool) -> bytes:
        """Return bytes without long texts."""
        if len(data) <= LONG_TEXT:
            return data
        return self._read(lambda offset, count: data[offset : offset + count], len(data), growing=growing)[0]

    def _read(self, read_at: ReadAt, size: int, *, growing: bool) -> tuple[bytes, Digests]:
        found = Digests()
        position = start = 0
        long_lines: list[tuple[int, int]] = []
        while chunk := read_at(position, min(CHUNK, size - position)):
            found.update(chunk)
            first, last = chunk.find(b"\n"), chunk.rfind(b"\n")
            if first >= 0:  # a line inside of the chunk is short
                if position + first - start > LONG_TEXT:
                    long_lines.append((start, position + first))
                start = position + last + 1
            position += len(chunk)
        if position - start > LONG_TEXT:
            long_lines.append((start, position))
        return self._shortened(read_at, long_lines, position, growing=growing), found

    def _shortened(
        self, read_at: ReadAt, long_lines: Iterable[tuple[int, int]], size: int, *, growing: bool
    ) -> bytes:
        made = io.BytesIO()  # joining parts would need twice the memory
        position = 0
        for start, end in long_lines:
            made.writelines(Region(read_at, position, start).chunks())
            made.write(self.line(Region(read_at, start, end), is_cut=growing and end == size))
            position = end
        made.writelines(Region(read_at, position, size).chunks())
        return made.getvalue()

    def line(self, line: Region, *, is_cut: bool) -> bytes:
        """Return a long line without its long texts. Raises `LineExceedsMemory` if it has none and is too large.

        Args:
            line: The line.
            is_cut: Whether its end may be missing. If a text has no end then, the line is cut: it is read again.
        """
        texts = long_texts(line, LONG_TEXT)
        if texts is None and is_cut:
            return line.read(line.start, SHORT_HEAD)
        short = None if texts is None else self._short(line, texts)
        if short is None:
            memory_limit.check_line(line.size)
            return b"".join(line.chunks())
        return short

    def _short(self, region: Region, texts: Sequence[Region]) -> bytes | None:
        """Return JSON without some of its texts; None if they cannot be taken out, or there are none."""
        if not texts:
            return None
        made = bytearray()
        position = region.start
        try:
            for text in texts:
                made += b"".join(region.within(position, text.start - 1).chunks())
                made += _encode(self._take(text))
                position = text.end + 1
        except NotText:
            return None
        made += b"".join(region.within(position, region.end).chunks())
        short = bytes(made)
        with contextlib.suppress(UnicodeDecodeError):  # no entry has this text
            self._wholes.append((short.decode(), region))
        return short

    def _take(self, region: Region) -> str:
        """Write a text into a file, and return its short form."""
        head = tail = ""

        def parts() -> Iterator[bytes]:
            nonlocal head, tail
            for piece in decoded(region):
                if len(head) < LONG_HEAD:
                    head += piece[:LONG_HEAD]
                tail = (tail + piece[-TAIL:])[-TAIL:]
                yield piece.encode()

        blob = self._keep(self.spool.write(parts()))
        inner = self._short_inner(blob, head) if region.size > LONG_TEXT else None
        if inner is not None:
            return inner
        head = _first_units(head, _head_units(blob.size))
        self._texts[blob.digest] = _Text(head, tail, blob)
        return f"{head}{MARK.decode()}{blob.digest}]{tail}"

    def _short_inner(self, blob: SpooledBlob, head: str) -> str | None:
        """Return the short form of a text that is JSON; None for another text."""
        if head.lstrip()[:1] not in ("{", "["):
            return None
        whole = Region(_File(blob.path), 0, blob.size)
        texts = long_texts(whole, MIN_INNER)
        if not texts or blob.size - sum(text.size for text in texts) > _MAX_INNER:
            return None
        short = self._short(whole, texts)
        try:
            msgspec.json.decode(short or b"")
        except (msgspec.DecodeError, RecursionError):
            return None
        return None if short is None else short.decode()

    def _keep(self, blob: SpooledBlob) -> SpooledBlob:
        there = self.files.setdefault(blob.digest, blob.path)
        if there != blob.path:
            Path(blob.path).unlink()
            return self._blobs[there]
        self._blobs[there] = blob
        return blob

    # --- after it was read -----------------------------------------------------------------------------

    def put_into(self, imported: Imported) -> Imported:
        """Return what was read with references in place of the marks, and with entries that clients can read."""
        entries = [self.complete(entry, imported.dialect, imported.report) for entry in imported.entries]
        return replace(imported, entries=entries, title=without_mark(imported.title))

    def forget(self, waiting: bytes) -> None:
        """Forget the texts of lines whose entries are complete, unless `waiting`, the state of a reader, has marks."""
        if self._texts and MARK not in waiting:
            self._texts, self._wholes = {}, []

    def spooled(self) -> list[SpooledText]:
        """Return the blobs that are in files."""
        return [SpooledText(text.digest, Path(path).name, text.size) for path, text in self._blobs.items()]

    def restore(self, texts: Iterable[SpooledText]) -> bool:
        """Take the blobs of another process. Returns whether the files of all are there."""
        for text in texts:
            path = Path(self.spool.folder) / text.name
            if not path.is_file() or path.stat().st_size != text.size:
                return False
            self.files[text.digest] = str(path)
            self._blobs[str(path)] = SpooledBlob(text.digest, str(path), text.size)
        return True

    @property
    def has_texts(self) -> bool:
        """Whether texts were taken out of lines since the last ones were forgotten."""
        return bool(self._texts)

    def complete(self, entry: ImportedEntry, dialect: str, report: ImportReport) -> ImportedEntry:
        """Return an entry with references in place of the marks, which clients can read.

        Args:
            entry: The entry.
            dialect: The format of the source.
            report: Receives the problems.
        """
        line = entry.line
        if self._texts and MARK in line:
            try:
                line = self._with_references(line, report)
            except (msgspec.DecodeError, RecursionError) as error:
                kept = imported_log.as_preserved(entry, dialect, str(error))
                entry = ImportedEntry(
                    entry.id, entry.parent_id, "custom", self._with_references(kept, report)
                )
                line = entry.line
        if len(line) > MAX_ENTRY_BYTES:
            line = self._extracted(line)
        if len(line) <= MAX_ENTRY_BYTES:
            return entry if line is entry.line else msgspec.structs.replace(entry, line=line)
        reason = f"it has {len(line):,} bytes, and an entry at most {MAX_ENTRY_BYTES:,}"
        line = self._extracted(imported_log.as_preserved(entry, dialect, reason))
        return ImportedEntry(entry.id, entry.parent_id, "custom", line)

    def _extracted(self, line: bytes) -> bytes:
        found = extract_blobs.extract(line, images=False)
        self.keep(found.blobs.values())
        return found.draft

    def keep(self, texts: Iterable[bytes]) -> None:
        """Write further texts into files."""
        for data in texts:
            self._keep(self.spool.write([data]))

    def _with_references(self, line: bytes, report: ImportReport) -> bytes:
        members = _fields(line)
        found = _references(members.pop(blobs.FIELD, Raw(b"{}")))
        changed = self._members(members, "", found, report)
        if found:
            changed[blobs.FIELD] = Raw(_encode(found))
        return _encode(changed)

    def _members(
        self, members: dict[str, Raw], pointer: str, found: dict[str, str], report: ImportReport
    ) -> dict[str, Raw]:
        return {
            name: self._value(value, blobs.below(pointer, name), found, report)
            for name, value in members.items()
        }

    def _value(self, value: Raw, pointer: str, found: dict[str, str], report: ImportReport) -> Raw:
        data = bytes(value)
        if MARK not in data:
            return value
        match data[:1]:
            case b'"':
                return Raw(_encode(self._referenced(_string(data), pointer, found, report)))
            case b"{":
                members = self._members(_fields(data), pointer, found, report)
                return Raw(_encode(members))
            case b"[":
                items = enumerate(_items(data))
                return Raw(_encode([self._value(raw, f"{pointer}/{at}", found, report) for at, raw in items]))
        return value

    def _referenced(self, text: str, pointer: str, found: dict[str, str], report: ImportReport) -> str:
        """Return the beginning of the text for which a text with marks stands, and note the reference to its blob."""
        marks = [match for match in _MARK.finditer(text) if match[1] in self._texts]
        if not marks:
            return text
        blob = self._original(text, marks)
        if blob is None:
            blob = self._texts[marks[0][1]].blob
            report.add_problem(0, _CHANGED.format(size=blob.size, digest=blob.digest))
            head = text[: marks[0].start()]
        else:
            head = _File(blob.path)(0, 4 * LONG_HEAD).decode("utf-8", "ignore")
        found[pointer] = blobs.PREFIX + blob.digest
        return _first_units(head, _head_units(blob.size)) + blobs.NOTICE

    def _original(self, text: str, marks: Sequence[re.Match[str]]) -> SpooledBlob | None:
        """Return a blob with the text for which a text with marks stands; None if it cannot be told."""
        parts = self._parts(text, marks)
        if parts is None:
            return None
        match parts:
            case ["", Region(read_at=_File(path)) as region, ""] if region.size == self._blobs[path].size:
                return self._blobs[path]
        try:
            return self._keep(self.spool.write(_checked(parts)))
        except (NotText, UnicodeError):
            return None

    def _parts(self, text: str, marks: Sequence[re.Match[str]]) -> list[str | Region] | None:
        """Return the parts of a whole text; None if they cannot be determined."""
        for short, region in self._wholes:
            before, found, after = text.partition(short)
            if found:
                return [before, region, after]
        parts: list[str | Region] = []
        position = 0
        for mark in marks:
            taken = self._texts[mark[1]]
            before, after = text[position : mark.start()], text[mark.end() :]
            head, tail = _common_end(before, taken.head), _common_start(after, taken.tail)
            if head not in (before, taken.head) or tail not in (after, taken.tail):
                return None  # the reader has changed more than the ends
            parts += [before.removesuffix(head), taken.between(head, tail)]
            position = mark.end() + len(tail)
        return [*parts, text[position:]]


@dataclass(frozen=True, slots=True)
class _File:
    """Reads a file of the spool."""

    path: str

    def __call__(self, offset: int, size: int) -> bytes:
        """Return the bytes from an offset on."""
        with open(self.path, "rb") as file:
            file.seek(offset)
            return file.read(size)


def without_mark(title: str | None) -> str | None:
    """Return a title without the mark of a taken text, and what follows the mark."""
    found = None if title is None else _MARK.search(title)
    return title if title is None or found is None else title[: found.start()]


def _checked(parts: Iterable[str | Region]) -> Iterator[bytes]:
    """Yield the bytes of the parts of a text. Raises `UnicodeError` if they are not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for part in parts:
        for data in [part.encode()] if isinstance(part, str) else part.chunks():
            decoder.decode(data)
            yield data
    decoder.decode(b"", final=True)


def _head_units(size: int) -> int:
    """Return the number of UTF-16 code units that remain in the entry of a text of this many bytes.

    In JSON, a text has at most six times as many bytes. A text inside of another one has less room.
    """
    return LONG_HEAD if size > LONG_TEXT // 8 else SHORT_HEAD


def _first_units(text: str, limit: int) -> str:
    if text.isascii():
        return text[:limit]
    return text.encode("utf-16-le")[: 2 * limit].decode("utf-16-le", "ignore")


def _common_start(text: str, other: str) -> str:
    if text.startswith(other):
        return other
    count = next((index for index, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), None)
    return other[:count] if count is not None else min(text, other, key=len)


def _common_end(text: str, other: str) -> str:
    return _common_start(text[::-1], other[::-1])[::-1]
