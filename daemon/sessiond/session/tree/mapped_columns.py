"""The ids of a tree that was restored from its open index: read-only bytes, and the rows that were added since.

The bytes are a mapped file, so a million ids need neither time nor memory until they are looked up.
"""

import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable, MutableSequence, Sequence
from typing import Final, TypeAlias, overload

Uints: TypeAlias = "memoryview[int]"
"""A column of unsigned integers."""

MAX_EQUAL_HASHES: Final = 16
"""Limit of the rows whose ids have the same hash. An index with more is not written: a lookup would be slow."""
_ROW_BITS: Final = 32
_ROW_MASK: Final = (1 << _ROW_BITS) - 1


hash_of = zlib.crc32
"""The hash of an id: the same in every process, unlike Python's."""


def hash_key(entry_id: bytes, row: int) -> int:
    """Return the key by which the row of an id is found: the CRC-32 of the id above the row."""
    return hash_of(entry_id) << _ROW_BITS | row


def have_many_equal_hashes(keys: Sequence[int]) -> bool:
    """Return whether more than `MAX_EQUAL_HASHES` keys, which are in ascending order, have the same hash."""
    return any(
        first >> _ROW_BITS == last >> _ROW_BITS
        for first, last in zip(keys, keys[MAX_EQUAL_HASHES:], strict=False)
    )


class MappedNames(MutableSequence[str | None]):
    """The ids by row; None for a row without an id. Mapped rows cannot be changed.

    Args:
        ends: The offset after the id of each row in `text`.
        text: All ids, UTF-8, without separators.

    """

    def __init__(self, ends: Uints, text: memoryview) -> None:
        self._ends = ends
        self._text = text
        self._mapped = len(ends)
        self._added: list[str | None] = []

    def raw(self, row: int) -> bytes:
        """Return the id of a mapped row as bytes; b"" if it has none."""
        return bytes(self._text[self._ends[row - 1] if row else 0 : self._ends[row]])

    def __len__(self) -> int:
        return self._mapped + len(self._added)

    @overload
    def __getitem__(self, index: int) -> str | None: ...
    @overload
    def __getitem__(self, index: slice) -> MutableSequence[str | None]: ...
    def __getitem__(self, index: int | slice) -> str | MutableSequence[str | None] | None:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        row = index if index >= 0 else index + len(self)
        if row >= self._mapped:
            return self._added[row - self._mapped]
        return self.raw(row).decode() or None

    @overload
    def __setitem__(self, index: int, value: str | None) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[str | None]) -> None: ...
    def __setitem__(self, index: int | slice, value: object) -> None:
        raise TypeError("the id of a row does not change")

    def __delitem__(self, index: int | slice) -> None:
        if not isinstance(index, slice) or index.start < self._mapped or index.stop is not None:
            raise TypeError("only the last rows that were added can be removed")
        del self._added[index.start - self._mapped :]

    def insert(self, index: int, value: str | None) -> None:
        """Append the id of a row. Raises `TypeError` for any index but the end."""
        if index != len(self):
            raise TypeError("rows are only appended")
        self._added.append(value)

    def append(self, value: str | None) -> None:
        """Append the id of a row."""
        self._added.append(value)


class MappedIds:
    """The rows by id, for mapped rows.

    Args:
        keys: The keys of the rows (`hash_key`) in ascending order, as bytes. They are copied: a search in an array is
            many times faster than in a `memoryview`.
        names: The ids of the rows.

    """

    def __init__(self, keys: memoryview, names: MappedNames) -> None:
        self._keys = array("Q")
        self._keys.frombytes(keys)
        self._names = names

    def get(self, entry_id: str) -> int | None:
        """Return the row of an id, or None."""
        raw = entry_id.encode("utf-8", "surrogatepass")
        lowest = hash_key(raw, 0)
        keys, position = self._keys, bisect_left(self._keys, lowest)
        while position < len(keys) and keys[position] <= lowest | _ROW_MASK:
            row = keys[position] & _ROW_MASK
            if self._names.raw(row) == raw:
                return row
            position += 1
        return None
