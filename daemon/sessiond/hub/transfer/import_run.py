"""One import in progress: the request, and the record of each file at its end."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from sessiond.agents.companions import Companions
from sessiond.hub.transfer import database_sources
from sessiond.hub.transfer.reporting import Reporting
from sessiond.hub.transfer.source_records import SourceRecord, SourceRecords
from sessiond.hub.transfer.source_state import FileStatus, LookedAt, SourceState, unread
from sessiond.hub.transfer.unchanged import IMPORTER
from sessiond.protocol import types as t
from sessiond.session.dialects.import_builder import Imported
from sessiond.session.tree import lines


@dataclass(slots=True)
class ImportRun:
    """One import.

    Attributes:
        params: The request.
        reporting: Receives the progress and each new session.
        is_followed: Whether the program writes the files at present: see `append_entries`.
        companions: Finds what other files say about a session.
        records: The records of its files, by path, which are stored at the end.
        readers: The states of readers that can continue.
        is_excluded: Returns whether a session is not read, for the path of its source and its folder. Blocks.
        known_files: By the path of a source, the files beside it that the store has.
    """

    params: t.ImportParams
    reporting: Reporting
    is_followed: bool = False
    companions: Companions = field(default_factory=Companions)
    records: dict[str, SourceRecord] = field(default_factory=dict)
    readers: dict[str, bytes] = field(default_factory=dict)
    is_excluded: Callable[[str, str], bool] = lambda path, cwd: False
    known_files: Mapping[str, Mapping[str, LookedAt]] = field(default_factory=dict)

    def record(
        self,
        path: str,
        state: SourceState,
        session: t.ImportedSession,
        log: str,
        log_status: FileStatus | None,
        blob_bytes: int,
        imported: Imported,
    ) -> None:
        """Record the outcome for the next import, if the session has a file.

        Args:
            path: The path of the source.
            state: The state of the source.
            session: The outcome for an unchanged source.
            log: The ref of the session's log.
            log_status: The status of the log, which has every entry of the source; None without a file.
            blob_bytes: The size of the blobs that the log names.
            imported: The result of reading the source.
        """
        if log_status is not None:
            self.records[path] = SourceRecord(
                IMPORTER, state, log=log, log_status=log_status, session=session, blob_bytes=blob_bytes,
                version=imported.source_version, cwd=lines.valid_text(imported.cwd),
            )  # fmt: skip

    def record_refusal(
        self,
        path: str,
        skipped: t.SkippedFile,
        state: SourceState | None,
        records: SourceRecords,
        cwd: str = "",
    ) -> None:
        """Record why a file was refused, beside the session of an earlier import. Blocks.

        Args:
            path: The path of the source.
            skipped: Why it was refused.
            state: The state of the source, if the reason is its content.
            records: The records of earlier imports.
            cwd: The folder that the source names, if it was refused for that.
        """
        if state is None:
            if (status := database_sources.status_of(path)) is None:
                return
            state = unread(status)  # the reason is not its content
        before = self.records.get(path) or records.find([path], self.params.format).get(path)
        given = before if before is not None and before.session is not None else SourceRecord(IMPORTER, state)
        if cwd:
            given = msgspec.structs.replace(given, cwd=lines.valid_text(cwd))
        self.records[path] = msgspec.structs.replace(given, importer=IMPORTER, state=state, skipped=skipped)
