"""Runs Kingfisher in a separate process, whose end frees the memory of the rules.

The rules take 50 MB. Unloaded, they would leave 20 MB of pages of code and of freed memory in the daemon.
"""

import contextlib
import os
import struct
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, NamedTuple

import msgspec

from sessiond.hub.errors import ChildFailed, ChildNotStarted

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

CACHE_VARIABLE: Final = "KF_RULE_CACHE_DIR"
"""Kingfisher's own environment variable for the folder of its compiled rules. It takes precedence."""

COMMAND: Final = (sys.executable, "-E", "-P", "-m", "sessiond.hub.redaction.scanning_process")
"""The command of the child process."""
_SIZE: Final = struct.Struct(">I")


class FoundKey(NamedTuple):
    """A key in a text: the offsets of its first byte and after its last one, and the name of the rule."""

    start: int
    end: int
    rule: str


class OwnScanner:
    """Kingfisher in this process.

    Args:
        folder: The folder of the compiled rules. If None, they are compiled now.
    """

    def __init__(self, folder: str | None) -> None:
        self._scanner = _scanner(folder)

    def scan(self, data: bytes) -> list[FoundKey]:
        """Return the keys in a text."""
        return [
            FoundKey(place["start_offset"], place["end_offset"], finding.rule_id)
            for finding in self._scanner.scan(data)
            for place in (finding.location,)
        ]


class ScanningProcess:
    """Kingfisher in a process that is started for the first text. Thread-safe; one text is searched at a time.

    Args:
        folder: The folder of the compiled rules. If None, each process compiles them.
    """

    def __init__(self, folder: str | None) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize[..., ScanningProcess] | None = None
        self._lock = threading.Lock()

    def scan(self, data: bytes) -> list[FoundKey]:
        """Return the keys in a text.

        Raises:
            ChildNotStarted: The process could not be started.
            ChildFailed: A process that was started for this text ended.
        """
        with self._lock:
            if self._process is not None:
                with contextlib.suppress(OSError, EOFError):
                    return _asked(self._process, data)
                self._forget()  # the system has ended the process, for lack of memory or with its group
            process = self._process = self._started()
            self._end = weakref.finalize(self, _end, process)  # no caller closes this object
            try:
                return _asked(process, data)
            except (OSError, EOFError) as error:
                self._forget()
                code = process.returncode
                how = f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"
                raise ChildFailed(how) from error

    def close(self) -> None:
        """End the process after the search in progress. The next one starts another."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        if self._end is not None:
            self._end()
        self._process = self._end = None

    def _started(self) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, **({} if self._folder is None else {CACHE_VARIABLE: self._folder})}
        try:
            return subprocess.Popen(
                COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/",
                env=environment,
            )  # fmt: skip
        except OSError as error:
            raise ChildNotStarted(f"could not be started: {error.strerror or error}") from error


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        with contextlib.suppress(OSError):
            stream.close()
    process.wait()


def _asked(process: "subprocess.Popen[bytes]", data: bytes) -> list[FoundKey]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(_SIZE.pack(len(data)))
    process.stdin.write(data)
    process.stdin.flush()
    return msgspec.json.decode(_read(process.stdout), type=list[FoundKey])


def _read(stream: IO[bytes]) -> bytes:
    """Return the data that follow their size. Raises `EOFError` if they are incomplete."""
    head = stream.read(_SIZE.size)
    size = _SIZE.unpack(head)[0] if len(head) == _SIZE.size else 0
    data = stream.read(size)
    if len(head) < _SIZE.size or len(data) < size:
        raise EOFError
    return data


def _scanner(folder: str | None) -> "Scanner":
    from kingfisher_sdk import Rules, Scanner

    if folder is not None:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    return Scanner(Rules(confidence="low", cache=folder is not None, cache_dir=folder))


def main() -> None:
    """Answer each text on standard input with its findings, until the daemon closes it or ends."""
    scanner = OwnScanner(os.environ.get(CACHE_VARIABLE))
    answers = sys.stdout.buffer
    while True:
        try:
            data = _read(sys.stdin.buffer)
        except EOFError:
            os._exit(0)  # skips freeing the rules, which takes time
        found = msgspec.json.encode(scanner.scan(data))
        answers.write(_SIZE.pack(len(found)))
        answers.write(found)
        answers.flush()


if __name__ == "__main__":
    main()
