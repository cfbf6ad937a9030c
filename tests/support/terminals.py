"""A command whose standard error is a terminal, as a person sees it."""

import os
import pty
import subprocess
import threading

from support.commands import Ran, Shell
from support.homes import sessiond


def on_a_terminal(shell: Shell, *words: str) -> Ran:
    """A command, its `err` all that was drawn on the terminal."""
    ours, its = pty.openpty()
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
            stdout=subprocess.PIPE,
            stderr=its,
            cwd=shell.folder,
            env=shell.environment(TERM="xterm"),
            timeout=30,
            check=False,
        )
    finally:
        os.close(its)
        reader.join(timeout=10)
        os.close(ours)
    return Ran(done.returncode, done.stdout.decode(), b"".join(drawn).decode())
