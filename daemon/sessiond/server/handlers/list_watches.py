"""Handlers of watches of the session list."""

from sessiond.protocol import types as t
from sessiond.server.connection.client import Client


async def watch(client: Client, params: t.WatchParams) -> t.WatchResult:
    """Begin a watch of the session list with `server.watches.add`. Raises `Overloaded`, `StorageFailed`."""
    return await client.server.watches.add(client, params)


def unwatch(client: Client, params: t.UnwatchParams) -> t.UnwatchResult:
    """End a watch with `server.watches.remove`. An unknown watch is not an error."""
    return t.UnwatchResult(was_watching=client.server.watches.remove(client, params.watch_id))
