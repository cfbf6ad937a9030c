"""Whether a process that was noted down still runs, also after its id was given to another one."""

import calendar
import os
import subprocess
import time

from sessiond.rpc.process import boot_id, start_time
from sessiond.store.records import Process

_PS_SECONDS = 5.0


def running_process(pid: int, started: int | None = None) -> Process | None:
    """Return the process with this id, or None when there is none; may take milliseconds without `/proc`.

    Args:
        pid: its process id.
        started: its start time as its client sees it, in clock ticks after boot. When it differs, the client lives
            in another process-id namespace or the process has ended, and nothing is known of it: None.
    """
    boot = boot_id()
    seen = start_time(pid) if boot is not None else start_time_by_ps(pid)
    if seen is None or (boot is not None and started is not None and started != seen):
        return None
    return Process(pid, seen, boot)


def is_running(process: Process) -> bool:
    """Return whether this very process runs. One that has ended and was not waited for does not."""
    found = running_process(process.pid)
    return found is not None and found == process


def start_time_by_ps(pid: int) -> int | None:
    """Return when a process started in seconds since 1970, as `ps` tells it where there is no `/proc` (macOS)."""
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
