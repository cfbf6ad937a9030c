"""Which process is which: an id is given to another one some day, but with boot and start it names one for ever."""

from __future__ import annotations


def boot_id() -> str | None:
    """What names this run of the machine; None on systems that do not say."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def start_time(pid: int) -> int | None:
    """When a process was started, in clock ticks after boot; None when it does not run (any more), or nobody says."""
    fields = _stat(pid)
    # The second field, the name in parentheses, may hold anything and is left out; the start time is field 22.
    return None if fields is None or fields[0] == b"Z" else int(fields[19])


def is_stopped(pid: int) -> bool:
    """Whether a process does not go on until somebody sends it SIGCONT."""
    fields = _stat(pid)
    return fields is not None and fields[0] in (b"T", b"t")


def _stat(pid: int) -> list[bytes] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None
