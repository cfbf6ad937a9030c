"""A pager for long output on a terminal, started with the first character that is written.

It begins that late so that what is said before (which session it is, progress, a refusal) is said on the terminal
itself. From then on standard error goes into it, too, or it would write across the page. Who leaves the pager has
seen enough: what comes then is thrown away, and the exit code is that of the command.
"""
# Without pathlib, shutil and subprocess, which would cost a command more than the pager does.

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TextIO

_OFF = ("", "cat")


def command(environ: Mapping[str, str] = os.environ) -> str | None:
    """What the shell is to run as the pager; None when nothing is."""
    if environ.get("TERM") == "dumb":
        return None
    for name in ("SESSIOND_PAGER", "PAGER"):
        if (chosen := environ.get(name)) is not None:
            return None if chosen.strip() in _OFF else chosen
    return "less" if _is_there("less", environ) else None


def in_a_pager(run: Callable[[], int]) -> int:
    """What a command returns whose output goes through a pager, if there is one."""
    chosen = command()
    if chosen is None:
        return run()
    streams = sys.stdout, sys.stderr
    page = _Paged(sys.stdout, chosen)
    sys.stdout = page  # it passes on what it does not do itself
    try:
        return run()
    finally:
        sys.stdout, sys.stderr = streams
        page.close()


class _Paged:
    """Standard output that shows itself in a pager. For the command it is the terminal that it stands before."""

    def __init__(self, stream: TextIO, pager: str) -> None:
        self._stream = stream
        self._pager = pager
        self._process: int | None = None
        self._terminal = -1

    def write(self, text: str) -> int:
        if self._process is None and text:
            self._start()
        try:
            return self._stream.write(text)
        except BrokenPipeError:
            self._forget()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except BrokenPipeError:
            self._forget()

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        """The terminal, which whoever asks wants to measure."""
        return self._stream.fileno() if self._process is None else self._terminal

    def close(self) -> None:
        """Show the rest, and wait until the reader has left the pager."""
        if self._process is None:
            self.flush()
            return
        self.flush()
        os.dup2(self._terminal, 1)  # the pager's end of file
        while True:
            try:
                _, status = os.waitpid(self._process, 0)
            except KeyboardInterrupt:
                continue  # it is for the pager, which is in the foreground
            break
        self._process = None
        if os.waitstatus_to_exitcode(status) in (126, 127):
            print(f"sessiond: the pager could not be run: {self._pager}", file=sys.__stderr__)
            print("  --no-pager does without; see sessiond help environment.", file=sys.__stderr__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _start(self) -> None:
        self._stream.flush()
        self._terminal = os.dup(1)
        theirs, ours = os.pipe()
        environ = {"LESS": "FRX", "LV": "-c", **os.environ}
        self._process = os.posix_spawn(
            "/bin/sh", ["sh", "-c", self._pager], environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, theirs, 0)],
            setsigdef=[signal.SIGPIPE],  # which Python ignores, and a pager that is a pipeline must not
        )  # fmt: skip
        os.close(theirs)
        os.dup2(ours, 1)
        os.close(ours)
        self._stream.reconfigure(line_buffering=False)  # type: ignore[attr-defined]  # a TextIOWrapper: it is a terminal
        if sys.stderr.isatty():
            sys.stderr = sys.stdout

    def _forget(self) -> None:
        """Nobody reads any more: what is still buffered, and what comes, goes nowhere."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)


def _is_there(name: str, environ: Mapping[str, str]) -> bool:
    return any(
        os.access(os.path.join(folder, name), os.X_OK)
        for folder in environ.get("PATH", os.defpath).split(os.pathsep)
    )
