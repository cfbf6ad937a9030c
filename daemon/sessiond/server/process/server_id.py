"""The id of this daemon's home: made once, durable, and the same after each restart.

Clients tell the daemons of several machines apart by it. A copy of the home has the same id.
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

    A missing file is created. A file that holds no id is replaced, and the log says why. If the new file cannot be
    written, the id is valid for this process only, and the log says that.
    """
    try:
        found = _read(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        log.warning(
            "%s cannot be used as the id of this home (%s): clients see a new server id", path, reason
        )
        found = None
    return found or _made(Path(path), calls)


def _read(path: str) -> str | None:
    """Return the id; None if there is no file. Raises `OSError` and `ValueError`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise ValueError("it is not a file of yours")
        said = os.read(descriptor, _LONGEST)
    finally:
        os.close(descriptor)
    try:
        return str(uuid.UUID(said.decode("ascii").strip()))
    except ValueError:
        raise ValueError("it holds no id") from None


def _made(path: Path, calls: Syscalls) -> str:
    """Store a new id atomically, in place of an unusable file. Returns it."""
    made, begun = str(uuid.uuid4()), temporary(path)
    try:
        os.close(new_file(begun, [f"{made}\n".encode()], calls))
        try:
            calls.rename(begun, path)
            sync_folder(path.parent, calls)
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                begun.unlink()
            raise
    except OSError as error:
        log.warning(
            "the server id cannot be stored at %s (%s): it is another one after a restart", path, error
        )
    return made
