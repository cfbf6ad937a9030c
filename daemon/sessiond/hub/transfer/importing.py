"""Imports session files of other programs: creates new sessions, and appends the new entries of files that have grown.

Files are read one after the other, outside the event loop (`import_reading`). A new session is created atomically as
one file. New entries of an existing session are appended through its queue. If the session was continued here, its leaf
does not move.
"""

import asyncio
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import msgspec

from sessiond.hub.errors import HubError, IncompatibleParams, refuse_unless_absolute
from sessiond.hub.execution.child_process import ChildFailed
from sessiond.hub.index.facts import bytes_of
from sessiond.hub.session import drafts
from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.blob_resolution import BlobFinder
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.entry_placement import Placement
from sessiond.hub.session.live import LiveSession
from sessiond.hub.transfer import foreign_files, import_pages, import_reading
from sessiond.hub.transfer.foreign_files import NotImported, Titles
from sessiond.hub.transfer.import_reading import NewSession, Target, new_session
from sessiond.hub.transfer.reporting import Reporting
from sessiond.protocol import types as t
from sessiond.session.content.blobs import PREFIX
from sessiond.session.content.restore_blobs import Find, restore_images
from sessiond.session.dialects import imported_log
from sessiond.session.dialects.import_builder import Imported, ImportedEntry
from sessiond.session.dialects.recognition import foreign_program_of
from sessiond.session.tree import lines
from sessiond.session.tree.tree import Tree
from sessiond.store.base import Store
from sessiond.store.errors import LogExists, LogNotFound, LogReplaced, StorageFailed, StorageFull

ENTRIES_AT_ONCE: Final = 500
"""Limit of entries in one append."""
MAX_KINDS: Final = 100
"""Limit of types and of kinds of lines that a result lists for a file."""
MAX_KIND_LENGTH: Final = 100
"""Limit of the name of a kind, in characters."""
MAX_PROBLEMS: Final = 20
"""Limit of problems that a result lists for a file."""
_OF_ONE_FILE: Final = (NotImported, HubError, LogExists, LogReplaced, StorageFailed, ChildFailed)
"""Errors that skip one file and do not end the import."""
_ADVANCING: Final = Placement(as_found=True)
_STAYING: Final = Placement(as_found=True, advance=False)


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
    """One import: the request, and the logs of the store."""

    params: t.ImportParams
    reporting: Reporting
    refs: dict[str, str]  # session id -> ref of its log
    ours: set[str]  # the refs of all logs
    titles: Titles = field(default_factory=Titles)


class Imports:
    """Imports into one store."""

    def __init__(self, sessions: ImportHost, files: Store) -> None:
        self._sessions = sessions
        self._files = files

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
        refs = {it.session_id: it.ref for it in await self._files.list()}
        run = _Run(params, reporting, refs, set(refs.values()))
        sessions: list[t.ImportedSession] = []
        skipped: list[t.SkippedFile] = []
        for number, it in enumerate(page.files, page.start):
            self._sessions.refuse_when_draining()
            percentage = 100 * number // page.file_count
            message = f"{number + 1:,} of {page.file_count:,}: {lines.valid_text(it.path.rpartition('/')[2])}"
            reporting.report(t.Progress(kind="report", message=message, percentage=percentage))
            try:
                sessions.append(await self._take(it.path, run))
            except StorageFull:
                raise  # no other file could be stored either
            except (*_OF_ONE_FILE, OSError) as refusal:
                message = lines.valid_text(_reason(refusal))
                skipped.append(t.SkippedFile(path=lines.valid_text(it.path), message=message))
        return t.ImportResult(sessions=sessions, skipped=skipped, next_cursor=page.next_cursor)

    async def _take(self, path: str, run: _Run) -> t.ImportedSession:
        if path in run.ours and not await asyncio.to_thread(self._is_foreign, path):
            raise NotImported("it is a session of sessiond already")
        target = Target(run.params.cwd, self._sessions.takes_images)
        found = await import_reading.read(path, run.params.format, run.titles, run.refs, target)
        if isinstance(found, NewSession):
            if self._sessions.cached(found.session_id) is None:
                return await self._create(found, path, run)
            # A session with this id was opened in the meantime.
            found = await asyncio.to_thread(foreign_files.read, path, run.params.format, run.titles)
        return await self._take_in(found, target, path, run)

    async def _take_in(self, imported: Imported, target: Target, path: str, run: _Run) -> t.ImportedSession:
        """Create a session from a file, or append the entries that the session of an earlier import lacks."""
        names = imported_log.candidates(imported, path)
        for session_id in names:
            there = await self._there(session_id, run)
            if there is None:
                finding = BlobFinder(self._blobs_of(path))
                new = await asyncio.to_thread(new_session, imported, session_id, target, finding)
                _report_missing(imported, finding)
                return await self._create(new, path, run)
            if await asyncio.to_thread(imported_log.is_import_of, there.tree, there.read, imported):
                return await self._grow(imported, session_id, there.tree, path, run)
        raise NotImported(f"other sessions have its ids: {', '.join(names)}")

    async def _there(self, session_id: str, run: _Run) -> "_Scanned | None":
        """Read the log of a session without opening the session. Returns None if no session has this id."""
        live = self._sessions.cached(session_id)
        ref = run.refs.get(session_id) if live is None else live.log.ref
        return None if ref is None else await asyncio.to_thread(self._scan, ref)

    def _is_foreign(self, ref: str) -> bool:
        """Return whether a log that the store lists is a session file of another program."""
        return foreign_program_of(lambda size: bytes_of(self._files, ref, 0, size)) is not None

    def _scan(self, ref: str) -> "_Scanned | None":
        scanned = _Scanned()
        try:
            if self._is_foreign(ref):
                return None
            for data in self._files.scan(ref):
                scanned.take(data)
        except LogNotFound:
            return None
        scanned.tree.finish()
        return scanned

    async def _create(self, new: NewSession, path: str, run: _Run) -> t.ImportedSession:
        await asyncio.gather(*map(self._files.blobs.put, new.blobs.values()))
        await self._blobs_of(path).carry([new.lines], self._files.blobs)
        made = await self._files.create(
            new.session_id, cwd=new.cwd, timestamp=new.imported.timestamp, lines=new.lines,
            draft=not new.is_answered,
        )  # fmt: skip
        await made.close()
        info = msgspec.structs.replace(new.info, path=made.path, is_draft=made.draft and new.info.is_draft)
        run.refs[new.session_id] = made.ref
        run.reporting.created(info)
        if not new.cwd:
            new.imported.report.add_problem(0, "it names no folder; import it with `cwd`")
        return t.ImportedSession(
            status="created", session_id=new.session_id, title=info.title, is_draft=info.is_draft,
            added_count=new.added, **_account(new.imported, path),
        )  # fmt: skip

    async def _grow(
        self, imported: Imported, session_id: str, rows: Tree, path: str, run: _Run
    ) -> t.ImportedSession:
        new: list[ImportedEntry] = []
        title, draft = rows.title, not (rows.has_assistant() or imported.is_answered)
        if await asyncio.to_thread(imported_log.missing, imported, rows):
            was_open = self._sessions.cached(session_id) is not None
            live = await self._sessions.session(session_id)
            live.appending_jobs += 1
            try:
                new = imported_log.missing(imported, live.tree)
                blobs = self._blobs_of(path)
                finding = BlobFinder(blobs)
                whole_lines = await asyncio.to_thread(_with_images, new, finding)
                _report_missing(imported, finding)
                if not live.blobs.takes_images:
                    new = whole_lines
                await blobs.carry([it.line for it in new], self._files.blobs)
                await self._append(live, imported, new, run.reporting.origin)
            finally:
                live.appending_jobs -= 1
            title, draft = live.tree.title, live.is_draft
            if not was_open:  # thousands of grown sessions would otherwise all keep their files open
                await self._sessions.close_unless_in_use(live)
        return t.ImportedSession(
            status="grown" if new else "unchanged", session_id=session_id, title=title, is_draft=draft,
            added_count=len(new), **_account(imported, path),
        )  # fmt: skip

    def _blobs_of(self, path: str) -> SessionBlobs:
        """Return the blobs of the store, and those of the program that wrote the file."""
        return SessionBlobs(None, stores=(self._files.blobs,), fallback=self._files.blobs_beside(path))

    async def _append(
        self, live: LiveSession, imported: Imported, new: Sequence[ImportedEntry], origin: t.Origin
    ) -> None:
        """Append new entries. The leaf moves if it is still an imported entry, or the session has none."""
        leaf = live.tree.pending_leaf_id
        follows = leaf is None or any(it.id == leaf for it in imported.entries)
        there = {it.id for it in imported.entries}
        for start in range(0, len(new), ENTRIES_AT_ONCE):
            some = new[start : start + ENTRIES_AT_ONCE]
            batch = [_draft(it, imported.dialect, there) for it in some]
            is_last = start + ENTRIES_AT_ONCE >= len(new)
            if is_last and follows and some[-1].id != imported.leaf:
                batch.append(msgspec.json.encode({"type": "leaf", "targetId": imported.leaf}))
            await _appended(live, batch, _ADVANCING if follows else _STAYING, origin)


class _Scanned:
    """A log that was read completely without opening its session."""

    def __init__(self) -> None:
        self.tree = Tree()
        self._data = bytearray()

    def take(self, data: bytes) -> None:
        """Add the next bytes of the log."""
        self.tree.read(data)
        self._data += data

    def read(self, rows: Sequence[int]) -> list[bytes]:
        """Return the entries of rows."""
        return [self.tree.entry(row, bytes(self._data[slice(*self.tree.span(row))])) for row in rows]


def _named(params: t.ImportParams) -> list[str]:
    paths = [*([] if params.path is None else [params.path]), *(params.paths or [])]
    if not paths:
        raise IncompatibleParams("path or paths must name what to import")
    for path in paths:
        refuse_unless_absolute(path, "a path to import")
    if params.cwd is not None:
        refuse_unless_absolute(params.cwd, "cwd")
    return paths


def _account(imported: Imported, path: str) -> dict[str, Any]:
    """Return the import report of a file as fields of `ImportedSession`."""
    report = imported.report
    return {
        "path": lines.valid_text(path), "format": imported.dialect, "converted_lines": _most_frequent(report.converted),
        "preserved_lines": _most_frequent(report.preserved),
        "held_back_count": report.held_back_count, "problem_count": report.problem_count,
        "problems": [
            t.ImportProblem(line=it.line, message=lines.valid_text(it.message))
            for it in report.problems[:MAX_PROBLEMS]
        ],
    }  # fmt: skip


def _most_frequent(counts: Counter[str]) -> dict[str, int]:
    """Return the counts of the most frequent kinds, in the order in which they were found."""
    listed = {kind for kind, _ in counts.most_common(MAX_KINDS)}
    return {
        lines.valid_text(kind[:MAX_KIND_LENGTH]): count for kind, count in counts.items() if kind in listed
    }


def _with_images(entries: Sequence[ImportedEntry], find: Find) -> list[ImportedEntry]:
    return [replace(it, line=restore_images(it.line, find)) for it in entries]


def _report_missing(imported: Imported, finding: BlobFinder) -> None:
    for digest in finding.missing:
        imported.report.add_problem(0, f"an image is missing, and its reference stays: {PREFIX}{digest}")


def _draft(it: ImportedEntry, dialect: str, there: Container[str | None]) -> bytes:
    """Return the draft of an entry. An entry that an append would refuse becomes raw data in a custom entry."""
    try:
        draft = drafts.read_draft(0, it.line)
    except HubError as refusal:
        return imported_log.as_preserved(it, dialect, str(refusal))
    if draft.target is not None and draft.target not in there:
        return imported_log.as_preserved(
            it, dialect, f"it points to an entry that is not in the file: {draft.target}"
        )
    return it.line


async def _appended(
    live: LiveSession, batch: Sequence[bytes], placement: Placement, origin: t.Origin
) -> None:
    ended: asyncio.Future[Outcome | Exception] = asyncio.get_running_loop().create_future()

    def done(outcome: Outcome | Exception) -> None:
        if not ended.done():
            ended.set_result(outcome)

    live.append(batch, placement, "synced", origin, done)
    outcome = await ended
    if isinstance(outcome, Exception):
        raise outcome


def _reason(refusal: Exception) -> str:
    """Return why a file was skipped, as a message."""
    match refusal:
        case NotImported():
            return refusal.reason
        case FileNotFoundError():
            return "there is no such file or folder"
        case OSError(strerror=str(strerror)):
            return f"it cannot be read: {strerror.lower()}"
        case _:
            return str(refusal)
