"""Finds and reads the session files of other programs. All functions block and run in a thread."""

import os
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from sessiond.error_text import TemplatedError
from sessiond.hub import clock
from sessiond.session.dialects import codex, known
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.dialects.recognition import without_importer
from sessiond.session.dialects.source import Source, first_objects

MAX_BYTES: Final = 1 << 30
"""Limit of a file."""
GROWING_SECONDS: Final = 300.0
"""A file modified less than this many seconds ago may be in use: its last message may be incomplete."""
_SUFFIXES: Final = (".jsonl", ".json", ".jsonl.zst")
_INDEX: Final = "session_index.jsonl"


class NotImported(TemplatedError):
    """Raised when a file is not imported; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ImportCandidate:
    """A file that may hold a session. `named` is True if the request names the file itself, not a folder above it."""

    path: str
    named: bool


def find(paths: Iterable[str]) -> list[ImportCandidate]:
    """Return the named files and the possible session files below the named folders, in order, without duplicates.

    For a named file, the files in the folder `subagents` that belongs to it are included.
    """
    found: dict[str, ImportCandidate] = {}
    for path in paths:
        if Path(path).is_dir():
            for below in _below(path):
                found.setdefault(below, ImportCandidate(below, named=False))
        else:
            found[path] = ImportCandidate(path, named=True)
            for below in _below(str(Path(path).with_suffix("") / "subagents")):
                found.setdefault(below, ImportCandidate(below, named=False))
    return list(found.values())


def read(path: str, dialect: str | None, titles: "Titles") -> Imported:
    """Read the session in a file.

    Args:
        path: The file.
        dialect: The format. None: it is detected.
        titles: Finds the titles of Codex sessions.

    Raises:
        NotImported: The file is not a session that can be imported.
        OSError: The file cannot be read.
    """
    if path.endswith(".zst"):
        raise NotImported("it is compressed: unpack it first, with `zstd -d`")
    data, modified = _bytes(path)
    head = data[: known.HEAD_BYTES]
    if dialect is None and (program := without_importer(first_objects(head))) is not None:
        raise NotImported(f"sessiond cannot import session files of {program.name}")
    detected = dialect or known.detect(head)
    if detected is None and path.endswith(".json"):
        detected = known.detect(data)
    if detected is None:
        raise NotImported("it is not a session file of a known program")
    source = Source(
        name=Path(path).name, data=data, modified=clock.iso(int(modified * 1e9)),
        growing=time.time() - modified < GROWING_SECONDS, beside=_beside(path, detected, titles),
    )  # fmt: skip
    try:
        imported = known.DIALECTS[detected].read(source)
    except RecursionError:
        raise NotImported("it is nested too deeply") from None
    if not imported.conversation_count:
        raise NotImported("it has no entries")
    return imported


class Titles:
    """The titles of Codex sessions, which one index file holds for all sessions. An index file is read once."""

    def __init__(self) -> None:
        self._by_file: dict[str, dict[str, str]] = {}

    def of(self, path: str) -> str | None:
        """Return the last title of a rollout file, found by the id in its file name; None if it has none."""
        home = next((it for it in Path(path).parents if (it / _INDEX).is_file()), None)
        if home is None:
            return None
        index = str(home / _INDEX)
        if index not in self._by_file:
            self._by_file[index] = dict(_names(index))
        return self._by_file[index].get(Path(path).stem[-36:])


def _names(index: str) -> Iterator[tuple[str, str]]:
    for line in Path(index).read_bytes().split(b"\n"):
        try:
            value = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(value, dict):
            session, name = value.get("id"), value.get("thread_name")
            if isinstance(session, str) and isinstance(name, str):
                yield session, name


def _beside(path: str, dialect: str, titles: Titles) -> dict[str, Any]:
    beside: dict[str, Any] = {"sourcePath": path}
    if dialect == codex.NAME and (title := titles.of(path)) is not None:
        beside["title"] = title
    meta = Path(path).with_suffix(".meta.json")
    if meta.is_file():
        try:
            values = msgspec.json.decode(meta.read_bytes())
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OSError):
            return beside
        if isinstance(values, dict):
            beside |= {name: value for name, value in values.items() if isinstance(value, str | int | bool)}
    return beside


def _bytes(path: str) -> tuple[bytes, float]:
    """Return the bytes of a regular file, and its modification time in seconds since 1970."""
    fd = os.open(
        path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    )  # opening a FIFO must not block until it has a writer
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise NotImported("it is not a regular file")
        if status.st_size > MAX_BYTES:
            raise NotImported(f"it has {status.st_size:,} bytes; at most {MAX_BYTES:,} are read")
        return file.read(), status.st_mtime


def _below(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(_SUFFIXES) and not name.endswith(".meta.json"):
                yield str(Path(parent) / name)
