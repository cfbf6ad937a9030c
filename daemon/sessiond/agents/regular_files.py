"""Opens and reads small files of agents: settings, and what is written beside sessions. All functions block.

A named pipe in place of a file must not be waited for, and a file may have any size: one of a terabyte without content
takes no space on a disk. The module is imported by rows, so it imports only the standard library.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import BinaryIO

MAX_BYTES: Final = 256 * 1024 * 1024
"""The maximum size of a file that is read as a whole."""


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """Return an open file. Raises `OSError` if it cannot be opened, or is not a regular file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
    return os.fdopen(descriptor, "rb")


def content(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> bytes:
    """Return the bytes of a file.

    Args:
        path: The file.
        limit: Its maximum size.

    Raises:
        OSError: It cannot be read, is not a regular file, or is larger than `limit`.
    """
    with opened(path) as file:
        data = file.read(limit + 1) if os.fstat(file.fileno()).st_size <= limit else None
    if data is None or len(data) > limit:
        raise OSError(errno.EFBIG, f"it has more than {limit:,} bytes", os.fspath(path))
    return data
