"""The texts of the index, packed with Zstandard.

A block holds the texts of consecutive entries of one file. A line feed separates them, which no text of the index
contains (`search_words.searchable`). Blocks are packed with a dictionary of what texts have in common. A dictionary is
trained on the texts of this index, and is kept only here, beside them.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import zstandard

from sessiond.session.tree.steps import Steps

TABLES: Final = """
CREATE TABLE packed(
    first INTEGER PRIMARY KEY,       -- the number of the entry of its first text; the other texts follow
    dictionary INTEGER NOT NULL,     -- 0 for none
    data BLOB NOT NULL
);
CREATE TABLE dictionaries(
    id INTEGER PRIMARY KEY,
    entries INTEGER NOT NULL,        -- the number of entries when it was trained
    data BLOB NOT NULL
);
"""

BLOCK_BYTES: Final = 32 * 1024
"""The number of bytes from which on a block is full. A text of any length fits into a block."""
_LEVEL: Final = 3
_MAX_UNPACKED_BYTES: Final = 64 << 20
"""More than any block has. A block that claims more is damaged."""
_USED_BLOCKS: Final = 16
FIRST_TRAINING: Final = 3_000
"""The number of entries from which the first dictionary is trained."""
_NEXT_TRAINING: Final = 16
"""The next dictionary is trained when there are this many times the entries."""
_DICTIONARY_BYTES: Final = 256 * 1024
_SAMPLED_BLOCKS: Final = 100
_SAMPLED_BYTES: Final = 8_000
"""Limit of the bytes of one text in a sample."""
_SAMPLES_PER_BYTE: Final = 8
"""A dictionary is at most this fraction of the texts on which it is trained."""
_PACKED_AGAIN: Final = 16
"""The blocks that are packed again in one step, in some milliseconds."""
_SEGMENT: Final = 1_024
_MATCH: Final = 8
"""`k` and `d` of the training. Without them Zstandard tries several, which takes four times as long and gains 1 %."""


class _Block(NamedTuple):
    """The texts of consecutive entries."""

    first: int
    texts: list[bytes]

    def has(self, number: int) -> bool:
        return self.first <= number < self.first + len(self.texts)


class PackedTexts:
    """Packs and unpacks the texts of a database. Used on one thread, like its connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._packer: tuple[int, zstandard.ZstdCompressor] | None = None
        """The number of the newest dictionary, and what packs with it."""
        self._unpackers = {0: zstandard.ZstdDecompressor()}
        self._used: OrderedDict[int, _Block] = OrderedDict()
        """The blocks that were used last."""
        self._train_at: int | None = None
        """The number of entries from which the next dictionary is trained; None if it is not known yet."""

    def add(self, file: int, first: int, texts: Sequence[str]) -> None:
        """Add texts of a file under consecutive numbers from `first`. Must be called within a transaction.

        If the texts before them are of the same file and fill no block, they are packed again, together with these.
        """
        before = self._unfilled(file, first)
        added = [text.encode() for text in texts]
        start = _Block(first, added) if before is None else before._replace(texts=before.texts + added)
        self._used.clear()
        number, packer = self._newest_dictionary()
        self._connection.executemany(
            "INSERT OR REPLACE INTO packed VALUES(?, ?, ?)",
            [(block.first, number, packer.compress(b"\n".join(block.texts))) for block in _filled(start)],
        )

    def text(self, number: int) -> str:
        """Return the text of an entry. Raises `sqlite3.DatabaseError` if there is none: the index is damaged."""
        for block in reversed(self._used.values()):
            if block.has(number):
                self._used.move_to_end(block.first)
                return block.texts[number - block.first].decode()
        found = self._last_block("first <= ?", number)
        if found is None or not found.has(number):
            raise sqlite3.DatabaseError(f"text {number} is missing")
        self._used[found.first] = found
        if len(self._used) > _USED_BLOCKS:
            self._used.popitem(last=False)
        return found.texts[number - found.first].decode()

    def of_file(self, file: int) -> Iterator[tuple[int, list[str]]]:
        """Yield the texts of a file in pieces, each with the number of its first text."""
        of_file = (
            "SELECT first FROM packed WHERE first IN (SELECT id FROM entries WHERE file = ?) ORDER BY first"
        )
        for (first,) in self._connection.execute(of_file, (file,)).fetchall():
            block = self._last_block("first = ?", first)
            if block is not None:
                yield first, [text.decode() for text in block.texts]

    def remove(self, file: int) -> None:
        """Delete the texts of a file, before the rows of its entries. Must be called within a transaction."""
        self._used.clear()
        self._connection.execute(
            "DELETE FROM packed WHERE first IN (SELECT id FROM entries WHERE file = ?)", (file,)
        )

    def train_if_due(self) -> None:
        """Train a dictionary if there are enough texts for a first or a better one. Must not be in a transaction."""
        entries = self._connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0]
        if self._train_at is None:
            trained = self._connection.execute("SELECT max(entries) FROM dictionaries").fetchone()[0]
            self._train_at = FIRST_TRAINING if trained is None else trained * _NEXT_TRAINING
        if entries < self._train_at:
            return
        if self._train(entries):
            self._train_at = entries * _NEXT_TRAINING
        else:
            self._train_at = 2 * entries

    def pack_again(self) -> Steps[None]:
        """Pack all texts with a dictionary that is trained on them, and delete those that were trained on others.

        Texts may be added and removed between the steps. Must not be in a transaction.
        """
        self._used.clear()
        before = self._newest_dictionary()[0]
        entries = self._connection.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()[0]
        if before and not (entries >= FIRST_TRAINING and self._train(entries)):
            self._packer = 0, zstandard.ZstdCompressor(level=_LEVEL, write_dict_id=False)
        yield
        last = 0
        while True:
            number, packer = self._newest_dictionary()
            old = self._connection.execute(
                "SELECT first FROM packed WHERE first >= ? AND dictionary BETWEEN 1 AND ? ORDER BY first LIMIT ?",
                (last, before, _PACKED_AGAIN),
            ).fetchall()
            blocks = [
                block for (first,) in old if (block := self._last_block("first = ?", first)) is not None
            ]
            if not old:
                break
            self._connection.execute("BEGIN")
            with self._connection:
                self._connection.executemany(
                    "UPDATE packed SET dictionary = ?, data = ? WHERE first = ?",
                    [(number, packer.compress(b"\n".join(block.texts)), block.first) for block in blocks],
                )
            last = old[-1][0]
            yield
        self._connection.execute("DELETE FROM dictionaries WHERE id <= ?", (before,))
        self._train_at = None
        self._unpackers = {0: self._unpackers[0]}

    def _train(self, entries: int) -> bool:
        """Train a dictionary, the newest one then. Returns False if there are too few texts, or too different ones."""
        samples = self._samples(entries)
        size = min(_DICTIONARY_BYTES, sum(map(len, samples)) // _SAMPLES_PER_BYTE)
        try:
            trained = zstandard.train_dictionary(size, samples, k=_SEGMENT, d=_MATCH).as_bytes()
        except (zstandard.ZstdError, ValueError):
            return False
        self._connection.execute("INSERT INTO dictionaries(entries, data) VALUES(?, ?)", (entries, trained))
        self._packer = None
        return True

    def _samples(self, entries: int) -> list[bytes | bytearray | memoryview]:
        """Return beginnings of texts from all parts of the index."""
        step = max(1, entries // _SAMPLED_BLOCKS)
        blocks = {
            block.first: block
            for number in range(step, entries + 1, step)
            if (block := self._last_block("first <= ?", number)) is not None
        }
        return [text[:_SAMPLED_BYTES] for block in blocks.values() for text in block.texts]

    def _unfilled(self, file: int, end: int) -> _Block | None:
        """Return the block of a file that ends before a number, if it is not full."""
        block = self._last_block(
            "first = (SELECT max(first) FROM packed WHERE first < ?)"
            " AND EXISTS (SELECT 1 FROM entries WHERE id = first AND file = ?)",
            end,
            file,
        )
        if block is None or block.first + len(block.texts) != end or _is_full(block.texts):
            return None
        return block

    def _last_block(self, condition: str, *values: int) -> _Block | None:
        row = self._connection.execute(
            f"SELECT first, dictionary, data FROM packed WHERE {condition} ORDER BY first DESC LIMIT 1",
            values,
        ).fetchone()
        return None if row is None else self._unpacked(*row)

    def _unpacked(self, first: int, dictionary: int, data: bytes) -> _Block:
        try:
            if zstandard.frame_content_size(data) > _MAX_UNPACKED_BYTES:
                raise sqlite3.DatabaseError(f"the texts from {first} on are damaged")
            return _Block(first, self._unpacker(dictionary).decompress(data).split(b"\n"))
        except zstandard.ZstdError as error:
            raise sqlite3.DatabaseError(f"the texts from {first} on are damaged: {error}") from None

    def _unpacker(self, number: int) -> zstandard.ZstdDecompressor:
        if number not in self._unpackers:
            self._unpackers[number] = zstandard.ZstdDecompressor(dict_data=self._dictionary(number))
        return self._unpackers[number]

    def _newest_dictionary(self) -> tuple[int, zstandard.ZstdCompressor]:
        """Return the number of the newest dictionary, 0 for none, and the compressor that uses it."""
        if self._packer is None:
            number = self._connection.execute("SELECT coalesce(max(id), 0) FROM dictionaries").fetchone()[0]
            known = self._dictionary(number) if number else None
            packer = zstandard.ZstdCompressor(level=_LEVEL, dict_data=known, write_dict_id=False)
            self._packer = number, packer
        return self._packer

    def _dictionary(self, number: int) -> zstandard.ZstdCompressionDict:
        row = self._connection.execute("SELECT data FROM dictionaries WHERE id = ?", (number,)).fetchone()
        if row is None:
            raise sqlite3.DatabaseError(f"dictionary {number} is missing")
        return zstandard.ZstdCompressionDict(row[0])


def _is_full(texts: Iterable[bytes]) -> bool:
    return sum(map(len, texts)) >= BLOCK_BYTES


def _filled(texts: _Block) -> Iterator[_Block]:
    """Yield texts in blocks, each of which but the last is full."""
    block, size = _Block(texts.first, []), 0
    for number, text in enumerate(texts.texts, texts.first):
        if size >= BLOCK_BYTES:
            yield block
            block, size = _Block(number, []), 0
        block.texts.append(text)
        size += len(text)
    if block.texts:
        yield block
