"""Reads the lines of a file in parts of bounded size, so that memory does not depend on the size of the file.

A part has whole lines: a mebibyte of them, or one that is larger with those that follow it in the same read. Of a line
with texts of more than 16 MiB, its short form is read (`taken_texts`). All functions block.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Final

from sessiond.hub.transfer import memory_limit, taken_texts
from sessiond.hub.transfer.json_texts import Region
from sessiond.hub.transfer.source_state import Digests
from sessiond.hub.transfer.taken_texts import TakenTexts
from sessiond.session.dialects.source import Source, SourceLine, common_fields, parts_of

PART_BYTES: Final = 1024 * 1024
"""The bytes of one read of a file, which are fewer than those of a long text: a line inside of one is short."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """Consecutive lines of a file, without empty ones. Each part of a damaged line is one.

    `end` is the offset of the first byte after them, and `newlines` is the number of newlines before it.
    """

    lines: list[SourceLine]
    end: int
    newlines: int


@dataclass(frozen=True)
class FileSource(Source):
    """A file of which only a part is in memory.

    Attributes:
        texts: Takes the long texts out of its lines.
        descriptor: Its descriptor, which is open as long as it is read.
        size: The number of bytes that are read.
        digests: The digests of the bytes that were read.
    """

    texts: TakenTexts | None = None
    descriptor: int = -1
    size: int = 0
    digests: Digests = field(default_factory=Digests)

    def first_bytes(self, size: int) -> bytes:
        """Return the first bytes, at most `size`."""
        return self._read_at(0, size)

    def bytes_before(self, end: int) -> Iterator[bytes]:
        """Yield the bytes before an offset. Raises `NotText` if the file is shorter."""
        yield from Region(self._read_at, 0, end).chunks()

    def first_line(self) -> bytes:
        """Return the first line in its short form; more lines may follow it."""
        first = next(self._blocks(0), b"")
        return first if isinstance(first, bytes) else self._shortened(first)

    def first_lines(self, count: int, limit: int) -> bytes:
        """Return the first lines, at least `count` if they have at most `limit` bytes. Nothing behind these is read."""
        found, lines, end = list[bytes](), 0, min(self.size, limit)
        for block in self._blocks(0, end):
            if isinstance(block, Region) and block.end == end < self.size:
                break  # it is longer
            found += [block] if isinstance(block, bytes) else [*block.chunks(), b"\n"]
            lines += block.count(b"\n") if isinstance(block, bytes) else 1
            if lines >= count:
                break
        return b"".join(found)

    def parts(self, start: int = 0, newlines: int = 0) -> Iterator[FilePart]:
        """Yield the lines from an offset on, with the inherited ones after the first.

        Args:
            start: The offset of the first byte of a line. The digests are those of the bytes before it.
            newlines: The number of newlines before it.
        """
        for block in self._blocks(start):
            if isinstance(block, bytes):
                raw_lines = block.split(b"\n")
                self.digests.update(block)
            else:
                raw_lines = [self._shortened(block)]
                for chunk in block.chunks():
                    self.digests.update(chunk)
                if block.end < self.size:
                    raw_lines.append(b"")
                    self.digests.update(b"\n")
            found = self._decoded(raw_lines, newlines + 1)
            if newlines == 0 and self.inherited and found:
                found = [found[0], *self.inherited_lines(), *found[1:]]
            newlines += len(raw_lines) - 1
            yield FilePart(found, self.digests.whole[0], newlines)

    @property
    def is_torn(self) -> bool:
        """Whether the last line has no newline."""
        size, _ = self.digests.whole
        return size != self.digests.lines[0]

    @cached_property
    def newline_count(self) -> int:
        """The number of its newlines. The file is read for it."""
        return sum(chunk.count(b"\n") for chunk in Region(self._read_at, 0, self.size).chunks())

    @cached_property
    def _common(self) -> frozenset[str]:
        blocks = (block if isinstance(block, bytes) else _whole(block) for block in self._blocks(0))
        return common_fields(chain.from_iterable(block.split(b"\n") for block in blocks))

    def _read_at(self, offset: int, size: int) -> bytes:
        return os.pread(self.descriptor, max(0, min(size, self.size - offset)), offset)

    def _blocks(self, start: int, stop: int | None = None) -> Iterator[bytes | Region]:
        """Yield the lines up to `stop`: whole ones with newlines, or the place of a long one without its newline."""
        stop = self.size if stop is None else stop
        position = begin = start
        pending: list[bytes] = []
        while chunk := self._read_at(position, min(PART_BYTES, stop - position)):
            first, last = chunk.find(b"\n"), chunk.rfind(b"\n") + 1
            end = position + (first if last else len(chunk))
            if end - begin <= taken_texts.LONG_TEXT:
                pending.append(chunk[:last] if last else chunk)
            else:
                pending.clear()
            if last:
                if end - begin > taken_texts.LONG_TEXT:
                    yield Region(self._read_at, begin, end)
                    pending.append(chunk[first + 1 : last])
                block, pending = b"".join(pending), [chunk[last:]]
                if block:
                    yield block
                begin = position + last
            position += len(chunk)
        if position - begin > taken_texts.LONG_TEXT:
            yield Region(self._read_at, begin, position)
        elif position > begin:
            yield b"".join(pending)

    def _shortened(self, line: Region) -> bytes:
        is_last = line.end == self.size
        if self.texts is None:
            return _whole(line)
        return self.texts.line(line, is_cut=self.growing and is_last)

    def _decoded(self, raw_lines: Iterable[bytes], number: int) -> list[SourceLine]:
        """Return the lines of a block, whose last one is a torn line, or empty behind the last newline."""
        *whole, tail = raw_lines
        found = [
            part
            for at, raw in enumerate(whole, number)
            if raw.strip()
            for part in parts_of(at, raw, self._is_like_others)
        ]
        if tail.strip():
            last = parts_of(number + len(whole), tail, self._is_like_others)
            if not self.growing or all(line.value is not None for line in last):
                found += last
        return found


def _whole(line: Region) -> bytes:
    """Return a long line. Raises `LineExceedsMemory`."""
    memory_limit.check_line(line.size)
    return b"".join(line.chunks())
