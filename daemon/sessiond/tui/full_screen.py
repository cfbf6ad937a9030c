"""A program on the whole screen, and how it ends: by its user, by a signal, or with its terminal.

A closed terminal returns an end of file at each read, and refuses writes. Textual then continues to read,
as fast as it can, and at some point its main thread waits for a thread that cannot write. So a program that is told
to end gets `_GRACE` seconds to do it in order, and the kernel ends it after these.
"""

import asyncio
import functools
import select
import signal
import subprocess
import sys
import threading
from types import FrameType
from typing import ClassVar, TypeVar

from textual.app import App

from sessiond.tui.layout import CSS

_GRACE = 2.0
"""Seconds within which a program releases the terminal after a signal to end."""
_ENDING = (signal.SIGTERM, signal.SIGHUP)

Result = TypeVar("Result")


class FullScreen(App[Result]):
    """The base of all programs on the whole screen. `show` runs them."""

    CSS = CSS
    BINDINGS: ClassVar = []
    ENABLE_COMMAND_PALETTE = False
    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__(ansi_color=True)  # the terminal's own colors, or none with NO_COLOR
        self.theme = "ansi-dark"
        self.failure: Exception | None = None
        """The unexpected exception that ended the program, if any."""
        self._told: signal.Signals | None = None
        self._outside: subprocess.Popen[bytes] | None = None

    def show(self) -> Result | None:
        """Run the program until its user leaves it, and return its result.

        Raises `failure`; and `SystemExit`, with the status of a process that a signal has ended, after SIGTERM,
        SIGHUP, or the end of the terminal.
        """
        _hang_up_with_terminal()
        before = [signal.getsignal(number) for number in _ENDING]
        try:
            result = self.run()
        finally:
            for number, handler in zip(_ENDING, before, strict=True):
                signal.signal(number, handler)
        if self._told is not None:
            raise SystemExit(128 + self._told)
        if self.failure is not None:
            raise self.failure
        return result

    def on_mount(self) -> None:
        """Start to handle signals."""
        if self.is_headless:
            return
        loop = asyncio.get_running_loop()

        # Not a handler of the loop: while a program outside runs, or the terminal takes nothing, the loop stands still.
        def obey(number: int, _frame: FrameType | None) -> None:
            if self._told is None:
                self._told = signal.Signals(number)
                signal.setitimer(signal.ITIMER_REAL, _GRACE)  # no code handles the SIGALRM
                loop.call_soon_threadsafe(self.exit)
            if self._outside is not None:
                self._outside.send_signal(number)

        for number in _ENDING:
            signal.signal(number, obey)

    def run_outside(self, command: list[str]) -> int:
        """Give the terminal to another program, and return its exit code. Raises `OSError` if it cannot be run."""
        with self.suspend(), subprocess.Popen(command) as self._outside:
            try:
                return self._outside.wait()
            finally:
                self._outside = None

    def _handle_exception(self, error: Exception) -> None:
        self.failure = self.failure or error
        super()._handle_exception(error)

    def _fatal_error(self) -> None:
        # Textual would print every local variable, including the transcript; `show` raises `failure` instead.
        self._close_messages_no_wait()


@functools.cache
def _hang_up_with_terminal() -> None:
    """Make this process receive SIGHUP when its terminal is closed.

    The kernel sends it only to processes in the foreground of the terminal that controls them.
    """
    main, terminal = threading.main_thread().ident, sys.__stdin__
    if main is None or terminal is None:
        return
    poll = select.poll()
    poll.register(terminal.fileno(), 0)  # a hang-up is always reported

    def wait() -> None:
        poll.poll()
        signal.pthread_kill(main, signal.SIGHUP)

    threading.Thread(target=wait, name="terminal", daemon=True).start()
