"""Checks and restricts permissions: only the owner may read the files. Symbolic links are not followed."""

import os
import stat
from pathlib import Path

from sessiond.hub.doctor.scope import Scope
from sessiond.paths import OTHERS_MAY_ANYTHING


def check_rights(scope: Scope, path: str, status: os.stat_result) -> bool:
    """Report a wrong owner or wrong permissions of a file or folder.

    Returns:
        Whether it may be read. False for a symbolic link and for a file of another user.
    """
    if stat.S_ISLNK(status.st_mode):
        scope.add("symbolicLink", f"it is a symbolic link to {_target(path)}", path)
        return False
    if status.st_uid != os.geteuid():
        scope.add("foreignOwner", f"it belongs to user id {status.st_uid}", path)
        return False
    if status.st_mode & OTHERS_MAY_ANYTHING and path == scope.locations.tcp_token:
        # It is not fixed: closing it would hide that other users may have read the token.
        scope.add("exposedToken", f"its mode is {stat.filemode(status.st_mode)}", path)
    elif status.st_mode & OTHERS_MAY_ANYTHING:
        rights = stat.filemode(status.st_mode)
        scope.add("insecurePermissions", f"its mode is {rights}", path)
    return True


def close_to_others(path: str) -> None:
    """Remove the permissions of all users but the owner.

    Raises `OSError`, also for a symbolic link and for a file of another user, which stay unchanged.
    """
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
