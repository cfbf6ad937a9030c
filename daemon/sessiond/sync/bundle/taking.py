"""Stores the sessions of a bundle in a daemon, as a sync would: `import` and `restore`."""

from collections.abc import Sequence

from sessiond.client.daemon import Daemon
from sessiond.paths import Locations
from sessiond.protocol import methods as m, types as t
from sessiond.session.union.difference import own_lines
from sessiond.sync.bringing import bring_together
from sessiond.sync.bundle import prompts
from sessiond.sync.bundle.home_files import place_of, restore_file
from sessiond.sync.bundle.manifest import BundledSession
from sessiond.sync.bundle.reader import Bundle, position_of
from sessiond.sync.bundle.report import TakenReport
from sessiond.sync.bundle.writing import trash_rows
from sessiond.sync.copying import Copying, SyncSide
from sessiond.sync.folders import FolderMap, FolderPair
from sessiond.sync.merging import read_keys
from sessiond.sync.options import Progress, SyncOptions
from sessiond.sync.report import SessionProblem

_IN_USE = "it is in the trash of the backup, and in use here with other lines; it stays as it is"


async def take_bundle(
    here: Daemon, bundle: Bundle, path: str, progress: Progress, *,
    pairs: Sequence[FolderPair] = (), is_dry_run: bool = False,
) -> TakenReport:  # fmt: skip
    """Store what a daemon lacks of the sessions of a bundle.

    Sessions that are in the trash here, or were purged, come back. Nothing is overwritten or deleted. Entries that
    both added to a session become branches.

    Args:
        here: The daemon.
        bundle: The bundle.
        path: Its file, for the report.
        progress: Called after each session.
        pairs: Folders here, and the same folders where the bundle was written.
        is_dry_run: Whether nothing is stored.

    Raises:
        RpcError: The daemon refused what every session needs.
        DisconnectedError: The connection was lost. The stored lines stay; a repetition stores the rest.
    """
    manifest, theirs = bundle.manifest, bundle.positions
    report = TakenReport(
        path=path, kind=manifest.kind, created_at=manifest.created_at, is_encrypted=bundle.is_encrypted,
        is_dry_run=is_dry_run,
    )  # fmt: skip
    options = SyncOptions(
        push=False, drafts=True, session_ids={session.session_id for session in theirs.sessions}, undelete=True,
        pairs=pairs, is_dry_run=is_dry_run, name="the bundle",
    )  # fmt: skip
    mine = await here.call(m.SYNC_POSITIONS, t.SyncPositionsParams(include_drafts=True))
    await bring_together(here, bundle, mine, theirs, options, report, progress)
    return report


async def take_trash(here: Daemon, bundle: Bundle, report: TakenReport) -> None:
    """Store the sessions of a backup's trash in the trash, with their notes. Raises as `take_bundle` does."""
    rows: dict[str, list[str]] = {}
    async for row in trash_rows(here):
        rows.setdefault(row.session_id, []).append(row.trash_id)
    mine = await here.call(m.SYNC_POSITIONS, t.SyncPositionsParams(include_drafts=True))
    in_use = {session.session_id for session in mine.sessions if session.state == "stored"}
    restoring = _TrashRestore(here, bundle, report)
    for session in bundle.trashed:
        report.session_count += 1
        copies: list[str | None] = [*rows.get(session.session_id, ())]
        if session.session_id in in_use:
            copies.append(None)
        if await restoring.is_in_one_of(session, copies):
            report.unchanged_count += 1
        elif None in copies:
            report.problems.append(SessionProblem(session.session_id, _IN_USE))
        else:
            await restoring.restore(session)


def take_files(bundle: Bundle, locations: Locations, report: TakenReport) -> None:
    """Create the other files of a backup, where there is none of the same name. Raises `OSError`."""
    for name in bundle.names_below("files/"):
        place, data = place_of(locations, name), bundle.member(name)
        if place is not None and data is not None:
            report.files.append(restore_file(place, data, is_dry_run=report.is_dry_run))


async def take_prompts(here: Daemon, bundle: Bundle, report: TakenReport) -> None:
    """Add the prompts of a backup to the history. Raises as `take_bundle` does."""
    if (data := bundle.member(prompts.NAME)) is not None:
        report.prompt_count = await prompts.restore_prompts(here, data, is_dry_run=report.is_dry_run)


class _TrashRestore:
    def __init__(self, here: Daemon, bundle: Bundle, report: TakenReport) -> None:
        no_map = FolderMap([], [], [])
        self._here = SyncSide(here, no_map, report.received)
        self._daemon = here
        self._bundle = SyncSide(bundle, no_map, report.sent)
        self._copying = Copying(report)
        self._report = report

    async def is_in_one_of(self, session: BundledSession, copies: Sequence[str | None]) -> bool:
        """Return whether one of the copies here, by their ids in the trash, has all lines of a session."""
        if not copies:
            return False
        theirs = await read_keys(self._bundle.daemon, session.session_id, session.trash_id)
        for trash_id in copies:
            mine = await read_keys(self._daemon, session.session_id, trash_id)
            own = own_lines(theirs.keys, mine.keys)
            if not own.seqs and not own.refused:
                return True
        return False

    async def restore(self, session: BundledSession) -> None:
        """Create a session from its lines and delete it."""
        await self._copying.whole(self._bundle, self._here, position_of(session))
        if not self._report.is_dry_run:
            await self._daemon.call(
                m.DELETE, t.DeleteParams(session_id=session.session_id, note=session.note)
            )
        self._report.trashed_count += 1
