"""Checks sources against the records of their imports, with one status for each: which of them are certainly here.

A log only grows, so that one that is not smaller than after the import of an unchanged source has all its entries. All
other sources are compared with their sessions (`comparing`).
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from sessiond.hub.transfer.import_results import RECONSIDERED, UNREMARKABLE
from sessiond.hub.transfer.source_records import SourceRecord
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.protocol.enums import GapKind
from sessiond.store.errors import LogNotFound, StorageFailed
from sessiond.store.records import Stored


@dataclass(frozen=True, slots=True)
class Gap:
    """Content of a source that is not here, or may not be.

    Attributes:
        path: The source.
        kind: The kind of gap.
        message: The gap, as a sentence.
        session_id: The session that should have it, if it is known.
    """

    path: str
    kind: GapKind
    message: str
    session_id: str | None = None


@dataclass(slots=True)
class CheckedSources:
    """The sources of one agent.

    Attributes:
        whole: Those that are certainly here, with the id of their session.
        empty: Those without content that a session would have.
        deleted: Those whose session is in the trash.
        left_out: Those that are excluded, or whose session was forgotten.
        suspects: Those that must be compared, with the id of their session.
        gaps: The gaps that are certain.
        entry_count: The number of the entries that were compared.
    """

    whole: dict[str, str] = field(default_factory=dict)
    empty: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)
    suspects: dict[str, str] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    entry_count: int = 0


def check(
    sources: Mapping[str, FileStatus],
    records: Mapping[str, SourceRecord],
    logs: Mapping[str, Stored],
    trashed: Collection[str],
    measured: Callable[[Stored], Stored],
    is_forgotten: Callable[[str], bool],
) -> CheckedSources:
    """Check the sources of an agent.

    Args:
        sources: The status of each source, by its path.
        records: The records of imports, by the path of the source.
        logs: The logs of the store, by the id of their session.
        trashed: The ids of the sessions in the trash.
        measured: Returns a log with the size of its lines, which of a packed log is not that of its file.
        is_forgotten: Returns whether a session was forgotten, by its id.
    """
    found = CheckedSources()
    for path, status in sources.items():
        record = records.get(path)
        if record is None:
            found.gaps.append(Gap(path, "unread", "it was not read yet"))
        elif record.skipped is not None and record.skipped.message in RECONSIDERED:
            found.left_out.add(path)
        elif record.skipped is not None:
            if record.skipped.message in UNREMARKABLE and record.state.status == status:
                found.empty.add(path)
            else:
                session_id = None if record.session is None else record.session.session_id
                found.gaps.append(
                    Gap(path, "refused", f"it is not read: {record.skipped.message}", session_id)
                )
        elif record.session is not None and is_forgotten(record.session.session_id):
            found.left_out.add(path)
        elif record.session is not None:
            _check_read(path, status, record, record.session.session_id, logs, trashed, measured, found)
    return found


def _check_read(
    path: str,
    status: FileStatus,
    record: SourceRecord,
    session_id: str,
    logs: Mapping[str, Stored],
    trashed: Collection[str],
    measured: Callable[[Stored], Stored],
    found: CheckedSources,
) -> None:
    """Check a source that was read into a session."""
    log, state = logs.get(session_id), record.state
    if log is None and session_id in trashed:
        found.deleted.add(path)
    elif log is None:
        message = f"session {session_id}, which had its content, is not here"
        found.gaps.append(Gap(path, "noSession", message, session_id))
    elif (
        state.status == status
        and state.is_settled
        and state.is_final
        and record.log_status is not None
        and _has_size(log, record.log_status.size, measured)
    ):
        found.whole[path] = session_id
    else:
        found.suspects[path] = session_id


def _has_size(log: Stored, size: int, measured: Callable[[Stored], Stored]) -> bool:
    """Return whether the lines of a log have at least this size."""
    try:
        return log.size >= size or measured(log).size >= size
    except (LogNotFound, StorageFailed):
        return False
