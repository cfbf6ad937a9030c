"""The history of prompts: add, recent, search."""

from sessiond.protocol import types as t
from sessiond.server.client import Client


async def add(client: Client, params: t.HistoryAddParams) -> t.HistoryAddResult:
    client.hub.refuse_when_draining()
    return t.HistoryAddResult(added=await client.hub.history.add(params))


async def recent(client: Client, params: t.HistoryRecentParams) -> t.HistoryResult:
    return await client.hub.history.recent(params)


async def search(client: Client, params: t.HistorySearchParams) -> t.HistoryResult:
    return await client.hub.history.search(params)
