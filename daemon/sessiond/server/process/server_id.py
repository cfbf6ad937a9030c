"""The id of this daemon's home: created once, durable, and the same after each restart.

Clients use it to distinguish the daemons of several machines. A copy of the home has the same id.
"""

import contextlib
import logging
import os
import stat
import uuid
from pathlib import Path
from typing import Final

from sessiond.store.files.folders import new_file, sync_folder, temporary
from sessiond.store.files.syscalls import Syscalls

_LONGEST: Final = 100  # bytes of the file that are read
_CALLS: Final = Syscalls()

log = logging.getLogger(__name__)


def server_id_of(path: str, calls: Syscalls = _CALLS) -> str:
    """Return the id in the file at `path`. The caller holds the daemon's lock.

    A missing file is created. A file without an id is replaced, and the reason is logged. If the new file cannot
    be written, the id is valid for this process only, and a warning is logged.
    """
    try:
        found = _read(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        log.warning("Cannot use %s as the server id (%s); the daemon creates a new one", path, reason)
        found = None
    return found or _create(Path(path), calls)


def _read(path: str) -> str | None:
    """Return the id; None if there is no file. Raises `OSError` and `ValueError`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise ValueError("it is not a regular file that belongs to you")
        content = os.read(descriptor, _LONGEST)
    finally:
        os.close(descriptor)
    try:
        return str(uuid.UUID(content.decode("ascii").strip()))
    except ValueError:
        raise ValueError("it does not contain an id") from None


def _create(path: Path, calls: Syscalls) -> str:
    """Store a new id atomically, in place of an unusable file. Returns it."""
    server_id, new = str(uuid.uuid4()), temporary(path)
    try:
        os.close(new_file(new, [f"{server_id}\n".encode()], calls))
        try:
            calls.rename(new, path)
            sync_folder(path.parent, calls)
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                new.unlink()
            raise
    except OSError as error:
        log.warning("Cannot store the server id at %s (%s); it changes at the next restart", path, error)
    return server_id
