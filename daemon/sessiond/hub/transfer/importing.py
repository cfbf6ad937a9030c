"""Imports session files of other programs: creates new sessions, and appends the new entries of files that have grown.

Files that are unchanged since an earlier import are not read (`unchanged`). The others are read one after the other,
outside the event loop (`import_reading`). A new session is created atomically as
one file. New entries of an existing session are appended through its queue. If the session was continued here, its leaf
does not move.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import UNSET

from sessiond.hub.errors import ChildFailed, HubError, IncompatibleParams, refuse_unless_absolute
from sessiond.hub.execution.child_process import KeptProcess
from sessiond.hub.retention.forgotten import ForgottenSessions
from sessiond.hub.session.blob_resolution import BlobFinder
from sessiond.hub.session.blobs import PUTS_AT_ONCE, SessionBlobs, named_hashes
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.transfer import (
    attachments,
    foreign_files,
    growth,
    import_pages,
    import_reading,
    origin_state,
)
from sessiond.hub.transfer.attachments import AttachmentReader
from sessiond.hub.transfer.foreign_files import ImportCandidate, NotImported, ReadSource
from sessiond.hub.transfer.growth import FiledGrowth, Growth, Unrelated
from sessiond.hub.transfer.import_appending import append_entries
from sessiond.hub.transfer.import_pages import ImportPage
from sessiond.hub.transfer.import_reading import NewSession, Target, new_session
from sessiond.hub.transfer.import_results import (
    EXCLUDED,
    FORGOTTEN,
    OWN_SESSION,
    UNTOUCHED_COPY,
    reason_of,
    report_fields,
)
from sessiond.hub.transfer.import_run import ImportRun
from sessiond.hub.transfer.leading_file import FileRole
from sessiond.hub.transfer.leaf_owner import RESTORED
from sessiond.hub.transfer.reporting import Reporting
from sessiond.hub.transfer.source_records import SourceRecords
from sessiond.hub.transfer.source_state import FileStatus
from sessiond.hub.transfer.spool import Spool
from sessiond.hub.transfer.stored_logs import StoredLogs
from sessiond.hub.transfer.unchanged import ImportOutcome, UnchangedSources
from sessiond.protocol import types as t
from sessiond.session.content.blobs import PREFIX
from sessiond.session.content.restore_blobs import Find, may_refer_to_blobs, restore_images
from sessiond.session.dialects import imported_log
from sessiond.session.dialects.import_builder import Imported, ImportedEntry
from sessiond.session.tree import entries, lines
from sessiond.store.base import Log, Store
from sessiond.store.errors import LogExists, LogReplaced, StorageFailed, StorageFull
from sessiond.store.records import AddedLog

CUT_OFF: Final = (
    "its history was stored in pieces ({count:,} more than are known now); to store it whole, "
    "delete the session {session_id} and import this file again"
)
"""The problem of a session that was stored by an earlier version, or before the source of a fork was found."""
OTHER_LOG: Final = "the log of its session was replaced while it was compared with the file"
NO_FOLDER: Final = "it names no folder; import it with `cwd`"
"""The problem of a session whose file does not show where the session began."""
_BY_DAEMON: Final = t.Origin(kind="daemon")
_OF_ONE_FILE: Final = (NotImported, HubError, LogExists, LogReplaced, StorageFailed, ChildFailed)
"""Errors that skip one file and do not end the import."""


class Imports:
    """Imports into one store.

    Args:
        sessions: The open sessions.
        files: The store.
        records_path: The file of the records of imports; None for a temporary file.
        forgotten: The sessions that are not imported.
    """

    def __init__(
        self, sessions: OpenSessions, files: Store, records_path: str | None, forgotten: ForgottenSessions
    ) -> None:
        self._sessions = sessions
        self._files = files
        self._records = SourceRecords(records_path)
        self._forgotten = forgotten
        self._unchanged = UnchangedSources(files, self._records)
        self._logs = StoredLogs(files)
        self._process = KeptProcess()
        self._pages_being_imported = 0
        self._spools: set[str] = set()  # the tokens of those in use
        self.missing_files: dict[str, list[str]] = {}
        """The files beside a source that were not there when it was read last, by the path of the source."""
        self._followed_leaves: dict[str, str | None] = {}
        """The leaf of each followed session after the last append from its file."""

    def close(self) -> None:
        """Close the records of imports, and end the process that reads large files."""
        self._process.close()
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
        outcomes = await self._import_page(page, ImportRun(params, reporting))
        return t.ImportResult(
            sessions=[outcome for outcome in outcomes if isinstance(outcome, t.ImportedSession)],
            skipped=[outcome for outcome in outcomes if isinstance(outcome, t.SkippedFile)],
            next_cursor=page.next_cursor,
        )

    async def import_followed(
        self, paths: Sequence[str], reporting: Reporting, is_excluded: Callable[[str, str], bool]
    ) -> list[ImportOutcome]:
        """Import files that their program writes at present. Returns the outcome for each file, in order.

        Args:
            paths: The files.
            reporting: Receives each new session.
            is_excluded: Returns whether a session is not read, for the path of its file and its folder. Blocks.

        Raises `Draining` and `StorageFailed`, as `run` does.
        """
        page = ImportPage([ImportCandidate(path, named=True) for path in paths], 0, len(paths), None)
        run = ImportRun(t.ImportParams(), reporting, is_followed=True, is_excluded=is_excluded)
        return await self._import_page(page, run)

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
        spool = Spool(self._files.blobs.folder_for_files())
        beside = AttachmentReader(path, imported.dialect, spool, {})
        try:
            with_files = await asyncio.to_thread(beside.add_to, imported, is_whole=False)
            files = with_files.entries[len(imported.entries) :]
            new = [*new, *(entry for entry in files if live.tree.any_row(entry.id) is None)]
            blobs = self._blobs_of(path)
            if not live.blobs.takes_images:
                new = await asyncio.to_thread(_with_images, new, BlobFinder(blobs))
            await self._take_files(beside.files, new)
            await self._carry(blobs, new)
            await self._append(live, imported, new, origin, FileRole(), is_followed=True)
        finally:
            live.appending_jobs -= 1
            if beside.files:
                await asyncio.to_thread(spool.clear)

    async def _append(
        self,
        live: LiveSession,
        imported: Imported,
        new: Sequence[ImportedEntry],
        origin: t.Origin,
        role: FileRole,
        *,
        is_followed: bool,
    ) -> None:
        leaf = self._followed_leaves.get(live.session_id, UNSET)
        await append_entries(
            live, imported, new, origin, followed_from=leaf, is_followed=is_followed, role=role
        )
        if is_followed and live.tree.pending_leaf_id == imported.leaf:
            self._followed_leaves[live.session_id] = imported.leaf

    @property
    def records(self) -> SourceRecords:
        """The records of the imported files."""
        return self._records

    @property
    def is_importing(self) -> bool:
        """Whether files are read at present."""
        return self._pages_being_imported > 0

    async def _import_page(self, page: ImportPage, run: ImportRun) -> list[ImportOutcome]:
        self._pages_being_imported += 1
        try:
            return await self._import_changed(page, run)
        finally:
            self._pages_being_imported -= 1

    async def _import_changed(self, page: ImportPage, run: ImportRun) -> list[ImportOutcome]:
        """Import the files of a page that differ from their records, and record them."""
        format = run.params.format
        known_files = (
            [file.path for file in page.files] if run.params.cwd is None else []
        )  # sessions may move
        unchanged, run.known_files = await asyncio.to_thread(
            self._unchanged.outcomes, known_files, format, run.companions
        )
        if len(unchanged) < len(page.files):
            await asyncio.to_thread(self._logs.update)
        try:
            return await self._import_all(page, unchanged, run)
        finally:
            await asyncio.to_thread(self._put_records, run)

    def _put_records(self, run: ImportRun) -> None:
        for path, record in run.records.items():
            if files := attachments.missing(record.state.attachments):
                self.missing_files[path] = files
            else:
                self.missing_files.pop(path, None)
        self._records.put(run.records, run.params.format, run.readers)

    async def _import_all(
        self, page: ImportPage, unchanged: Mapping[str, ImportOutcome], run: ImportRun
    ) -> list[ImportOutcome]:
        """Import the files of a page that are not unchanged. Returns the outcomes for all of them, in order."""
        outcomes: list[ImportOutcome] = []
        for number, file in enumerate(page.files, page.start):
            if (known := unchanged.get(file.path)) is not None:
                outcomes.append(known)
                continue
            self._sessions.refuse_when_draining()
            percentage = 100 * number // page.file_count
            message = (
                f"{number + 1:,} of {page.file_count:,}: {lines.valid_text(file.path.rpartition('/')[2])}"
            )
            run.reporting.report(t.Progress(kind="report", message=message, percentage=percentage))
            try:
                outcomes.append(await self._import(file.path, run))
            except StorageFull:
                raise  # no other file could be stored, either
            except (*_OF_ONE_FILE, OSError) as refusal:
                message = lines.valid_text(reason_of(refusal))
                skipped = t.SkippedFile(path=lines.valid_text(file.path), message=message)
                outcomes.append(skipped)
                state, cwd = (refusal.state, refusal.cwd) if isinstance(refusal, NotImported) else (None, "")
                await asyncio.to_thread(run.record_refusal, file.path, skipped, state, self._records, cwd)
        return outcomes

    async def _import(self, path: str, run: ImportRun) -> t.ImportedSession:
        if path in self._logs.ids and not await asyncio.to_thread(growth.is_foreign, path, self._files):
            raise NotImported(OWN_SESSION)
        folder = self._files.blobs.folder_for_files()
        spool = Spool.of_source(folder, path, run.params.format)
        if spool.token in self._spools:
            spool = Spool(folder)  # another request reads the same file at present
        self._spools.add(spool.token)
        try:
            return await self._import_with(spool, path, run)
        finally:
            self._spools.discard(spool.token)

    async def _import_with(self, spool: Spool, path: str, run: ImportRun) -> t.ImportedSession:
        target = Target(run.params.cwd, title_space=not run.is_followed)
        format, companions = run.params.format, run.companions
        known_files = run.known_files.get(path, {})
        found = await import_reading.read(
            path, format, companions, self._logs.refs, target, spool, known_files, self._process
        )
        try:
            return await self._store(found, target, path, run, spool)
        finally:
            if found.files or found.log is not None:
                await asyncio.to_thread(spool.clear)

    async def _store(
        self, found: NewSession | ReadSource, target: Target, path: str, run: ImportRun, spool: Spool
    ) -> t.ImportedSession:
        if found.imported.untouched_copy_of in self._logs.refs:
            refusal = NotImported(UNTOUCHED_COPY)
            refusal.state = found.state
            raise refusal
        await self._refuse_forgotten(found, path)
        if await asyncio.to_thread(run.is_excluded, path, found.imported.cwd):
            refusal = NotImported(EXCLUDED)
            refusal.state, refusal.cwd = found.state, found.imported.cwd
            raise refusal
        if run.is_followed and found.reader is not None:
            run.readers[path] = found.reader
        if not isinstance(found, NewSession):
            return await self._create_or_grow(found, target, path, run, spool)
        if found.log is None or found.session_id not in self._logs.refs:
            if self._sessions.cached(found.session_id) is None:
                with contextlib.suppress(LogExists):
                    return await self._create(found, path, run)
            # A session with this id was created or opened in the meantime.
            await asyncio.to_thread(self._logs.update)
        if found.log is not None:
            left = await asyncio.to_thread(_still_there, found.files)
            return await self._create_or_grow(replace(found, files=left), target, path, run, spool)
        source = await asyncio.to_thread(
            foreign_files.read, path, run.params.format, run.companions, spool, run.known_files.get(path, {}),
        )  # fmt: skip
        return await self._create_or_grow(source, target, path, run, spool)

    async def _refuse_forgotten(self, found: NewSession | ReadSource, path: str) -> None:
        """Raise `NotImported` for a forgotten session, and for a copy or a fork of one that is not stored yet."""
        names = imported_log.candidates(found.imported, path)
        is_stored = any(name in self._logs.refs for name in names)
        key = "" if is_stored else found.first_prompt
        if await asyncio.to_thread(self._forgotten.is_forgotten, names, path, key):
            refusal = NotImported(FORGOTTEN)
            refusal.state = found.state
            raise refusal

    async def _create_or_grow(
        self, found: ReadSource | NewSession, target: Target, path: str, run: ImportRun, spool: Spool
    ) -> t.ImportedSession:
        """Create a session from a file, or append the entries that the session of an earlier import lacks.

        A new session has its log in a file.
        """
        source = found.source if isinstance(found, NewSession) else found
        names = imported_log.candidates(source.imported, path)
        for session_id in names:
            there = await self._growth(source, session_id, path, run, spool)
            if there is Unrelated.OTHER:
                continue
            if there is None or (there.lacks_history and await self._is_replaceable(session_id)):
                finding = BlobFinder(self._blobs_of(path))
                if isinstance(found, NewSession):
                    new = await import_reading.in_child(
                        self._process, import_reading.with_id, found, session_id, target, spool
                    )
                else:
                    new = await asyncio.to_thread(new_session, found, session_id, target, finding)
                with contextlib.suppress(LogExists):  # the log of another program has this id
                    former = None if there is None else there.ref
                    return await self._create(
                        new, path, run, missing_images=finding.missing, in_place_of=former
                    )
            elif there.is_import:
                return await self._grow(source, there, session_id, path, run)
        raise NotImported(f"other sessions have its ids: {', '.join(names)}")

    async def _is_replaceable(self, session_id: str) -> bool:
        """Return whether the log of a fork that was stored without its history may be replaced by one with it.

        Entries never move, so that the history cannot be added. A session that is in use, or was continued here, stays.
        """
        if (live := self._sessions.cached(session_id)) is not None:
            await self._sessions.close_unless_in_use(live)
        return self._sessions.cached(session_id) is None

    async def _replace(self, ref: str, new: NewSession) -> Log:
        """Replace the log of a session that is not open, and return it closed. The original stays beside it."""
        log = await self._files.open_ref(ref)
        try:
            data = new.lines if new.log is None else await asyncio.to_thread(Path(new.log).read_bytes)
            await log.rewrite(data, entries.CURRENT_VERSION)
            if new.is_answered:
                await log.promote()
        finally:
            await log.close()
        return log

    async def _growth(
        self, source: ReadSource, session_id: str, path: str, run: ImportRun, spool: Spool
    ) -> Growth | Literal[Unrelated.OTHER] | None:
        """Return what a source adds to a session, which is not opened; None if no session has this id."""
        while True:
            live = self._sessions.cached(session_id)
            ref = self._logs.refs.get(session_id) if live is None else live.log.ref
            if ref is None:
                return None
            if source.log is not None and self._files.local:
                filed = await import_reading.in_child(
                    self._process,
                    growth.find_into_file,
                    source,
                    path,
                    ref,
                    self._files,
                    spool,
                    is_followed=run.is_followed,
                )
                found = (
                    await asyncio.to_thread(filed.with_entries) if isinstance(filed, FiledGrowth) else filed
                )
            else:  # only this process has the connection of the store
                found = await asyncio.to_thread(
                    growth.find, source, path, ref, self._files, is_followed=run.is_followed
                )
            if found is not Unrelated.GONE:
                return found
            await asyncio.to_thread(self._logs.update)
            if self._logs.refs.get(session_id) in (None, ref):  # otherwise it was moved
                return None

    async def _create(
        self,
        new: NewSession,
        path: str,
        run: ImportRun,
        *,
        missing_images: Iterable[str] = (),
        in_place_of: str | None = None,
    ) -> t.ImportedSession:
        """Store a new session, or the whole of one whose log lacked its history (`in_place_of`)."""
        if new.named:
            await asyncio.gather(*map(self._files.blobs.put, new.blobs.values()))
            for digest in new.named & new.files.keys():
                await self._files.blobs.put_file(new.files[digest], digest)
            await self._blobs_of(path).carry(new.named, self._files.blobs)
        is_draft = not new.is_answered
        made: AddedLog | Log
        if new.log is not None:
            made = await self._files.add_file(
                new.session_id, cwd=new.cwd, timestamp=new.imported.timestamp, path=new.log, draft=is_draft
            )
        elif in_place_of is None:
            made = await self._files.add(
                new.session_id, cwd=new.cwd, timestamp=new.imported.timestamp, lines=new.lines, draft=is_draft
            )
        else:
            made = await self._replace(in_place_of, new)
            self._sessions.log_moved(in_place_of)
        await asyncio.to_thread(self._logs.put, new.session_id, made.ref)
        info = msgspec.structs.replace(new.info, path=made.path, is_draft=is_draft and new.info.is_draft)
        if run.is_followed:
            self._followed_leaves[new.session_id] = new.imported.leaf
        session = t.ImportedSession(
            status="unchanged", session_id=new.session_id, title=info.title, is_draft=info.is_draft,
            added_count=0, **report_fields(new.imported, path),
        )  # fmt: skip
        blob_bytes = await asyncio.to_thread(_blob_bytes, new.named, self._own_blobs) if new.named else 0
        run.record(path, new.state, session, made.ref, FileStatus.at(made.ref), blob_bytes, new.imported)
        if in_place_of is None:
            run.reporting.created(info)
        _report_missing(new.imported, missing_images)
        if not new.cwd:
            new.imported.report.add_problem(0, NO_FOLDER)
        return msgspec.structs.replace(
            session,
            status="created" if in_place_of is None else "grown",
            added_count=new.added,
            **report_fields(new.imported, path),
        )

    async def _grow(
        self, source: ReadSource, found: Growth, session_id: str, path: str, run: ImportRun
    ) -> t.ImportedSession:
        imported, role, ref, log_status = found.imported, found.role, found.ref, found.log_status
        folder = await asyncio.to_thread(self._new_folder, path, found, run)
        new: list[ImportedEntry] = []
        missing_images: Iterable[str] = ()
        title, draft = found.title, found.is_draft
        restores = run.is_followed and role.leads and self._restores_leaf(found, session_id)
        if restores and not found.lacks:
            imported.report.add_problem(0, RESTORED)
        if found.cut_off:
            imported.report.add_problem(0, CUT_OFF.format(count=found.cut_off, session_id=session_id))
        if found.lacks or found.replaces_state or restores or role.takes_over or folder is not None:
            was_open = self._sessions.cached(session_id) is not None
            live = await self._sessions.session(session_id)
            live.appending_jobs += 1
            try:
                if found.last is not None and live.tree.any_row(found.last) is None:
                    raise NotImported(OTHER_LOG)  # the next import compares it with the new log
                new = await asyncio.to_thread(imported_log.missing, imported, live.tree)
                blobs = self._blobs_of(path)
                finding = BlobFinder(blobs)
                whole_lines = await asyncio.to_thread(_with_images, new, finding)
                missing_images = finding.missing
                if not live.blobs.takes_images:
                    new = whole_lines
                await self._take_files(source.files, new)
                await self._carry(blobs, new)
                if new or found.replaces_state or restores:
                    by = run.reporting.origin
                    await self._append(live, imported, new, by, role, is_followed=run.is_followed)
                if role.takes_over:
                    await origin_state.append(live, "present", path)
                if folder is not None:
                    await self._move(live, folder)
            finally:
                live.appending_jobs -= 1
            title, draft, ref = live.tree.title, live.is_draft, live.log.ref
            await asyncio.to_thread(self._logs.put, session_id, ref)
            log_status = FileStatus.at(ref)
            if not was_open:  # otherwise, thousands of grown sessions would keep their files open
                await self._sessions.close_unless_in_use(live)
        session = t.ImportedSession(
            status="unchanged", session_id=session_id, title=title, is_draft=draft, added_count=0,
            **report_fields(imported, path),
        )  # fmt: skip
        blob_bytes = await asyncio.to_thread(_blob_bytes, found.named, self._own_blobs)
        run.record(path, source.state, session, ref, log_status, blob_bytes, imported)
        if not new and not found.replaces_state and not restores:
            return session
        _report_missing(imported, missing_images)
        return msgspec.structs.replace(
            session, status="grown", added_count=len(new), **report_fields(imported, path)
        )

    async def _take_files(self, files: Mapping[str, str], new: Sequence[ImportedEntry]) -> None:
        """Store those of the files of a spool that entries name."""
        if not files:
            return
        named = await asyncio.to_thread(lambda: named_hashes(entry.line for entry in new))
        found = sorted(named & files.keys())
        for start in range(0, len(found), PUTS_AT_ONCE):
            some = found[start : start + PUTS_AT_ONCE]
            await asyncio.gather(*(self._files.blobs.put_file(files[digest], digest) for digest in some))

    async def _carry(self, blobs: SessionBlobs, new: Sequence[ImportedEntry]) -> None:
        """Copy the blobs that entries name to the store, as far as they exist."""
        named = await asyncio.to_thread(lambda: named_hashes(entry.line for entry in new))
        await blobs.carry(named, self._files.blobs)

    def _restores_leaf(self, found: Growth, session_id: str) -> bool:
        """Return whether the leaf, which no client moved, is an ancestor of the leaf of the whole file."""
        if session_id not in self._followed_leaves and found.is_agents_leaf:
            self._followed_leaves[session_id] = found.leaf
        return found.leaf_is_above and self._followed_leaves.get(session_id, UNSET) == found.leaf

    def _new_folder(self, path: str, found: Growth, run: ImportRun) -> str | None:
        """Return the folder to which a session moves because its file, or the request, names it; None if it stays.

        A session that a user has moved here stays in its folder, even if its file names another one. Blocks.
        """
        role, cwd = found.role, found.imported.cwd
        if run.params.cwd is not None:
            return None if run.params.cwd == found.cwd else run.params.cwd
        if not role.leads or lines.valid_text(cwd) in ("", found.cwd):
            return None
        former = path if not role.is_other else found.origin_path or path
        record = self._records.find([former], run.params.format).get(former)
        was = "" if record is None else record.cwd
        return cwd if was == found.cwd or (not was and role.takes_over) else None

    async def _move(self, live: LiveSession, folder: str) -> None:
        """Move a session to another folder, unless its file is in a folder of another program."""
        was = live.log.ref
        if live.ephemeral or not self._files.keeps(was):
            return
        await live.move(folder, _BY_DAEMON)
        self._sessions.log_moved(was)
        self._sessions.log_moved(live.log.ref)

    @property
    def _own_blobs(self) -> SessionBlobs:
        """The blobs of the store."""
        return SessionBlobs(None, stores=(self._files.blobs,))

    def _blobs_of(self, path: str) -> SessionBlobs:
        """Return the blobs of the store, and those of the program that wrote the file."""
        return SessionBlobs(None, stores=(self._files.blobs,), fallback=self._files.blobs_beside(path))


def _still_there(files: Mapping[str, str]) -> dict[str, str]:
    """Return the files of a spool without those that became blobs of the store."""
    return {digest: path for digest, path in files.items() if Path(path).exists()}


def _blob_bytes(hashes: Iterable[str], blobs: SessionBlobs) -> int:
    return sum(map(blobs.size, set(hashes)))


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
    return [_with_image(entry, find) for entry in entries]


def _with_image(entry: ImportedEntry, find: Find) -> ImportedEntry:
    line = entry.line
    whole = restore_images(line, find) if may_refer_to_blobs(line) else line
    return entry if whole == line else imported_log.with_line(entry, whole)


def _report_missing(imported: Imported, digests: Iterable[str]) -> None:
    for digest in digests:
        imported.report.add_problem(0, f"an image is missing, and its reference stays: {PREFIX}{digest}")
