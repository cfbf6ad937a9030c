"""From the file of another program to a new session: reading it, and making all that is to be stored.

Of a large file this is done in a process of its own, because it holds the interpreter lock of whoever does it: for
seconds, where a file is one JSON document. What a session that is there gains is found out in `importing`.
"""

import asyncio
from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sessiond.hub import session_info
from sessiond.hub.execution.child_process import ChildNotStarted, run_in_child_process
from sessiond.hub.session import entry_placement
from sessiond.hub.transfer import foreign_files
from sessiond.hub.transfer.foreign_files import Titles
from sessiond.protocol import types as t
from sessiond.session.content.restore_blobs import Find, names_blobs
from sessiond.session.dialects import landing
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.tree.tree import Tree

LARGE_FILE: Final = 2 * 1024 * 1024
"""Bytes of a file from which on a process of its own reads it; to start one takes as long as to read so many."""
_SLICE: Final = 64 * 1024
"""Bytes that are read at once: what decodes more of them in a thread holds up everybody else."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a new session is to be: its folder, that of the source if None, and whether its images become blobs."""

    cwd: str | None
    images: bool


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session that can be stored as it is.

    `imported` is where it comes from, without its entries, of which `added` were taken. `info` is what is told of
    the session; its path is not known yet, and it is a draft if nobody has answered.
    """

    session_id: str
    cwd: str
    lines: bytes
    blobs: dict[str, bytes]
    is_answered: bool
    info: t.SessionInfo
    imported: Imported
    added: int


async def read(
    path: str, dialect: str | None, titles: Titles, taken: Container[str], target: Target
) -> NewSession | Imported:
    """Read a file; if it is large, and nothing here is known of it, make its session, too.

    `taken` has the ids of the sessions that are here.

    Raises `NotImported`, `OSError`, `ChildFailed`.
    """
    if await asyncio.to_thread(_size, path) >= LARGE_FILE:
        with suppress(ChildNotStarted):  # then it is done here, at the cost of all others
            return await run_in_child_process(_read_and_make, path, dialect, titles, taken, target)
    return await asyncio.to_thread(foreign_files.read, path, dialect, titles)


def new_session(imported: Imported, session_id: str, target: Target, find: Find) -> NewSession:
    """The session of an id that what was imported becomes; `find` has the blobs that its lines name.

    Much computing: for a thread or a process.
    """
    cwd = target.cwd or imported.cwd
    landed = landing.new_log(imported, session_id, cwd, images=target.images, find=find)
    return NewSession(
        session_id, cwd, b"".join(entry_placement.ended([landed.log])), landed.blobs, imported.is_answered,
        _info(landed.log), replace(imported, entries=[]), len(imported.entries),
    )  # fmt: skip


def _read_and_make(
    path: str, dialect: str | None, titles: Titles, taken: Container[str], target: Target
) -> NewSession | Imported:
    imported = foreign_files.read(path, dialect, titles)
    session_id = landing.candidates(imported, path)[0]
    if session_id in taken or any(names_blobs(it.line) for it in imported.entries):
        return imported  # the store has the session, or the blobs
    return new_session(imported, session_id, target, _nothing)


def _nothing(_digest: str) -> None:
    """What there is where no line names a blob."""


def _size(path: str) -> int:
    with suppress(OSError):  # whoever reads it says what is wrong
        return Path(path).stat().st_size
    return 0


def _info(data: bytes) -> t.SessionInfo:
    tree = Tree()
    for start in range(0, len(data), _SLICE):
        tree.read(data[start : start + _SLICE])
    tree.finish()
    return session_info.session_info(
        tree, lambda rows: [tree.entry(row, data[slice(*tree.span(row))]) for row in rows],
        path=None, draft=True, size=len(data),
    )  # fmt: skip
