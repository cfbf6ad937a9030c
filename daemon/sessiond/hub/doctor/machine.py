"""Checks the machine: free disk space, kinds of filesystems, limits of the kernel, and the clock."""

import os
import re
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sessiond.hub.disk_space import LOW_BYTES
from sessiond.hub.doctor.scope import Scope
from sessiond.protocol import types as t
from sessiond.store.files.space import free_bytes, free_files, is_read_only

CRITICAL_BYTES: Final = 64 * 1024 * 1024
"""Less free disk space than this is an error."""
LOW_FILE_LIMIT: Final = 1_000
"""Fewer free inodes than this are a warning."""
_NETWORK: Final = re.compile(
    r"nfs4?|cifs|smb[0-9]?|smbfs|afs|ceph|glusterfs|9p|lustre|fuse\.(sshfs|s3fs|rclone|gcsfuse)"
)
_VOLATILE: Final = ("tmpfs", "ramfs")
_MIN_WATCHES: Final = 8_192
_MIN_INSTANCES: Final = 64
_MIN_DESCRIPTORS: Final = 1_024
_BUILT: Final = 1_767_225_600
"""2026-01-01 in seconds since 1970. An earlier time is reported as wrong."""


def check_machine(scope: Scope) -> Iterator[None]:
    """Check the filesystems of the folders, the limits of the kernel, and the clock."""
    mounts = _mounts()
    for folder in dict.fromkeys((scope.locations.data, scope.locations.state)):
        if os.path.isdir(folder):  # noqa: PTH112 - a text
            _check_free_space(scope, folder)
            _check_filesystem(scope, folder, mounts)
        yield
    _check_watch_limits(scope)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]  # the daemon raises its soft limit itself
    if 0 <= limit < _MIN_DESCRIPTORS:
        scope.add("lowDescriptorLimit", f"at most {limit:,} files may be open", "/proc/self/limits")
    if time.time() < _BUILT:
        scope.add("wrongClock", f"the clock shows {time.strftime('%Y-%m-%d %H:%M')}", "/etc/localtime")
    yield


def _check_free_space(scope: Scope, folder: str) -> None:
    where = Path(folder)
    if is_read_only(where):
        scope.add("readOnlyDisk", "it is on a disk that is mounted read-only", folder)
    free, files = free_bytes(where), free_files(where)
    if free is not None and free < LOW_BYTES:
        severity: t.FindingSeverity = "error" if free < CRITICAL_BYTES else "warning"
        scope.add("lowDiskSpace", f"{free / 1e6:,.0f} MB are free", folder, severity=severity)
    elif files is not None and files < LOW_FILE_LIMIT:
        scope.add("lowDiskSpace", f"{files:,} more files can be created", folder)


def _check_filesystem(scope: Scope, folder: str, mounts: dict[str, str]) -> None:
    path = os.path.realpath(folder)
    while path not in mounts and path != "/":
        path = os.path.dirname(path)  # noqa: PTH120
    kind = mounts.get(path, "")
    if _NETWORK.fullmatch(kind):
        scope.add("networkDisk", f"it is on a filesystem of the kind {kind}, mounted at {path}", folder)
    elif kind in _VOLATILE:
        scope.add("volatileDisk", f"it is on a filesystem of the kind {kind}, mounted at {path}", folder)


def _mounts() -> dict[str, str]:
    """Return the filesystem type of each mount point; empty on systems without `/proc/self/mountinfo`."""
    try:
        lines = (
            Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        )
    except OSError:
        return {}
    found: dict[str, str] = {}
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) > 4 and after:
            point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
            found[point] = after.split()[0]  # the last mount at a point hides the earlier ones
    return found


def _check_watch_limits(scope: Scope) -> None:
    few = [
        f"{name} is {limit:,}"
        for name, least in (("max_user_watches", _MIN_WATCHES), ("max_user_instances", _MIN_INSTANCES))
        if (limit := _limit(name)) is not None and limit < least
    ]
    if few:
        scope.add("lowWatchLimit", f"fs.inotify: {', '.join(few)}", "/proc/sys/fs/inotify")


def _limit(name: str) -> int | None:
    try:
        return int(Path(f"/proc/sys/fs/inotify/{name}").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
