"""A pager for long output on a terminal, started with the first character that is written.

It starts late so that earlier messages (which session it is, progress, an error) appear on the terminal itself.
After the start, standard error goes into the pager too, since it would otherwise overwrite the page. When the user
leaves the pager, further output is discarded, and the exit code is that of the command.
"""
# Without pathlib, shutil and subprocess, whose import would take longer than the pager's start.

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
    """Return the shell command of the pager; None if no pager is used."""
    if environ.get("TERM") == "dumb":
        return None
    for name in ("SESSIOND_PAGER", "PAGER"):
        if (chosen := environ.get(name)) is not None:
            return None if chosen.strip() in _OFF else chosen
    return "less" if _is_there("less", environ) else None


def in_a_pager(run: Callable[[], int]) -> int:
    """Run a command with its output in a pager, if there is one, and return the command's exit code."""
    chosen = command()
    if chosen is None:
        return run()
    streams = sys.stdout, sys.stderr
    page = _Paged(sys.stdout, chosen)
    sys.stdout = page  # unknown attributes are those of the stream
    try:
        return run()
    finally:
        sys.stdout, sys.stderr = streams
        page.close()


class _Paged:
    """Standard output that shows its text in a pager. The command sees it as a terminal."""

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
        """Return the descriptor of the terminal, since callers measure its size."""
        return self._stream.fileno() if self._process is None else self._terminal

    def close(self) -> None:
        """Write the rest, and wait until the user has left the pager."""
        if self._process is None:
            self.flush()
            return
        self.flush()
        os.dup2(self._terminal, 1)  # the pager reads end of file
        while True:
            try:
                _, status = os.waitpid(self._process, 0)
            except KeyboardInterrupt:
                continue  # Ctrl-C is for the pager, which is in the foreground
            break
        self._process = None
        if os.waitstatus_to_exitcode(status) in (126, 127):
            print(f"sessiond: cannot run the pager: {self._pager}", file=sys.__stderr__)
            print("  Use --no-pager, or see sessiond help environment.", file=sys.__stderr__)

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
            setsigdef=[signal.SIGPIPE],  # Python ignores it, but a pager that is a pipeline needs it
        )  # fmt: skip
        os.close(theirs)
        os.dup2(ours, 1)
        os.close(ours)
        self._stream.reconfigure(line_buffering=False)  # type: ignore[attr-defined]  # a TextIOWrapper: it is a terminal
        if sys.stderr.isatty():
            sys.stderr = sys.stdout

    def _forget(self) -> None:
        """Discard the buffer and all further output."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)


def _is_there(name: str, environ: Mapping[str, str]) -> bool:
    return any(
        os.access(os.path.join(folder, name), os.X_OK)
        for folder in environ.get("PATH", os.defpath).split(os.pathsep)
    )
