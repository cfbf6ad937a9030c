"""Handlers of the prompt history: add, recent, search."""

from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.client import Client


async def add(client: Client, params: t.HistoryAddParams) -> t.HistoryAddResult:
    client.hub.refuse_when_draining()
    hub = client.hub

    async def run() -> t.HistoryAddResult:
        return t.HistoryAddResult(added=await hub.history.add(params))

    return await hub.commands.once(hub.commands.of(m.HISTORY_ADD, params), t.HistoryAddResult, run)


async def recent(client: Client, params: t.HistoryRecentParams) -> t.HistoryResult:
    return await client.hub.history.recent(params)


async def search(client: Client, params: t.HistorySearchParams) -> t.HistoryResult:
    return await client.hub.history.search(params)
