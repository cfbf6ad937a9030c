"""Handlers of requests that bring two stores together: positions, ids, lines, put, missing blobs."""

from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.client import Client


async def positions(client: Client, params: t.SyncPositionsParams) -> t.SyncPositionsResult:
    """Return the positions of all sessions with `hub.sync.positions`."""
    return await client.hub.sync.positions(params)


async def ids(client: Client, params: t.SyncIdsParams) -> t.SyncIdsResult:
    """Return the ids of a session's lines with `hub.sync.ids`."""
    return await client.hub.sync.ids(params)


async def lines(client: Client, params: t.SyncLinesParams) -> t.SyncLinesResult:
    """Return lines of a session with `hub.sync.lines`."""
    return await client.hub.sync.lines(params)


async def put(client: Client, params: t.SyncPutParams) -> t.SyncPutResult:
    """Add lines to a session with `hub.sync.put`. A new session is announced to all clients."""
    origin = client.origin()

    def created(session: t.SessionInfo) -> None:
        client.server.notify_all_soon(m.CREATED, t.CreatedNote(session=session, origin=origin))

    return await client.hub.sync.put(params, origin, created)


async def missing_blobs(client: Client, params: t.BlobMissingParams) -> t.BlobMissingResult:
    """Return missing blobs with `hub.sync.missing_blobs`. Raises `Draining`."""
    client.hub.sessions.refuse_when_draining()
    return await client.hub.sync.missing_blobs(params)
