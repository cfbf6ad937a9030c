"""Who may enter folders and read files: only their owner. Links are looked at themselves, never followed."""

import os
import stat
from pathlib import Path

from sessiond.hub.doctor.scope import Scope
from sessiond.paths import OTHERS_MAY_ANYTHING


def look_at_rights(scope: Scope, path: str, status: os.stat_result) -> bool:
    """Note what is wrong with the owner or the rights of a file or folder of ours; whether it is ours to read."""
    if stat.S_ISLNK(status.st_mode):
        scope.add("symbolicLink", f"it is a symbolic link to {_target(path)}", path)
        return False
    if status.st_uid != os.geteuid():
        scope.add("foreignOwner", f"it belongs to user id {status.st_uid}", path)
        return False
    if status.st_mode & OTHERS_MAY_ANYTHING and path == scope.places.tcp_token:
        # To close it now would hide that somebody may know it.
        scope.add("exposedToken", f"it has the rights {stat.filemode(status.st_mode)}", path)
    elif status.st_mode & OTHERS_MAY_ANYTHING:
        rights = stat.filemode(status.st_mode)
        scope.add("openToOthers", f"it has the rights {rights}", path)
    return True


def close_to_others(path: str) -> None:
    """Take away the rights of all but the owner. Raises `OSError`; what is not ours, or a link, is left alone."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid():
            raise PermissionError(f"it belongs to user id {status.st_uid}")
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode) & ~OTHERS_MAY_ANYTHING)
    finally:
        os.close(descriptor)


def _target(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return "somewhere"
