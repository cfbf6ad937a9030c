"""The handlers of `storage/report`, `storage/agents`, `storage/archive`, `storage/reclaim` and `storage/giveBack`."""

from sessiond.protocol import types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.progress import progress_in_percent


async def report(client: Client, params: t.StorageReportParams) -> t.StorageReportResult:
    """Report sizes with `hub.storage`. Raises `StorageFailed`."""
    return await client.hub.storage.report(params, client.server.locations)


async def agents(client: Client, params: t.StorageAgentsParams) -> t.StorageAgentsResult:
    """Measure the folders of agents with `hub.storage`, with progress."""
    with progress_in_percent(client, params.work_done_token, "Measuring the folders of agents") as report:
        return await client.hub.storage.agents(report)


async def archive(client: Client, params: t.StorageArchiveParams) -> t.StorageArchiveResult:
    """Pack unused sessions with `hub.packing`, with progress. Sessions that are being packed are finished.

    Raises `IncompatibleParams`, `StorageFailed`, `Draining`.
    """
    client.hub.sessions.refuse_when_draining()
    with progress_in_percent(client, params.work_done_token, "Packing sessions") as report:
        return await client.hub.packing.archive(params, report)


async def reclaim(client: Client, params: t.StorageReclaimParams) -> t.StorageReclaimResult:
    """Move old files of an agent here with `hub.reclaim`, with progress. A file that is being moved is finished.

    Raises `IncompatibleParams`, `StorageFailed`; `Draining` unless it is a dry run.
    """
    if not params.dry_run:
        client.hub.sessions.refuse_when_draining()
    with progress_in_percent(client, params.work_done_token, "Reclaiming") as report:
        return await client.hub.reclaim.reclaim(params, client.server.locations, report)


async def give_back(client: Client, params: t.StorageGiveBackParams) -> t.StorageGiveBackResult:
    """Move files of an agent back with `hub.reclaim`, with progress. Raises `IncompatibleParams`, `Draining`."""
    client.hub.sessions.refuse_when_draining()
    with progress_in_percent(client, params.work_done_token, "Moving files back") as report:
        return await client.hub.reclaim.give_back(params, client.server.locations, report)
