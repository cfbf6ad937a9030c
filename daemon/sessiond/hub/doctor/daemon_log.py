"""Reports the errors and warnings that the daemon logged in the last 24 hours: their number and the last one."""

import math
import os
import re
import stat
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from sessiond.hub.doctor.scope import Scope

_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_TAIL: Final = 1 << 20
_DAY: Final = 86_400.0
_LINE: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d+ (ERROR|CRITICAL|WARNING) \S+: (.*)")


def check_daemon_log(scope: Scope) -> Iterator[None]:
    """Count the errors and warnings at the end of `sessiond.log`."""
    path = scope.locations.log
    errors: list[str] = []
    warnings: list[str] = []
    for line in _end_of(path).splitlines():
        match = _LINE.match(line)
        if match is not None and _age(match[1]) < _DAY:
            (warnings if match[2] == "WARNING" else errors).append(f"{match[1]} {match[3]}"[:300])
    for kind, found, word in (("errorsLogged", errors, "error"), ("warningsLogged", warnings, "warning")):
        if found:
            many = f"{len(found)} {word}s" if len(found) > 1 else f"one {word}"
            scope.add(kind, f"{many}, the last: {found[-1]}", path)
    yield


def _end_of(path: str) -> str:
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        return ""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return ""
        return os.pread(descriptor, _TAIL, max(0, status.st_size - _TAIL)).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def _age(local_time: str) -> float:
    # The log has the local time of this machine without a time zone.
    try:
        return time.time() - datetime.strptime(local_time, "%Y-%m-%d %H:%M:%S").timestamp()  # noqa: DTZ007
    except (ValueError, OverflowError):
        return math.inf  # not a time: a traceback may quote the data of a client
