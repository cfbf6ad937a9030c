"""strace on a daemon: what it calls, and faults at a call of one's choice."""

import contextlib
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from campaigns.campaign import Ground
from campaigns.daemons import Home, runs, until
from campaigns.nursery import Nursery


def find_strace(ground: Ground, nurse: Nursery) -> str:
    """The path of strace. Ends the campaign where there is none, or where it may trace nothing of ours."""
    strace = shutil.which("strace")
    if strace is None:
        ground.leave_out("strace")
    home = Home(ground.folder / "t")
    pid = nurse.start(home)
    trace = ground.folder / "trace"
    how = ["--trace", "getppid", "--inject", "getppid:error=EIO:when=1"]
    with traced(strace, pid, how, trace) as attached:
        if not attached:
            told = trace.with_suffix(".told").read_text(encoding="utf-8", errors="replace")
            ground.cannot(f"strace may not trace a process of ours: {told.strip()}")
    home.kill()
    return strace


@contextlib.contextmanager
def traced(strace: str, pid: int, how: Sequence[str], trace: Path) -> Iterator[bool]:
    """Trace all threads of a process into a file; whether strace is attached, or was when the process died of it."""
    told = trace.with_suffix(".told")
    trace.write_bytes(b"")
    command = [strace, "--follow-forks", "--attach", str(pid), "--output", str(trace), *how]
    with (
        open(told, "wb") as stderr,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr) as tracer,
    ):
        try:
            until(
                lambda: b"attached" in told.read_bytes() or tracer.poll() is not None,
                "strace does not attach",
            )
            # The very first call may be the one that kills, also one that nobody has asked for.
            yield tracer.poll() is None or (b"attached" in told.read_bytes() and not runs(pid))
        finally:
            tracer.terminate()  # it lets go of the process, if that still runs
