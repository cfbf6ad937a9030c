"""Reads a session file of another program and converts it to a new session, ready to be stored.

One call on a thread reads, converts and encodes a file, because each change of threads costs as much as some lines. A
large file is read in a child process, because decoding holds the interpreter lock: for seconds, if the file is one JSON
document. `importing` determines which entries are added to an existing session.
"""

import asyncio
import os
import shutil
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, ParamSpec, TypeVar

from sessiond.agents.companions import Companions
from sessiond.hub import session_info
from sessiond.hub.errors import ChildFailed, ChildNotStarted
from sessiond.hub.execution.child_process import KeptProcess
from sessiond.hub.session import entry_placement
from sessiond.hub.transfer import (
    compressed,
    database_sources,
    foreign_files,
    fork_history,
    memory_limit,
    reading_progress,
    streaming,
)
from sessiond.hub.transfer.foreign_files import NotImported, ReadSource
from sessiond.hub.transfer.source_state import LookedAt, SourceState
from sessiond.hub.transfer.spool import Spool
from sessiond.protocol import types as t
from sessiond.session.content.blobs import referenced_hashes
from sessiond.session.content.prompt_key import prompt_key
from sessiond.session.content.restore_blobs import Find
from sessiond.session.dialects import imported_log
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.tree.tree import Tree

P = ParamSpec("P")
R = TypeVar("R")

LARGE_FILE: Final = 2 * 1024 * 1024
"""Minimum bytes of a file that is read in a child process. Starting a process takes as long as reading this much."""
_COMPRESSION: Final = 8
"""The usual ratio of the size of a transcript to its compressed size."""
_COPIED_BYTES: Final = 1024 * 1024
_SLICE: Final = 64 * 1024
"""Bytes that are decoded in one step. Decoding more in a thread would delay the other threads."""


@dataclass(frozen=True, slots=True)
class Target:
    """The properties of a new session.

    Attributes:
        cwd: Its folder; None for the folder that the source names.
        title_space: Whether its header has space for a later title.
    """

    cwd: str | None
    title_space: bool = True


@dataclass(frozen=True, slots=True)
class NewSession:
    """A new session, ready to be stored.

    Attributes:
        session_id: Its id.
        cwd: Its folder.
        lines: Its log; empty if the log is in a file.
        log: The path of the file of the spool with its log; None if the log is in `lines`.
        blobs: The blobs that were taken out of its entries, by hash.
        named: The hashes of the blobs that its log names.
        is_answered: Whether it has an assistant message.
        info: Its description on the wire, without a path.
        imported: The session that was read, without its entries.
        state: The state of the file that was read.
        added: The number of imported entries.
        reader: The state of the reader of the file, if it can continue.
        files: The files of the spool with further blobs, by hash.
        first_prompt: The key of its first prompt; empty if it has none.
    """

    session_id: str
    cwd: str
    lines: bytes
    log: str | None
    blobs: dict[str, bytes]
    named: frozenset[str]
    is_answered: bool
    info: t.SessionInfo
    imported: Imported
    state: SourceState
    added: int
    reader: bytes | None
    files: Mapping[str, str]
    first_prompt: str

    @property
    def source(self) -> ReadSource:
        """The result of reading the source, if the log is in a file."""
        return ReadSource(self.imported, self.state, self.reader, self.files, self.log, self.added)


async def read(
    path: str,
    dialect: str | None,
    companions: Companions,
    taken: Collection[str],
    target: Target,
    spool: Spool,
    known_files: Mapping[str, LookedAt],
    process: KeptProcess,
) -> NewSession | ReadSource:
    """Read a file, and convert it to a new session.

    A small file that was imported before, or names blobs, is only read.

    Args:
        path: The file.
        dialect: The format. If None, it is detected.
        companions: Finds what other files say about a session.
        taken: The ids of the existing sessions.
        target: The properties of a new session.
        spool: Takes the long texts, and the files beside the source.
        known_files: The files beside it as an earlier reading found them, if the store has them.
        process: Reads a large file.

    Raises:
        NotImported: The file is not a session that can be imported.
        OSError: The file cannot be read.
        ChildFailed: The child process failed.
    """
    found = await asyncio.to_thread(
        _read_unless_large, path, dialect, companions, taken, target, spool, known_files
    )
    if found is not None:
        return found
    try:
        return await in_child(
            process, _read_large, path, dialect, companions, frozenset(taken), target, spool, known_files
        )
    except (ChildFailed, asyncio.CancelledError):
        if not reading_progress.is_stored(spool):  # another process continues after what it has read
            spool.clear()  # the process could not
        raise


async def in_child(process: KeptProcess, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function in a child process, or in a thread, where it delays other requests, if none can be started."""
    try:
        return await process.run(function, *args, **kwargs)
    except ChildNotStarted:
        return await asyncio.to_thread(function, *args, **kwargs)


def is_large(path: str) -> bool:
    """Return whether a source has at least `LARGE_FILE` bytes."""
    return _size(path) >= LARGE_FILE


def new_session(source: ReadSource, session_id: str, target: Target, find: Find) -> NewSession:
    """Convert an imported session to a new session with the given id.

    Args:
        source: The session that was read.
        session_id: The id of the new session.
        target: The properties of the new session.
        find: Finds the blobs that the lines name.

    The conversion can take long and runs in a thread or a child process.
    """
    imported = source.imported
    cwd = target.cwd or imported.cwd
    landed = imported_log.new_log(imported, session_id, cwd, find=find, title_space=target.title_space)
    return NewSession(
        session_id, cwd, b"".join(entry_placement.ended([landed.log])), None, landed.blobs,
        frozenset(referenced_hashes(landed.log)), imported.is_answered, _info(landed.log),
        replace(imported, entries=[]), source.state, len(imported.entries), source.reader, source.files,
        source.first_prompt,
    )  # fmt: skip


def _read_unless_large(
    path: str,
    dialect: str | None,
    companions: Companions,
    taken: Container[str],
    target: Target,
    spool: Spool,
    known_files: Mapping[str, LookedAt],
) -> NewSession | ReadSource | None:
    """Do what `_read_and_make` does, but return None for a large file. One that needs too much memory is refused."""
    size = _size(path)
    if size < LARGE_FILE:
        return _read_and_make(path, dialect, companions, taken, target, spool, known_files)
    reason = memory_limit.reason_to_refuse(size)
    if reason is not None and not streaming.is_streamed(path, dialect):
        raise NotImported(reason)
    return None


def _read_large(
    path: str,
    dialect: str | None,
    companions: Companions,
    taken: Container[str],
    target: Target,
    spool: Spool,
    known_files: Mapping[str, LookedAt],
) -> NewSession | ReadSource:
    """Do what `_read_and_make` does, part by part if the file has a format of lines."""
    log = streaming.read(
        path, dialect, companions, spool, known_files, cwd=target.cwd, title_space=target.title_space
    )
    if log is None:
        return _read_and_make(path, dialect, companions, taken, target, spool, known_files)
    info, first_prompt = described(log.path)
    return NewSession(
        log.session_id, log.cwd, b"", log.path, {}, log.named, log.is_answered, info, log.imported, log.state,
        log.count, log.reader, log.files, first_prompt,
    )  # fmt: skip


def with_id(new: NewSession, session_id: str, target: Target, spool: Spool) -> NewSession:
    """Return a session whose log is in a file with another id, in a new file of the spool. Blocks."""
    assert new.log is not None
    path = str(spool.path())
    with open(new.log, "rb") as former, open(path, "xb") as file:
        former.readline()
        file.write(
            imported_log.header(new.imported, session_id, new.cwd, title_space=target.title_space) + b"\n"
        )
        shutil.copyfileobj(former, file, _COPIED_BYTES)
    info, _ = described(path)
    return replace(new, session_id=session_id, log=path, info=info)


def _read_and_make(
    path: str,
    dialect: str | None,
    companions: Companions,
    taken: Container[str],
    target: Target,
    spool: Spool,
    known_files: Mapping[str, LookedAt],
) -> NewSession | ReadSource:
    source = foreign_files.read(path, dialect, companions, spool, known_files)
    imported = source.imported
    session_id = imported_log.candidates(imported, path)[0]
    own = source.files.keys()
    if session_id in taken or any(set(referenced_hashes(entry.line)) - own for entry in imported.entries):
        return source  # the store has the session, or the blobs
    return new_session(source, session_id, target, _find_none)


def _find_none(_digest: str) -> None:
    """Find no blob: none of the lines names one."""


def _size(path: str) -> int:
    size = database_sources.size_of(path)  # reading the file reports an error
    size += fork_history.inherited_size(path)
    return size * _COMPRESSION if path.endswith(compressed.SUFFIX) else size


def described(path: str) -> tuple[t.SessionInfo, str]:
    """Return the description of the session of a log in a file, and the key of its first prompt."""
    with open(path, "rb") as file:
        tree = _tree(iter(lambda: file.read(_SLICE), b""))
        size = file.tell()

        def read(rows: Sequence[int]) -> list[bytes]:
            spans = [tree.span(row) for row in rows]
            return [
                tree.entry(row, os.pread(file.fileno(), end - start, start))
                for row, (start, end) in zip(rows, spans, strict=True)
            ]

        info = session_info.session_info(tree, read, path=None, draft=True, size=size)
        prompts = read(list(tree.user_rows(1)))
    return info, prompt_key(prompts[0]) if prompts else ""


def _info(data: bytes) -> t.SessionInfo:
    tree = _tree(data[start : start + _SLICE] for start in range(0, len(data), _SLICE))
    return session_info.session_info(
        tree, lambda rows: [tree.entry(row, data[slice(*tree.span(row))]) for row in rows],
        path=None, draft=True, size=len(data),
    )  # fmt: skip


def _tree(slices: Iterable[bytes]) -> Tree:
    tree = Tree()
    for data in slices:
        tree.read(data)
    tree.finish()
    return tree
