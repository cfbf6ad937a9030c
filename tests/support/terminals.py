"""Commands on a terminal, as a person sees them."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading

from support.commands import Ran, Shell
from support.homes import sessiond
from support.patience import BOUND


def on_a_terminal(shell: Shell, *words: str) -> Ran:
    """Run a command whose standard error is a terminal. Its `err` has all that was drawn there."""
    done, drawn = _run(shell, words, {"TERM": "xterm"}, subprocess.PIPE)
    return Ran(done.returncode, done.stdout.decode(), drawn)


def seen(shell: Shell, *words: str, columns: int = 80, **more: str) -> Ran:
    """Run a command whose outputs are both a terminal. Its `out` has all that was drawn there, with plain newlines."""
    done, drawn = _run(shell, words, {"TERM": "xterm", "PAGER": "", **more}, None, columns)
    return Ran(done.returncode, drawn.replace("\r\n", "\n"), "")


def _run(
    shell: Shell, words: tuple[str, ...], more: dict[str, str], stdout: int | None, columns: int = 80
) -> tuple[subprocess.CompletedProcess[bytes], str]:
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    drawn: list[bytes] = []

    def read() -> None:
        try:
            while chunk := os.read(ours, 4096):
                drawn.append(chunk)
        except OSError:  # how Linux says that the other end is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    try:
        done = subprocess.run(
            sessiond(*words),
            stdin=subprocess.DEVNULL,
            stdout=its if stdout is None else stdout,
            stderr=its,
            cwd=shell.folder,
            env=shell.environment(**more),
            timeout=BOUND,
            check=False,
        )
    finally:
        os.close(its)
        reader.join(timeout=BOUND)
        os.close(ours)
    return done, b"".join(drawn).decode()
