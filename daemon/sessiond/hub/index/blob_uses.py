"""The table of the blobs that logs name, for the sizes of sessions with their blobs.

A session that names a blob several times has one row for it. A blob that several sessions name has one for each.
"""

import sqlite3
from collections.abc import Callable, Iterable
from typing import Final

from sessiond.store.blobs import BlobAbsent
from sessiond.store.errors import StorageFailed

TABLES: Final = """
CREATE TABLE blob_uses(
    file INTEGER NOT NULL,
    hash BLOB NOT NULL,              -- the SHA-256 of the blob
    size INTEGER NOT NULL,
    PRIMARY KEY(file, hash)
) WITHOUT ROWID;
"""

BYTES_BY_FILE: Final = "SELECT file, sum(size) AS bytes FROM blob_uses GROUP BY file"
"""The query of the bytes of all blobs that a file names."""


def add(
    connection: sqlite3.Connection, file: int, hashes: Iterable[str], size_of: Callable[[str], int]
) -> None:
    """Add the blobs that entries of a file name. Must be called within a transaction.

    Args:
        connection: The database.
        file: The number of the file.
        hashes: The hashes. One without a blob in the store, as in a file of another program, or of which the
            size cannot be read, is left out.
        size_of: Returns the size of a blob. Raises `BlobAbsent`.
    """
    for name in set(hashes):
        key = bytes.fromhex(name)
        if connection.execute("SELECT 1 FROM blob_uses WHERE file = ? AND hash = ?", (file, key)).fetchone():
            continue
        try:
            size = size_of(name)
        except (BlobAbsent, StorageFailed):
            continue
        connection.execute("INSERT INTO blob_uses VALUES(?, ?, ?)", (file, key, size))


def remove(connection: sqlite3.Connection, file: int) -> None:
    """Remove the rows of a file."""
    connection.execute("DELETE FROM blob_uses WHERE file = ?", (file,))
