"""The handler of `storage/report`."""

from sessiond.protocol import types as t
from sessiond.server.connection.client import Client


async def report(client: Client, params: t.StorageReportParams) -> t.StorageReportResult:
    """Report sizes with `hub.storage`. Raises `StorageFailed`."""
    return await client.hub.storage.report(params, client.server.locations)
