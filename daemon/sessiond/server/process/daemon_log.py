"""The daemon's log: `sessiond.log`, for the owner only, five files of 5 MB, ten of a kind a minute.

What goes in is told by its format and by ids. Bodies, prompts and secrets never do.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Final

_BYTES: Final = 5_000_000
_FILES: Final = 5
_PER_MINUTE: Final = 10
_KINDS: Final = 1_000  # remembered at a time
_LONGEST_LINE: Final = 200  # characters of a line in a stack
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}
_CONTROLS_IN_STACKS: Final = {code: text for code, text in _CONTROLS.items() if code != 0x0A}


log = logging.getLogger(__name__)


class DaemonLogFile(RotatingFileHandler):
    """The rotating file. Where standard error is that file already, it moves along to each new one."""

    def __init__(self, path: str) -> None:
        self.is_standard_error = _is_standard_error(path)
        super().__init__(
            path, maxBytes=_BYTES, backupCount=_FILES - 1, encoding="utf-8", errors="backslashreplace"
        )

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self.baseFilename, flags, 0o600)
        if self.is_standard_error:
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
        return open(descriptor, "a", encoding=self.encoding, errors=self.errors)

    def reopen(self) -> None:
        """Go on in a file of the same name, after somebody moved this one away."""
        self.acquire()
        try:
            self.close()
            self.stream = self._open()
        finally:
            self.release()


class OneLine(logging.Formatter):
    """A record is one line, whatever a client called itself: it can neither add lines nor speak to a terminal.

    Below it an error has its stack, of whose last words, which may quote what was sent, only the beginning stays.
    """

    def format(self, record: logging.LogRecord) -> str:
        record.exc_text = None  # another handler's formatter may have left its own there
        return super().format(record)

    def formatMessage(self, record: logging.LogRecord) -> str:
        return super().formatMessage(record).translate(_CONTROLS)

    def formatException(self, ei: Any) -> str:
        lines = super().formatException(ei).split("\n")
        return "\n".join(
            line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines
        ).translate(_CONTROLS_IN_STACKS)


class RateLimit(logging.Filter):
    """Lets ten records a minute through that share their format, and says how many it kept back."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind, now = str(record.msg), time.monotonic()
        since, count = self._seen.get(kind, (now, 0))
        if now - since >= 60.0:
            if count > _PER_MINUTE:
                record.msg = f"{kind} ({count - _PER_MINUTE} more of these were left out)"
            since, count = now, 0
        if len(self._seen) > _KINDS:
            self._seen.clear()
        self._seen[kind] = (since, count + 1)
        return count < _PER_MINUTE


@contextmanager
def logging_to(path: str) -> Iterator[DaemonLogFile | None]:
    """Send this process's records to the file, and to standard error where that goes elsewhere.

    Where there can be no such file, standard error has to do: sessions are served all the same.
    """
    refused: OSError | None = None
    file: DaemonLogFile | None = None
    try:
        file = DaemonLogFile(path)
    except OSError as error:
        refused = error
    handlers: list[logging.Handler] = [] if file is None else [file]
    if file is None or not file.is_standard_error:
        handlers.append(logging.StreamHandler())
    form = OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s")
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    for handler in handlers:
        handler.addFilter(RateLimit())
        handler.setFormatter(form)
        root.addHandler(handler)
    if refused is not None:
        log.warning("The log %s cannot be written: %s", path, refused.strerror or refused)
    try:
        yield file
    finally:
        for handler in handlers:
            root.removeHandler(handler)
            handler.close()


def _is_standard_error(path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(2), Path(path).stat())
    except OSError:
        return False
