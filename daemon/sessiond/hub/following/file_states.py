"""Determines the state of the files of a session, and records it in the session.

An agent deletes a session, archives it, or moves its file: into a renamed project folder, or compressed. So the state
is that of all files with the session: it is gone when no file is left. See `transfer.leading_file` for the file
that the origin names while several files exist.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from sessiond.agents.agent import Agent
from sessiond.hub.session.live import LiveSession
from sessiond.hub.transfer import origin_state
from sessiond.hub.transfer.source_records import SourceRecord, SourceRecords
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.protocol import types as t
from sessiond.session.tree import lines
from sessiond.session.tree.origin import FileState


@dataclass(frozen=True, slots=True)
class SessionFile:
    """A file that has a session, or had it.

    Attributes:
        session_id: The id of the session.
        record: The record of its import.
        status: Its status; None if it does not exist any more.
    """

    session_id: str
    record: SourceRecord
    status: FileStatus | None


def may_differ(agent: Agent, path: str, record: SourceRecord | None, outcome: t.ImportedSession) -> bool:
    """Return whether the state that a session has may be wrong after one of its files was read.

    Args:
        agent: The agent.
        path: The file.
        record: The record of an earlier import of the file; None if there is none.
        outcome: The outcome of this one.
    """
    if outcome.status == "created" or (record is not None and not record.is_gone):
        return agent.is_archived(path)
    return True


def files_beside(
    path: str, records: SourceRecords, status_of: Callable[[str], FileStatus | None]
) -> dict[str, SessionFile]:
    """Return all files of the session in a file, with that file itself; empty if the file has no session. Blocks.

    Args:
        path: The file.
        records: The records of imports.
        status_of: Returns the status of a file.
    """
    record = records.find([path], None).get(path)
    if record is None or record.session is None:
        return {}
    session_id = record.session.session_id
    found = records.find(records.paths_of(session_id), None)
    return {path: SessionFile(session_id, found[path], status_of(path)) for path in found}


async def settle(live: LiveSession, agent: Agent, files: Mapping[str, SessionFile]) -> None:
    """Append the state of the files of a session, and the path of the one that counts, unless the session says so.

    Raises `StorageFailed`, and the other errors of an append.
    """
    there = {path: file.status.modified_ns for path, file in files.items() if file.status is not None}
    current = [path for path in there if not agent.is_archived(path)]
    state: FileState = "present" if current else "archived" if there else "gone"
    names = {lines.valid_text(path): path for path in sorted(current or there, key=there.__getitem__)}
    origin = live.tree.origin
    if names and origin is not None and origin.path not in names:
        await origin_state.append(live, state, list(names.values())[-1])
    elif state != live.tree.origin_state:
        await origin_state.append(live, state)


def changed_records(files: Mapping[str, SessionFile]) -> dict[str, SourceRecord]:
    """Return the records of files that disappeared or came back, with that state."""
    return {
        path: msgspec.structs.replace(file.record, is_gone=file.status is None)
        for path, file in files.items()
        if file.record.is_gone != (file.status is None)
    }
