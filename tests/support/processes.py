"""Checks of processes that tests did not start themselves."""

from pathlib import Path


def runs(pid: int) -> bool:
    """Whether a process has not ended. A zombie, as in a container without an init, has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(b")")[2].split()[0] != b"Z"
