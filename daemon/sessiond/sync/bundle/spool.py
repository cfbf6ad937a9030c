"""Files without a name, which hold what is decrypted, decompressed or not yet encrypted, and which nothing leaves."""

import contextlib
import tempfile
from collections.abc import Iterator
from typing import BinaryIO


@contextlib.contextmanager
def spool_file(folder: str | None) -> Iterator[BinaryIO]:
    """Yield an empty file in a folder; None for the folder of temporary files. Only this process can reach it."""
    with tempfile.TemporaryFile(dir=folder) as file:
        yield file
