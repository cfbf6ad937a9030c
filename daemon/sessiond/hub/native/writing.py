"""Writes a new session of an agent from the path to an entry. An existing file is never changed or replaced.

The ids of the new session derive from the session and the entry, so the same path gives the same file. If the agent
has continued that file, another one is written. The work is pure computation and files; it may run in a child process.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec

from sessiond.agents.agent import NewFile, WrittenSession
from sessiond.agents.table import AGENTS
from sessiond.agents.writing import NATIVE_WRITERS
from sessiond.hub.errors import IncompatibleParams
from sessiond.hub.native.originals import messages_in_database
from sessiond.hub.transfer.lines_with_blobs import LinePiece, restored
from sessiond.session.content import fields
from sessiond.session.dialects.exported import ConversionLosses, ExportedSession
from sessiond.session.dialects.native_ids import NativeTarget
from sessiond.session.dialects.native_turns import iso
from sessiond.session.tree import lines
from sessiond.session.tree.entries import COMMAND_FIELD
from sessiond.store.files.folders import new_file, sync_folder, temporary, write_file
from sessiond.store.files.syscalls import Syscalls

MAX_GENERATIONS: Final = 1_000
"""Limit of the sessions of one path that an agent has continued."""


@dataclass(frozen=True, slots=True)
class NativeWork:
    """A session to write for an agent, without the lines of its path.

    Attributes:
        session: The session without its entries. Its folder is a real path.
        agent: The name of the agent.
        environ: The environment variables that say where agents keep their sessions.
        documents: The folder for files that an agent imports.
        version: The version of the agent that writes sessions here; None if it is not known.
    """

    session: ExportedSession
    agent: str
    environ: Mapping[str, str]
    documents: str
    version: str | None


@dataclass(frozen=True, slots=True)
class NativeWritten:
    """The session that was written, or that existed already with the same content.

    `must_be_imported`: whether the agent has yet to import it into its database.
    """

    native_id: str
    path: str
    lost: dict[str, int]
    must_be_imported: bool


def write_native(pieces: Iterable[LinePiece], work: NativeWork) -> NativeWritten:
    """Write a session of an agent.

    Raises:
        IncompatibleParams: The path has no message.
        OSError: A file cannot be written.
    """
    entries = [fields.without(lines.loads(line), COMMAND_FIELD) for line in restored(pieces)]
    if not any(fields.type_of(entry) == "message" for entry in entries):
        raise IncompatibleParams("the path has no message to go on from")
    session = replace(work.session, entries=entries)
    model, writer = AGENTS[work.agent].model(work.environ), NATIVE_WRITERS[work.agent]
    for generation in count():
        target = writer.target(session, generation=generation, model=model, version=work.version)
        losses = ConversionLosses()
        data = writer(session, losses, target)
        file = _file(work, target)
        if AGENTS[work.agent].import_command is not None:
            known = _known_messages(work, target)
            if set(known) <= set(_messages(data)):
                _replace(file.path, data)
                return NativeWritten(target.session_id, file.path, dict(losses.lost), not known)
        elif _write(file, data, _elsewhere(work, file.path)):
            return NativeWritten(target.session_id, file.path, dict(losses.lost), must_be_imported=False)
        if generation == MAX_GENERATIONS:
            break
    raise IncompatibleParams("the agent has continued too many sessions of this path")


def _file(work: NativeWork, target: NativeTarget) -> NewFile:
    agent = AGENTS[work.agent]
    if agent.new_file is None:
        return NewFile(f"{work.documents}/{agent.name}/{target.session_id}.json")
    started = iso(fields.milliseconds(work.session.timestamp) or 0)
    return agent.new_file(WrittenSession(target.session_id, work.session.cwd, started), work.environ)


def _elsewhere(work: NativeWork, path: str) -> list[str]:
    """Return the other places of a file, to which the agent may have moved it."""
    name = Path(path).name
    return [f"{folder}/{name}" for folder in AGENTS[work.agent].folders(work.environ)[1:]]


def _write(file: NewFile, data: bytes, elsewhere: Sequence[str]) -> bool:
    """Write a file unless it exists. Return whether the file has these bytes now."""
    path = Path(file.path)
    if any(os.path.lexists(path) for path in elsewhere):
        return False
    if not os.path.lexists(path):
        for name, text in file.companions.items():
            _create(Path(name), text.encode("utf-8", "surrogateescape"))
        if _create(path, data):
            return True
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def _create(path: Path, data: bytes) -> bool:
    """Create a file atomically, with access for its owner only. Return whether it did not exist."""
    calls = Syscalls()
    _make_folder(path.parent)
    made = temporary(path)
    os.close(new_file(made, [data], calls))
    try:
        os.link(made, path)  # fails if the file exists
    except FileExistsError:
        return False
    finally:
        made.unlink()
    sync_folder(path.parent, calls)
    return True


def _make_folder(path: Path) -> None:
    """Make a folder and its missing parents, with access for their owner only."""
    if not path.is_dir():
        _make_folder(path.parent)
        path.mkdir(0o700, exist_ok=True)


def _replace(path: str, data: bytes) -> None:
    """Write a file of this program, in place of an earlier one."""
    _make_folder(Path(path).parent)
    write_file(Path(path), data, Syscalls())


def _known_messages(work: NativeWork, target: NativeTarget) -> list[str]:
    """Return the ids of the messages of a session in the agent's databases."""
    agent, known = AGENTS[work.agent], list[str]()
    if agent.load_database is None:
        return known
    database = agent.load_database()
    for folder in agent.folders(work.environ):
        with contextlib.suppress(OSError):
            for path in Path(folder).iterdir():
                if agent.is_session_file(path.name):
                    known += messages_in_database(database, str(path), target.session_id)
    return known


def _messages(data: bytes) -> list[Any]:
    document = fields.mapping(msgspec.json.decode(data))
    messages = [fields.mapping(message) for message in fields.items(document.get("messages"))]
    return [fields.mapping(message.get("info")).get("id") for message in messages]
