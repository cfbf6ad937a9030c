"""Recognizes source files that are unchanged since an earlier import, from their records and with one `stat` each.

A file is unchanged if its status, the data beside it and the log of its session are those of the record. If only the
status differs, the file is read and its digest is compared. In any other case the importer reads the file again
(decision 0034).
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

import msgspec

import sessiond
from sessiond.agents import known
from sessiond.agents.companions import Companions
from sessiond.hub.transfer import attachments, database_sources, foreign_files, fork_history
from sessiond.hub.transfer.foreign_files import NotImported
from sessiond.hub.transfer.import_results import RECONSIDERED
from sessiond.hub.transfer.source_records import SourceRecord, SourceRecords
from sessiond.hub.transfer.source_state import FileStatus, LookedAt, SourceState, digest_of_companions
from sessiond.protocol import types as t
from sessiond.store.base import Store
from sessiond.store.blobs import BlobAbsent
from sessiond.store.errors import StorageFailed
from sessiond.store.files import paths

IMPORTER: Final = f"{sessiond.__version__}.{known.READERS_VERSION}"
"""The version of the code that reads source files. Records of another version are not used."""


def is_of_these_readers(record: SourceRecord) -> bool:
    """Return whether the readers that read a file are those of this version."""
    return record.importer.rpartition(".")[2] == str(known.READERS_VERSION)


ImportOutcome: TypeAlias = t.ImportedSession | t.SkippedFile


class UnchangedSources:
    """Recognizes unchanged files by `records`; `files` is the store that has their sessions."""

    def __init__(self, files: Store, records: SourceRecords) -> None:
        self._files = files
        self._records = records

    def outcomes(
        self, paths: Iterable[str], format: str | None, companions: Companions
    ) -> tuple[dict[str, ImportOutcome], dict[str, dict[str, LookedAt]]]:
        """Return the outcomes for those of the files that are unchanged. Blocks.

        Args:
            paths: The absolute paths of the files.
            format: The format that the import names; None if it is detected.
            companions: Finds what other files say about a session.

        Returns:
            The outcomes, and for the other files the files beside them that the store has.
        """
        found: dict[str, ImportOutcome] = {}
        beside: dict[str, dict[str, LookedAt]] = {}
        updated: dict[str, SourceRecord] = {}
        in_store: dict[str, bool] = {}
        for path, record in self._records.find(paths, format).items():
            if stored := {
                name: was for name, was in record.state.attachments.items() if self._has(was.digest)
            }:
                beside[path] = stored
            folder = path.rpartition("/")[0]
            if folder not in in_store:
                in_store[folder] = self._files.holds(path)
            # A file that is in a folder of the store now may be one of its sessions.
            if in_store[folder] or not _is_applicable(path, record, companions):
                continue
            state = _present_state(path, record.state)
            if state is None:
                continue
            if state != record.state:
                updated[path] = msgspec.structs.replace(record, state=state)
            if (outcome := record.skipped or record.session) is not None:
                found[path] = outcome
        self._records.put(updated, format)
        return found, beside

    def _has(self, digest: str) -> bool:
        """Return whether the store has a blob."""
        try:
            return bool(digest) and self._files.blobs.size(digest) >= 0
        except (BlobAbsent, StorageFailed):
            return False


def _is_applicable(path: str, record: SourceRecord, companions: Companions) -> bool:
    """Return whether the outcome of a record is that of another import, provided that the file has the same content."""
    if record.importer != IMPORTER or not record.state.is_final:
        return False
    if record.skipped is not None and record.skipped.message in RECONSIDERED:
        return False
    session = record.session
    if session is None or record.skipped is not None:
        return True
    if fork_history.has_appeared(path, session) or not attachments.is_unchanged(record.state.attachments):
        return False
    # Of a log with the same status, the session has the same entries and the same title.
    if (
        record.log is None
        or record.log_status is None
        or not _is_log_unchanged(record.log, record.log_status)
    ):
        return False
    return digest_of_companions(companions.of(path, session.format)) == record.state.companions


def _is_log_unchanged(ref: str, status: FileStatus) -> bool:
    """Return whether the log of a session has the recorded status.

    A file that was packed or unpacked has another name, and the same modification time (`store.files.packing`).
    """
    present = FileStatus.at(ref)
    if present is not None:
        return present == status
    other = FileStatus.at(paths.other_name(ref))
    return other is not None and other.modified_ns == status.modified_ns


def _present_state(path: str, state: SourceState) -> SourceState | None:
    """Return the state of a file if it has the recorded content, otherwise None."""
    status = database_sources.status_of(path)
    if status == state.status and state.is_settled:
        return state
    if status is None or status.size != state.status.size:
        return None
    try:
        return foreign_files.state_if_same_content(path, state)
    except (NotImported, OSError):
        return None  # the importer reports the reason
