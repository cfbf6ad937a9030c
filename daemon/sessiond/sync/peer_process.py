"""The process of a command, such as ssh, that speaks the protocol on its standard streams.

The module imports little, so that a command line can start the process before it loads everything else.
"""

import os
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Final

from sessiond.error_text import TemplatedError
from sessiond.text import one_line

_END_SECONDS: Final = 5.0
_MAX_ERROR_BYTES: Final = 4096


class PeerError(TemplatedError):
    """Base class of the errors that the other side of a sync causes."""


class PeerUnavailableError(PeerError):
    """Raised when no daemon responds on the other side, with the reason and what to do."""

    sentence = "Cannot reach the sessiond of {name}: {reason}."
    advice = "{then}"

    def __init__(self, name: str, reason: str, then: str = "") -> None:
        super().__init__(name=name, reason=reason, then=then)


def ssh_command(host: str) -> list[str]:
    """Return the command that reaches the daemon of a user on another machine. Options come from ssh's own config."""
    return ["ssh", "-T", "--", host, "sessiond attach --stdio"]


class PeerProcess:
    """A running command. Its standard streams are the other end of `connection`.

    Args:
        command: The command, with its arguments.
        name: The name of the other side in messages.

    Raises:
        PeerUnavailableError: The command cannot be run.
    """

    def __init__(self, command: Sequence[str], name: str) -> None:
        self.name = name
        self.connection, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
        with theirs:
            try:
                self._process = subprocess.Popen(
                    command, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=self._errors.fileno()
                )
            except OSError as error:
                self.connection.close()
                self._errors.close()
                reason = f"{command[0]} cannot be run: {error.strerror}"
                raise PeerUnavailableError(name, reason) from None
        self.connection.setblocking(False)

    def wait(self) -> int | None:
        """Return the exit status of a process that is about to end; None if it does not end. Blocks."""
        try:
            return self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return None

    def end(self) -> None:
        """Wait for the end of the process, whose standard input has ended, and end it if it does not. Blocks."""
        self.connection.close()
        if self.wait() is None:
            self._process.kill()
            self._process.wait()
        self._errors.close()

    def said(self) -> str:
        """Return the last line that the command wrote to standard error, without its period."""
        errors = self._errors.fileno()
        size = os.fstat(errors).st_size
        text = os.pread(errors, _MAX_ERROR_BYTES, max(size - _MAX_ERROR_BYTES, 0)).decode(errors="replace")
        said = [line.strip() for line in text.splitlines() if line.strip()]
        return one_line(said[-1]).rstrip(".") if said else ""
