"""Identifies processes: the process id, the boot id and the start time together are unique.

The kernel reuses process ids.
"""

from __future__ import annotations


def boot_id() -> str | None:
    """Return the id of the current boot of the machine. None on systems that do not provide it."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def start_time(pid: int) -> int | None:
    """Return the start time of a process, in clock ticks after boot.

    None if the process does not run, or the system has no `/proc`.
    """
    fields = _stat(pid)
    # The second field, the name in parentheses, may contain any bytes and is skipped; the start time is field 22.
    return None if fields is None or fields[0] == b"Z" else int(fields[19])


def is_stopped(pid: int) -> bool:
    """Return whether a process is stopped until it receives SIGCONT."""
    fields = _stat(pid)
    return fields is not None and fields[0] in (b"T", b"t")


def _stat(pid: int) -> list[bytes] | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None
