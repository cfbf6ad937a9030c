"""Handlers of the prompt history: add, import, list, delete."""

from sessiond.hub.idempotency.commands import Intent
from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.client import Client


async def add(client: Client, params: t.HistoryAddParams) -> t.HistoryAddResult:
    """Add a prompt with `hub.history.add`. A repeated command returns the first result. Raises `Draining`."""
    client.hub.sessions.refuse_when_draining()
    hub = client.hub

    async def run() -> t.HistoryAddResult:
        return await hub.history.add(params)

    return await hub.commands.once(hub.commands.of(m.HISTORY_ADD, params), t.HistoryAddResult, run)


async def import_(client: Client, params: t.HistoryImportParams) -> t.HistoryImportResult:
    """Add the prompts of another history with `hub.history.merge`. Raises `Draining`, `IncompatibleParams`."""
    client.hub.sessions.refuse_when_draining()
    return await client.hub.history.merge(params.prompts)


async def list_(client: Client, params: t.HistoryListParams) -> t.HistoryListResult:
    """Return a page of prompts with `hub.history.page`. Raises `CursorExpired`."""
    return await client.hub.history.page(params)


async def delete(client: Client, params: t.HistoryDeleteParams) -> t.HistoryDeleteResult:
    """Delete prompts permanently with `hub.history.delete`. Raises `Draining`.

    A repeated command returns the first result.
    """
    client.hub.sessions.refuse_when_draining()
    hub = client.hub

    async def run() -> t.HistoryDeleteResult:
        return t.HistoryDeleteResult(deleted_ids=await hub.history.delete(params.prompt_ids))

    async def intent() -> Intent:
        return {"promptIds": await hub.history.known(params.prompt_ids)}

    command = hub.commands.of(m.HISTORY_DELETE, params)
    return await hub.commands.once(command, t.HistoryDeleteResult, run, intent)
