"""A service manager for sockets: it listens, and starts the daemon with the socket when a client connects.

It replaces systemd for a socket unit, because systemd has no session for the user of a test machine. As a
program, `manager.py PATH COMMAND…` starts the command again whenever a client waits and no command runs.
"""

import contextlib
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_GIVE = """\
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1", LISTEN_FDNAMES="sessiond")
os.execv(sys.argv[2], sys.argv[2:])
"""


def given(command: list[str], listening: int) -> list[str]:
    """The command line that runs `command` with this descriptor as its socket. The caller passes the descriptor on."""
    return [sys.executable, "-c", _GIVE, str(listening), *command]


@contextlib.contextmanager
def listening_at(path: str) -> Iterator[socket.socket]:
    """A socket of the manager."""
    Path(path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    Path(path).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(64)
        yield listening


def main(path: str, command: list[str]) -> None:
    with listening_at(path) as listening:
        print("READY", flush=True)
        while True:
            select.select([listening], [], [])
            number = listening.fileno()
            subprocess.run(given(command, number), pass_fds=(number,), check=False)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
