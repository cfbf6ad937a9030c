"""The daemon's log `sessiond.log`: private, five files of 5 MB, at most ten records of a kind per minute.

A record contains its format and ids. It never contains bodies, prompts or secrets.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

MAX_BYTES: Final = 5_000_000
"""Size above which a file is put aside and the next one begins."""
_FILES: Final = 5
_PER_MINUTE: Final = 10
_KINDS: Final = 1_000  # formats whose records are counted
_LONGEST_LINE: Final = 200  # characters of a line in a stack
_CONTROLS: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}
_CONTROLS_IN_STACKS: Final = {code: text for code, text in _CONTROLS.items() if code != 0x0A}


log = logging.getLogger(__name__)


class DaemonLogFile(logging.FileHandler):
    """The rotating log file. If standard error is this file, it is redirected to each new file.

    `logging.handlers` has such a file too, but it imports `pickle` and more for its other handlers: 0.7 MB of memory.
    An idle daemon exceeds its target for memory (`daemon/PERFORMANCE.md`), so the library's class is not used.
    """

    def __init__(self, path: str) -> None:
        self.is_standard_error = _is_standard_error(path)
        super().__init__(path, encoding="utf-8", errors="backslashreplace")

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; before it, begin a new file if it would make the current one too large."""
        try:
            if self.stream is None:
                self.stream = self._open()  # it could not be opened before
            if self.stream.tell() + len(self.format(record)) >= MAX_BYTES:
                self._rotate()
        except Exception:  # noqa: BLE001 - as in `logging`, which handles errors of the record itself alike
            self.handleError(record)
            return
        super().emit(record)

    def _rotate(self) -> None:
        """Rename `sessiond.log.1` and so on to the next number, and begin a new file. The oldest file is dropped."""
        if self.stream is not None:
            self.stream.close()
        names = [self.baseFilename, *(f"{self.baseFilename}.{number}" for number in range(1, _FILES))]
        try:
            for older, newer in reversed(list(pairwise(names))):
                with suppress(FileNotFoundError):
                    os.replace(older, newer)  # noqa: PTH105 - `logging` has the path as a text
        finally:
            self.stream = self._open()

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self.baseFilename, flags, 0o600)
        if self.is_standard_error:
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
        return open(descriptor, "a", encoding=self.encoding, errors=self.errors)

    def reopen(self) -> None:
        """Continue in a new file of the same name, after the current one was renamed."""
        self.acquire()
        try:
            self.close()
            self.stream = self._open()
        finally:
            self.release()


class OneLine(logging.Formatter):
    """Formats a record as one line without control characters, for any text that a client supplies.

    The stack trace of an error follows on further lines. Each of its lines is truncated, because the last one may quote
    the data of a client.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text; the stack trace is formatted here even if another handler has done so."""
        record.exc_text = None  # the formatter of another handler may have set it
        return super().format(record)

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line of the record with control characters replaced."""
        return super().formatMessage(record).translate(_CONTROLS)

    def formatException(self, ei: Any) -> str:
        """Return the stack trace with long lines truncated and control characters replaced."""
        lines = super().formatException(ei).split("\n")
        return "\n".join(
            line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines
        ).translate(_CONTROLS_IN_STACKS)


class RateLimit(logging.Filter):
    """Passes ten records per minute with the same format, and reports how many it dropped."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record passes. The first one after a minute also reports the number of dropped records."""
        kind, now = str(record.msg), time.monotonic()
        since, count = self._seen.get(kind, (now, 0))
        if now - since >= 60.0:
            if count > _PER_MINUTE:
                record.msg = f"{kind} ({count - _PER_MINUTE} more of these were dropped)"
            since, count = now, 0
        if len(self._seen) > _KINDS:
            self._seen.clear()
        self._seen[kind] = (since, count + 1)
        return count < _PER_MINUTE


@contextmanager
def logging_to(path: str) -> Iterator[DaemonLogFile | None]:
    """Send the records of this process to the file, and to standard error if that is not the file.

    If the file cannot be opened, only standard error is used, and the daemon runs. Yields the file, or None.
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
        log.warning("Cannot write the log %s: %s", path, refused.strerror or refused)
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
