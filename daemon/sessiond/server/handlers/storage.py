"""The handlers of `storage/report` and `storage/agents`."""

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
