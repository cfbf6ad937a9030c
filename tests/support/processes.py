"""Processes that tests did not start themselves: do they still run?"""

from pathlib import Path


def runs(pid: int) -> bool:
    """Whether a process has not ended. One that nobody has buried yet, as in a container without an init, has."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(b")")[2].split()[0] != b"Z"
