"""A terminal whose other end the test has: a command leads its session, and the test can close the terminal."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from support.patience import BOUND

_QUIET = 30
"""The number of checks, 10 ms apart."""


class Terminal:
    """A terminal, and the command whose controlling terminal it is."""

    def __init__(self, leader: int, controller: int) -> None:
        self.leader = leader
        self._controller = controller
        self._drawn = b""

    def until(self, pattern: str) -> None:
        """Wait until a text is drawn. The output up to it is not searched again."""
        look = re.compile(pattern.encode())
        deadline = time.monotonic() + BOUND
        while (found := look.search(self._drawn)) is None:
            assert time.monotonic() < deadline, f"{pattern!r} was not drawn in {self._drawn[-2000:]!r}"
            if select.select([self._controller], [], [], 0.1)[0]:
                try:
                    self._drawn += os.read(self._controller, 1 << 16)
                except OSError:  # how Linux says that the other end is closed
                    raise AssertionError(f"it has ended, after {self._drawn[-2000:]!r}") from None
        self._drawn = self._drawn[found.end() :]

    def type(self, text: str) -> None:
        os.write(self._controller, text.encode())

    def close(self) -> None:
        """Close the terminal, as its window does."""
        if self._controller >= 0:
            os.close(self._controller)
            self._controller = -1

    def has_ended(self) -> bool:
        """Whether the command itself has ended, even if its children run."""
        return self.leader not in _session_of(self.leader)

    def left(self) -> list[str]:
        """The command lines of the processes of its session that have not ended."""
        return [_command_line(pid) for pid in _session_of(self.leader)]


@contextlib.contextmanager
def a_terminal(
    command: Sequence[str], environment: Mapping[str, str], folder: Path, *, ignores_hangup: bool = False
) -> Iterator[Terminal]:
    """Run a command on a terminal until the block ends.

    With `ignores_hangup`, it is started with SIGHUP ignored, as by nohup.
    """
    pid, controller = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
        signal.signal(signal.SIGHUP, signal.SIG_IGN if ignores_hangup else signal.SIG_DFL)
        os.chdir(folder)
        os.execvpe(command[0], list(command), dict(environment))
    terminal = Terminal(pid, controller)
    try:
        yield terminal
    finally:
        terminal.close()
        for left in _session_of(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
        os.waitpid(pid, 0)


def until_quiet(pid: int) -> None:
    """Wait until a process sleeps, and has not used the processor for some time."""
    deadline = time.monotonic() + BOUND
    before, quiet = _activity(pid), 0
    while quiet < _QUIET:
        assert time.monotonic() < deadline, "it did not come to rest"
        time.sleep(0.01)
        now = _activity(pid)
        quiet = quiet + 1 if now == before and now[0] == b"S" else 0
        before = now


def _activity(pid: int) -> tuple[bytes, ...]:
    """The state of a process, and the processor time that it has used."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    return fields[0], *fields[11:15]


def _session_of(leader: int) -> list[int]:
    """The processes of a session, other than zombies."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, _, session = (process / "stat").read_bytes().rpartition(b")")[2].split()[:4]
            if int(session) == leader and state != b"Z":
                found.append(int(process.name))
    return found


def _command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    return "one that has just ended"
