"""Identifies processes by id and start time, and checks whether a recorded process still runs."""

import os
import subprocess
import time

from sessiond.rpc.process import boot_id, start_time
from sessiond.store.records import Process

_PS_SECONDS = 5.0


def running_process(pid: int, started: int | None = None) -> Process | None:
    """Return the process with this id, or None if there is none. Without `/proc` this may take milliseconds.

    Args:
        pid: The process id.
        started: The start time as the client reports it, in clock ticks after boot. If it differs, the result is None:
            the process has ended, or the client runs in another process-id namespace.
    """
    boot = boot_id()
    seen = start_time(pid) if boot is not None else start_time_by_ps(pid)
    if seen is None or (boot is not None and started is not None and started != seen):
        return None
    return Process(pid, seen, boot)


def is_running(process: Process) -> bool:
    """Return whether this process runs. The result is False for a zombie and for a later process with its id."""
    found = running_process(process.pid)
    return found is not None and found == process


def start_time_by_ps(pid: int) -> int | None:
    """Return the start time of a process in seconds since 1970, from `ps`, for systems without `/proc` (macOS).

    Returns None if the process does not run or `ps` fails.
    """
    import calendar  # takes memory, and systems with /proc do not need it

    try:
        done = subprocess.run(
            ["ps", "-o", "stat=", "-o", "lstart=", "-p", str(pid)],
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PS_SECONDS,
            check=False,
        )
        state, _, started = done.stdout.decode("ascii").strip().partition(" ")
        if not state or state.startswith("Z"):
            return None
        return calendar.timegm(time.strptime(" ".join(started.split()), "%a %b %d %H:%M:%S %Y"))
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
