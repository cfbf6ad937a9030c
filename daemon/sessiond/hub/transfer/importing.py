"""Imports session files of other programs: creates new sessions, and appends the new entries of files that have grown.

Files that are unchanged since an earlier import are not read (`unchanged`). The others are read one after the other,
outside the event loop (`import_reading`). A new session is created atomically as
one file. New entries of an existing session are appended through its queue. If the session was continued here, its leaf
does not move.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import msgspec
from msgspec import UNSET

from sessiond.hub.errors import HubError, IncompatibleParams, refuse_unless_absolute
from sessiond.hub.execution.child_process import ChildFailed
from sessiond.hub.index.facts import bytes_of
from sessiond.hub.session.blob_resolution import BlobFinder
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.live import LiveSession
from sessiond.hub.transfer import foreign_files, import_pages, import_reading
from sessiond.hub.transfer.foreign_files import ImportCandidate, NotImported, ReadSource, Titles
from sessiond.hub.transfer.import_appending import append_entries
from sessiond.hub.transfer.import_pages import ImportPage
from sessiond.hub.transfer.import_reading import NewSession, Target, new_session
from sessiond.hub.transfer.import_results import BEING_RECORDED, OWN_SESSION, reason_of, report_fields
from sessiond.hub.transfer.reporting import Reporting
from sessiond.hub.transfer.source_records import SourceRecord, SourceRecords
from sessiond.hub.transfer.source_state import FileStatus, SourceState
from sessiond.hub.transfer.stored_logs import StoredLogs
from sessiond.hub.transfer.unchanged import IMPORTER, ImportOutcome, UnchangedSources
from sessiond.protocol import types as t
from sessiond.session.content.blobs import PREFIX, referenced_hashes
from sessiond.session.content.restore_blobs import Find, restore_images
from sessiond.session.dialects import imported_log, recorded
from sessiond.session.dialects.import_builder import Imported, ImportedEntry
from sessiond.session.dialects.recognition import foreign_program_of
from sessiond.session.tree import lines
from sessiond.session.tree.tree import Tree
from sessiond.store.base import Store
from sessiond.store.errors import LogExists, LogNotFound, LogReplaced, StorageFailed, StorageFull

NO_FOLDER: Final = "it names no folder; import it with `cwd`"
"""The problem of a session whose file does not tell where it began."""
_OF_ONE_FILE: Final = (NotImported, HubError, LogExists, LogReplaced, StorageFailed, ChildFailed)
"""Errors that skip one file and do not end the import."""


class ImportHost(Protocol):
    """The part of the hub that imports call."""

    @property
    def takes_images(self) -> bool:
        """Whether images are stored as blobs also in sessions that pi may read."""

    async def session(self, session_id: str) -> LiveSession:
        """Open the session with this id."""

    def cached(self, session_id: str) -> LiveSession | None:
        """Return the session with this id if it is open."""

    async def close_unless_in_use(self, live: LiveSession) -> None:
        """Close a session, unless it is in use."""

    def refuse_when_draining(self) -> None:
        """Raise `Draining` while the daemon shuts down."""


@dataclass(slots=True)
class _Run:
    """One import: the request, the logs of the store, and what is recorded at the end."""

    params: t.ImportParams
    reporting: Reporting
    is_followed: bool = False  # whether the program writes the files at present: see `append_entries`
    titles: Titles = field(default_factory=Titles)
    records: dict[str, SourceRecord] = field(default_factory=dict)  # by the path of the source

    def record(
        self,
        path: str,
        state: SourceState,
        session: t.ImportedSession,
        log: str,
        log_status: FileStatus | None,
        blob_bytes: int,
        version: str | None,
    ) -> None:
        """Record the outcome for the next import, if the session has a file.

        Args:
            path: The path of the source.
            state: The state of the source.
            session: The outcome for an unchanged source.
            log: The ref of the session's log.
            log_status: The status of the log, which has every entry of the source; None without a file.
            blob_bytes: The size of the blobs that the log names.
            version: The version of the program that wrote the source.
        """
        if log_status is not None:
            self.records[path] = SourceRecord(
                IMPORTER,
                state,
                log=log,
                log_status=log_status,
                session=session,
                blob_bytes=blob_bytes,
                version=version,
            )


class Imports:
    """Imports into one store. `records_path` is the file of the records of imports; None: a temporary file."""

    def __init__(self, sessions: ImportHost, files: Store, records_path: str | None) -> None:
        self._sessions = sessions
        self._files = files
        self._records = SourceRecords(records_path)
        self._unchanged = UnchangedSources(files, self._records)
        self._logs = StoredLogs(files)
        self._pages_being_imported = 0
        self._followed_leaves: dict[str, str | None] = {}
        """The leaf of each followed session after the last append from its file."""

    def close(self) -> None:
        """Close the records of imports."""
        self._records.close()

    async def run(self, params: t.ImportParams, reporting: Reporting) -> t.ImportResult:
        """Import files that the request names, or that are below the folders that it names: at most `limit`.

        Raises:
            IncompatibleParams: The request names nothing, or a path that is not absolute.
            CursorExpired: The cursor is of a request with other paths, or its file is no longer there.
            Draining: The daemon shuts down.
            StorageFailed: The store cannot be listed, or its disk is full.
        """
        paths = _named(params)
        page = await asyncio.to_thread(import_pages.page, paths, params.cursor, params.limit)
        outcomes = await self._import_page(page, _Run(params, reporting))
        return t.ImportResult(
            sessions=[it for it in outcomes if isinstance(it, t.ImportedSession)],
            skipped=[it for it in outcomes if isinstance(it, t.SkippedFile)],
            next_cursor=page.next_cursor,
        )

    async def import_followed(self, paths: Sequence[str], reporting: Reporting) -> list[ImportOutcome]:
        """Import files that their program writes at present. Returns the outcome for each file, in order.

        Raises `Draining` and `StorageFailed`, as `run` does.
        """
        page = ImportPage([ImportCandidate(it, named=True) for it in paths], 0, len(paths), None)
        return await self._import_page(page, _Run(t.ImportParams(), reporting, is_followed=True))

    async def append_followed(
        self, live: LiveSession, imported: Imported, new: Sequence[ImportedEntry], path: str, origin: t.Origin
    ) -> None:
        """Append the entries of the lines that were added to a followed file. Raises as an append does.

        Args:
            live: The session of the file.
            imported: The result of reading a part of the file.
            new: Those of its entries that the session lacks.
            path: The file.
            origin: The origin of the entries.
        """
        self._sessions.refuse_when_draining()
        live.appending_jobs += 1
        try:
            blobs = self._blobs_of(path)
            if not live.blobs.takes_images:
                new = await asyncio.to_thread(_with_images, new, BlobFinder(blobs))
            await blobs.carry([it.line for it in new], self._files.blobs)
            await self._append(live, imported, new, origin, is_followed=True)
        finally:
            live.appending_jobs -= 1

    async def _append(
        self,
        live: LiveSession,
        imported: Imported,
        new: Sequence[ImportedEntry],
        origin: t.Origin,
        *,
        is_followed: bool,
    ) -> None:
        leaf = self._followed_leaves.get(live.session_id, UNSET)
        await append_entries(live, imported, new, origin, followed_from=leaf, is_followed=is_followed)
        if is_followed:
            self._followed_leaves[live.session_id] = live.tree.pending_leaf_id

    @property
    def records(self) -> SourceRecords:
        """The records of the imported files."""
        return self._records

    @property
    def is_importing(self) -> bool:
        """Whether files are read at present."""
        return self._pages_being_imported > 0

    async def _import_page(self, page: ImportPage, run: _Run) -> list[ImportOutcome]:
        self._pages_being_imported += 1
        try:
            return await self._import_changed(page, run)
        finally:
            self._pages_being_imported -= 1

    async def _import_changed(self, page: ImportPage, run: _Run) -> list[ImportOutcome]:
        """Import the files of a page that differ from their records, and record them."""
        format = run.params.format
        unchanged = await asyncio.to_thread(
            self._unchanged.outcomes, [it.path for it in page.files], format, run.titles
        )
        if len(unchanged) < len(page.files):
            await asyncio.to_thread(self._logs.update)
        try:
            return await self._import_all(page, unchanged, run)
        finally:
            await asyncio.to_thread(self._records.put, run.records, format)

    async def _import_all(
        self, page: ImportPage, unchanged: Mapping[str, ImportOutcome], run: _Run
    ) -> list[ImportOutcome]:
        """Import the files of a page that are not unchanged. Returns the outcomes for all of them, in order."""
        outcomes: list[ImportOutcome] = []
        for number, it in enumerate(page.files, page.start):
            if (known := unchanged.get(it.path)) is not None:
                outcomes.append(known)
                continue
            self._sessions.refuse_when_draining()
            percentage = 100 * number // page.file_count
            message = f"{number + 1:,} of {page.file_count:,}: {lines.valid_text(it.path.rpartition('/')[2])}"
            run.reporting.report(t.Progress(kind="report", message=message, percentage=percentage))
            try:
                outcomes.append(await self._import(it.path, run))
            except StorageFull:
                raise  # no other file could be stored either
            except (*_OF_ONE_FILE, OSError) as refusal:
                message = lines.valid_text(reason_of(refusal))
                skipped = t.SkippedFile(path=lines.valid_text(it.path), message=message)
                outcomes.append(skipped)
                if isinstance(refusal, NotImported) and refusal.state is not None:
                    run.records[it.path] = SourceRecord(IMPORTER, refusal.state, skipped=skipped)
        return outcomes

    async def _import(self, path: str, run: _Run) -> t.ImportedSession:
        if path in self._logs.ids and not await asyncio.to_thread(self._is_foreign, path):
            raise NotImported(OWN_SESSION)
        target = Target(run.params.cwd, self._sessions.takes_images, title_space=not run.is_followed)
        found = await import_reading.read(path, run.params.format, run.titles, self._logs.refs, target)
        if isinstance(found, NewSession):
            if self._sessions.cached(found.session_id) is None:
                return await self._create(found, path, run)
            # A session with this id was opened in the meantime.
            found = await asyncio.to_thread(foreign_files.read, path, run.params.format, run.titles)
        return await self._create_or_grow(found, target, path, run)

    async def _create_or_grow(
        self, source: ReadSource, target: Target, path: str, run: _Run
    ) -> t.ImportedSession:
        """Create a session from a file, or append the entries that the session of an earlier import lacks."""
        imported = source.imported
        names = imported_log.candidates(imported, path)
        for session_id in names:
            there = await self._there(session_id)
            if there is None:
                finding = BlobFinder(self._blobs_of(path))
                new = await asyncio.to_thread(new_session, source, session_id, target, finding)
                return await self._create(new, path, run, missing_images=finding.missing)
            if recorded.is_recorded(there.tree, imported):
                own = await asyncio.to_thread(_without_recorded, source, there)
                return await self._grow(own, session_id, there, path, run)
            if await asyncio.to_thread(imported_log.is_import_of, there.tree, there.read, imported):
                return await self._grow(source, session_id, there, path, run)
        raise NotImported(f"other sessions have its ids: {', '.join(names)}")

    async def _there(self, session_id: str) -> "_Scanned | None":
        """Read the log of a session without opening the session. Returns None if no session has this id."""
        live = self._sessions.cached(session_id)
        ref = self._logs.refs.get(session_id) if live is None else live.log.ref
        return None if ref is None else await asyncio.to_thread(self._scan, ref)

    def _is_foreign(self, ref: str) -> bool:
        """Return whether a log that the store lists is a session file of another program."""
        return foreign_program_of(lambda size: bytes_of(self._files, ref, 0, size)) is not None

    def _scan(self, ref: str) -> "_Scanned | None":
        scanned = _Scanned(ref)
        try:
            if self._is_foreign(ref):
                return None
            for data in self._files.scan(ref):
                scanned.take(data)
        except LogNotFound:
            return None
        scanned.tree.finish()
        return scanned

    async def _create(
        self, new: NewSession, path: str, run: _Run, *, missing_images: Iterable[str] = ()
    ) -> t.ImportedSession:
        if new.names_blobs:
            await asyncio.gather(*map(self._files.blobs.put, new.blobs.values()))
            await self._blobs_of(path).carry([new.lines], self._files.blobs)
        is_draft = not new.is_answered
        made = await self._files.add(
            new.session_id, cwd=new.cwd, timestamp=new.imported.timestamp, lines=new.lines, draft=is_draft
        )
        info = msgspec.structs.replace(new.info, path=made.path, is_draft=is_draft and new.info.is_draft)
        if run.is_followed:
            self._followed_leaves[new.session_id] = new.imported.leaf
        session = t.ImportedSession(
            status="unchanged", session_id=new.session_id, title=info.title, is_draft=info.is_draft,
            added_count=0, **report_fields(new.imported, path),
        )  # fmt: skip
        blob_bytes = await self._blob_bytes(new.lines) if new.names_blobs else 0
        version = new.imported.source_version
        run.record(path, new.state, session, made.ref, FileStatus.at(made.ref), blob_bytes, version)
        run.reporting.created(info)
        _report_missing(new.imported, missing_images)
        if not new.cwd:
            new.imported.report.add_problem(0, NO_FOLDER)
        return msgspec.structs.replace(
            session, status="created", added_count=new.added, **report_fields(new.imported, path)
        )

    async def _grow(
        self, source: ReadSource, session_id: str, there: "_Scanned", path: str, run: _Run
    ) -> t.ImportedSession:
        imported, rows = source.imported, there.tree
        new: list[ImportedEntry] = []
        missing_images: Iterable[str] = ()
        title, draft = rows.title, not (rows.has_assistant() or imported.is_answered)
        ref, log_status = there.ref, there.status
        if await asyncio.to_thread(imported_log.missing, imported, rows):
            was_open = self._sessions.cached(session_id) is not None
            live = await self._sessions.session(session_id)
            live.appending_jobs += 1
            try:
                new = imported_log.missing(imported, live.tree)
                blobs = self._blobs_of(path)
                finding = BlobFinder(blobs)
                whole_lines = await asyncio.to_thread(_with_images, new, finding)
                missing_images = finding.missing
                if not live.blobs.takes_images:
                    new = whole_lines
                await blobs.carry([it.line for it in new], self._files.blobs)
                await self._append(live, imported, new, run.reporting.origin, is_followed=run.is_followed)
            finally:
                live.appending_jobs -= 1
            title, draft, ref = live.tree.title, live.is_draft, live.log.ref
            log_status = FileStatus.at(ref)
            if not was_open:  # thousands of grown sessions would otherwise all keep their files open
                await self._sessions.close_unless_in_use(live)
        session = t.ImportedSession(
            status="unchanged", session_id=session_id, title=title, is_draft=draft, added_count=0,
            **report_fields(imported, path),
        )  # fmt: skip
        blob_bytes, version = await self._blob_bytes(there.data), imported.source_version
        run.record(path, source.state, session, ref, log_status, blob_bytes, version)
        if not new:
            return session
        _report_missing(imported, missing_images)
        return msgspec.structs.replace(
            session, status="grown", added_count=len(new), **report_fields(imported, path)
        )

    async def _blob_bytes(self, lines: bytes | bytearray) -> int:
        """Return the size of the blobs that the lines of a log name."""
        if PREFIX.encode() not in lines:
            return 0
        return await asyncio.to_thread(_blob_bytes, lines, SessionBlobs(None, stores=(self._files.blobs,)))

    def _blobs_of(self, path: str) -> SessionBlobs:
        """Return the blobs of the store, and those of the program that wrote the file."""
        return SessionBlobs(None, stores=(self._files.blobs,), fallback=self._files.blobs_beside(path))


class _Scanned:
    """A log that was read completely without opening its session: its bytes, and the status of its file before."""

    def __init__(self, ref: str) -> None:
        self.ref = ref
        self.status = FileStatus.at(ref)
        self.tree = Tree()
        self.data = bytearray()

    def take(self, data: bytes) -> None:
        """Add the next bytes of the log."""
        self.tree.read(data)
        self.data += data

    def read(self, rows: Sequence[int]) -> list[bytes]:
        """Return the entries of rows."""
        return [self.tree.entry(row, bytes(self.data[slice(*self.tree.span(row))])) for row in rows]


def _without_recorded(source: ReadSource, there: _Scanned) -> ReadSource:
    """Return what was read without what was recorded. Raises `NotImported` while a turn is being recorded."""
    quiet = time.time() - source.state.status.modified_ns / 1e9
    if quiet < foreign_files.GROWING_SECONDS and recorded.has_open_turn(there.tree, there.read):
        raise NotImported(BEING_RECORDED)
    return source._replace(imported=recorded.joined(source.imported, there.tree, there.read))


def _blob_bytes(lines: bytes | bytearray, blobs: SessionBlobs) -> int:
    return sum(map(blobs.size, set(referenced_hashes(lines))))


def _named(params: t.ImportParams) -> list[str]:
    paths = [*([] if params.path is None else [params.path]), *(params.paths or [])]
    if not paths:
        raise IncompatibleParams("path or paths must name what to import")
    for path in paths:
        refuse_unless_absolute(path, "a path to import")
    if params.cwd is not None:
        refuse_unless_absolute(params.cwd, "cwd")
    return paths


def _with_images(entries: Sequence[ImportedEntry], find: Find) -> list[ImportedEntry]:
    return [msgspec.structs.replace(it, line=restore_images(it.line, find)) for it in entries]


def _report_missing(imported: Imported, digests: Iterable[str]) -> None:
    for digest in digests:
        imported.report.add_problem(0, f"an image is missing, and its reference stays: {PREFIX}{digest}")
