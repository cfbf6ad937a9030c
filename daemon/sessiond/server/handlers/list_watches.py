"""Handlers of watches of the session list."""

from sessiond.protocol import types as t
from sessiond.server.connection.client import Client


async def watch(client: Client, params: t.WatchParams) -> t.WatchResult:
    return await client.server.watches.add(client, params)


def unwatch(client: Client, params: t.UnwatchParams) -> t.UnwatchResult:
    return t.UnwatchResult(was_watching=client.server.watches.remove(client, params.watch_id))
