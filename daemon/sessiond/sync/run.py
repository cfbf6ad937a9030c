"""One sync: compares the digests of two stores, and brings them together if they differ."""

import asyncio

from sessiond.client.daemon import Daemon
from sessiond.protocol import methods as m, types as t
from sessiond.sync.options import Progress, SyncOptions
from sessiond.sync.report import SyncReport


async def synchronize(
    here: Daemon, there: Daemon, options: SyncOptions, progress: Progress = lambda done, count: None
) -> SyncReport:
    """Bring the sessions of two daemons together.

    Args:
        here: The daemon of this machine.
        there: The other one.
        options: The choice of sessions, and the direction.
        progress: Called after each session.

    Returns:
        The report. Sessions that could not be copied are among its problems.

    Raises:
        RpcError: A daemon refused what every session needs: its disk is full, or it is about to stop.
        DisconnectedError: A connection was lost. The copied entries are stored.
    """
    report = SyncReport(is_dry_run=options.is_dry_run)
    mine, theirs = await _positions(here, there, options, digest_only=True)
    if mine.digest == theirs.digest:
        report.session_count = report.unchanged_count = mine.session_count
        return report
    mine, theirs = await _positions(here, there, options, digest_only=False)
    from sessiond.sync.bringing import bring_together  # not needed if both stores are the same

    await bring_together(here, there, mine, theirs, options, report, progress)
    return report


async def _positions(
    here: Daemon, there: Daemon, options: SyncOptions, *, digest_only: bool
) -> tuple[t.SyncPositionsResult, t.SyncPositionsResult]:
    params = t.SyncPositionsParams(include_drafts=options.drafts, digest_only=digest_only)
    return await asyncio.gather(here.call(m.SYNC_POSITIONS, params), there.call(m.SYNC_POSITIONS, params))
