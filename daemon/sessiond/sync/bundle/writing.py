"""Writes sessions of a daemon to a bundle, while clients continue to write to them: `bundle` and `backup`."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from sessiond.client.daemon import Daemon
from sessiond.client.wire import RpcError
from sessiond.protocol import methods as m, types as t
from sessiond.sync.bringing import bring_together
from sessiond.sync.bundle import prompts
from sessiond.sync.bundle.archive import ArchiveWriter
from sessiond.sync.bundle.encryption import Encryptor
from sessiond.sync.bundle.errors import NothingChosenError
from sessiond.sync.bundle.manifest import Kind
from sessiond.sync.bundle.report import WrittenReport
from sessiond.sync.bundle.spool import spool_file
from sessiond.sync.bundle.target_file import replacing
from sessiond.sync.bundle.writer import BundleWriter
from sessiond.sync.copying import Copying, SyncSide
from sessiond.sync.folders import FolderMap
from sessiond.sync.options import Progress, SyncOptions
from sessiond.sync.report import SessionProblem, SyncReport

_GONE = ("notInTrash", "sessionNotFound")
"""Error kinds that a session has which was purged or restored after it was listed."""


@dataclass(frozen=True, slots=True)
class BundleTarget:
    """The file to which a bundle is written, and its encryption.

    Attributes:
        path: The file.
        force: Whether it is replaced.
        encryptor: Encrypts it; None for no encryption.
        spool_folder: The folder of the file without a name that holds the content until it is encrypted.
    """

    path: Path
    force: bool = False
    encryptor: Encryptor | None = None
    spool_folder: str | None = None


async def write_bundle(
    here: Daemon, target: BundleTarget, options: SyncOptions, progress: Progress, *,
    kind: Kind = "bundle", files: Callable[[], Iterable[tuple[str, bytes]]] = tuple,
) -> WrittenReport:  # fmt: skip
    """Write the chosen sessions of a daemon to a file.

    Each session is written in its state at one moment. Entries that are appended afterwards are not in the file.

    Args:
        here: The daemon.
        target: The file.
        options: The selection. A backup also has the sessions of the trash.
        progress: Called after each session.
        kind: The kind of the file.
        files: Returns further members: their names and contents.

    Raises:
        BundleError: The file exists, or cannot be written, or no session is chosen. No file remains.
        RpcError: The daemon refused what every session needs.
        DisconnectedError: The connection was lost.
    """
    async with contextlib.AsyncExitStack() as stack:
        out = stack.enter_context(
            spool_file(None) if options.is_dry_run else replacing(target.path, force=target.force)
        )
        plain = out if target.encryptor is None else stack.enter_context(spool_file(target.spool_folder))
        report = await _write(here, plain, options, progress, kind, files)
        report.path, report.is_encrypted = str(target.path), target.encryptor is not None
        if target.encryptor is not None and not options.is_dry_run:
            await asyncio.to_thread(target.encryptor.encrypt, plain, out)
        report.size_bytes = 0 if options.is_dry_run else out.seek(0, 2)
        return report


async def _write(
    here: Daemon, plain: BinaryIO, options: SyncOptions, progress: Progress, kind: Kind,
    files: Callable[[], Iterable[tuple[str, bytes]]],
) -> WrittenReport:  # fmt: skip
    report = SyncReport(is_dry_run=options.is_dry_run)
    mine = await here.call(m.SYNC_POSITIONS, t.SyncPositionsParams(include_drafts=options.drafts))
    archive = ArchiveWriter(plain)
    bundle = BundleWriter(archive, mine.sessions)
    nothing = t.SyncPositionsResult(digest="", session_count=0, sessions=[], folders=[], left_out=[])
    await bring_together(here, bundle, mine, nothing, options, report, progress)
    found = WrittenReport("", session_count=report.sent.session_count, is_dry_run=options.is_dry_run)
    if kind == "backup":
        await _write_trash(here, bundle, report)
        found.trashed_count = report.sent.session_count - found.session_count
        for name, data in files():
            archive.add(name, data)
            found.file_names.append(name)
        history, found.prompt_count = await prompts.read_prompts(here)
        archive.add(prompts.NAME, history)
    elif not report.session_count:
        raise NothingChosenError
    bundle.finish(kind, datetime.now(UTC).isoformat(timespec="seconds"), mine.folders)
    found.line_count, found.blob_count = report.sent.line_count, report.sent.blob_count
    found.problems = report.problems
    if options.is_everything:
        found.left_out = mine.left_out
    return found


async def _write_trash(here: Daemon, bundle: BundleWriter, report: SyncReport) -> None:
    no_map = FolderMap([], [], [])
    source = SyncSide(here, no_map, report.received)
    copying = Copying(report)
    async for row in trash_rows(here):
        position = t.SyncPosition(
            session_id=row.session_id, state="trashed", line_count=0, digest="", cwd=row.cwd,
            is_draft=row.is_draft, tags=[], agent=None, trash_id=row.trash_id, problem=None,
        )  # fmt: skip
        target = SyncSide(bundle.for_trashed(position, row.note), no_map, report.sent)
        try:
            await copying.whole(source, target, position)
        except RpcError as error:
            if error.kind not in _GONE:
                raise
            report.problems.append(SessionProblem(row.session_id, error.message))


async def trash_rows(daemon: Daemon) -> AsyncIterator[t.TrashedSession]:
    """Yield the sessions in the trash, without ephemeral ones."""
    cursor: str | None = None
    while True:
        page = await daemon.call(m.TRASH_LIST, t.TrashListParams(cursor=cursor, limit=200))
        for row in page.sessions:
            if not row.ephemeral:
                yield row
        if (cursor := page.next_cursor) is None:
            return
