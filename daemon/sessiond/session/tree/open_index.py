"""The open index of a log: its tree as columns of bytes, from which a log is opened without reading its lines.

Only a log without any problem has an index, so opening reports the same problems with and without one. The store of
the bytes guarantees that the log still begins with the bytes from which they were made; the first and the last lines
are compared here as well (decision 0035).
"""

import struct
import sys
import zlib
from array import array
from collections.abc import Callable
from typing import Final, NamedTuple

import msgspec

from sessiond.session.tree.ids import Ids
from sessiond.session.tree.mapped_columns import MappedIds, MappedNames, hash_key, have_many_equal_hashes
from sessiond.session.tree.reading import TreeFacts
from sessiond.session.tree.rows import Columns
from sessiond.session.tree.steps import ROWS_A_STEP, Steps
from sessiond.session.tree.tree import Tree
from sessiond.session.tree.turns import SilentTurns

_MAGIC: Final = f"open index 4 {sys.byteorder[:3]}".encode()
"""The version of the format and the order of bytes in the columns. Another one is not read."""
_HEAD: Final = struct.Struct("<16s9Q")
"""`_MAGIC`, and the size of each part in bytes.

The parts are: facts, keys, offsets, parents, ends of ids, kinds, roles, silent turns, ids.
"""
_ALIGNMENT: Final = 8
_EDGE_BYTES: Final = 4096
"""Bytes before the end of the indexed lines that are compared when a log is opened."""
_MAX_FIRST_LINES: Final = 64 * 1024
"""Limit of the bytes of title slot and header. A log with more has no index."""
_MAX_FACTS: Final = 1024 * 1024
"""Limit of the bytes of all facts that are not columns, which are decoded in one step."""
_BUCKETS: Final = 256
SPARE_IN_BUCKET: Final = 4096
"""Keys that a bucket may have beyond eight times its share. Sorting more would block the event loop."""

ReadBytes = Callable[[int, int], bytes]
"""Returns the bytes of the log from one offset to another."""


class _Summary(msgspec.Struct, array_like=True):
    """The parts of an index that are not columns."""

    facts: TreeFacts
    first_lines: int
    """Bytes of the lines before the first entry."""
    edges: int
    """The checksum of those bytes, and of the last bytes before the end."""


_decoder: Final = msgspec.msgpack.Decoder(_Summary)


class Restored(NamedTuple):
    """The content of an index: the tree of the indexed lines, and those of its rows that views omit."""

    tree: Tree
    silent: SilentTurns


def encode(tree: Tree, silent: SilentTurns, read: ReadBytes) -> Steps[list[bytes] | None]:
    """Return the index of the committed rows, as parts to be concatenated.

    The tree may grow meanwhile. Returns None if the log has a problem, is of version 1, or is unusual in another way
    that an index does not support.

    Args:
        tree: The tree of the log.
        silent: The rows that views omit, as far as they are known.
        read: Reads the log.

    """
    facts = tree.facts()
    first_lines = tree.span(0)[1]
    if facts is None or first_lines > _MAX_FIRST_LINES:
        return None
    marks = bytes(silent.marks(0, facts.rows))
    summary = _Summary(facts, first_lines, _edges(read(0, first_lines), read, facts.end))
    try:
        encoded = msgspec.msgpack.encode(summary)
    except UnicodeEncodeError:
        return None
    if len(encoded) > _MAX_FACTS:
        return None
    columns = yield from _columns(tree, facts.rows)
    ends, ids, buckets = yield from _ids(tree, facts.rows)
    keys = yield from _sorted_keys(buckets, facts.rows)
    if keys is None:
        return None
    offsets, parents, kinds, roles = columns
    parts = [[encoded], keys, offsets, parents, ends, kinds, roles, [marks], ids]
    sizes = [sum(map(len, pieces)) for pieces in parts]
    index = [_HEAD.pack(_MAGIC, *sizes)]
    for size, pieces in zip(sizes, parts, strict=True):
        index += [*pieces, bytes(-size % _ALIGNMENT)]
    return index


def _columns(tree: Tree, rows: int) -> Steps[tuple[list[bytes], ...]]:
    """Return the offsets, parents, kinds and roles, in pieces."""
    columns: tuple[list[bytes], ...] = ([], [], [], [])
    for start in range(0, rows, ROWS_A_STEP):
        found = tree.column_bytes(range(start, min(start + ROWS_A_STEP, rows)))
        for pieces, piece in zip(columns, found, strict=True):
            pieces.append(piece)
        yield
    return columns


def _ids(tree: Tree, rows: int) -> Steps[tuple[list[bytes], list[bytes], list[list[int]]]]:
    """Return the end of each id and the ids, in pieces, and the keys of the rows in buckets by their first byte."""
    ends: list[bytes] = []
    ids: list[bytes] = []
    buckets: list[list[int]] = [[] for _ in range(_BUCKETS)]
    end = 0
    for start in range(0, rows, ROWS_A_STEP):
        some_ends, some_ids = array("Q"), bytearray()
        for row in range(start, min(start + ROWS_A_STEP, rows)):
            name = (tree.id(row) or "").encode()
            if name:
                some_ids += name
                key = hash_key(name, row)
                buckets[key >> 56].append(key)
            some_ends.append(end + len(some_ids))
        end += len(some_ids)
        ends.append(some_ends.tobytes())
        ids.append(bytes(some_ids))
        yield
    return ends, ids, buckets


def _sorted_keys(buckets: list[list[int]], rows: int) -> Steps[list[bytes] | None]:
    """Return all keys in ascending order, in pieces.

    Returns None if the hashes of the ids are so unevenly distributed that they cannot be sorted in steps.
    """
    keys: list[bytes] = []
    for bucket in buckets:
        if len(bucket) > 8 * rows // _BUCKETS + SPARE_IN_BUCKET:
            return None
        bucket.sort()
        if have_many_equal_hashes(bucket):
            return None
        keys.append(array("Q", bucket).tobytes())
        bucket.clear()
        yield
    return keys


def restore(index: memoryview, unchanged_size: int, read: ReadBytes) -> Restored | None:
    """Return the content of an index, its tree as `Tree.read` leaves it; None if it does not belong to the log.

    The columns of ids refer to `index` as long as the tree exists.

    Args:
        index: The parts of `encode`, unchanged.
        unchanged_size: The number of first bytes of the log that are unchanged since the index was made.
        read: Reads the log.

    """
    if len(index) < _HEAD.size:
        return None
    magic, *sizes = _HEAD.unpack_from(index)
    if magic != _MAGIC:
        return None
    parts, place = [], _HEAD.size
    for size in sizes:
        parts.append(index[place : place + size])
        place += size - size % -_ALIGNMENT
    summary, keys, offsets, parents, ends, kinds, roles, marks, ids = parts
    found = _decoder.decode(summary)
    first_lines = read(0, found.first_lines)
    if found.facts.end > unchanged_size or found.edges != _edges(first_lines, read, found.facts.end):
        return None
    tree = Tree()
    tree.read(first_lines)
    names = MappedNames(ends.cast("Q"), ids)
    mapped = Ids(MappedIds(keys, names))
    tree.restore(found.facts, Columns.of_bytes(offsets, kinds, roles, parents, names, mapped))
    return Restored(tree, SilentTurns(marks))


def _edges(first_lines: bytes, read: ReadBytes, end: int) -> int:
    return zlib.crc32(read(max(0, end - _EDGE_BYTES), end), zlib.crc32(first_lines))
