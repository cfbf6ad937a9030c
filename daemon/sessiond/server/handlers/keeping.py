"""The end of sessions: delete, restore, purge, and what lies in the trash."""

from sessiond.protocol import methods as m, types as t
from sessiond.server.client import Client
from sessiond.server.handlers.named import named, session_result


async def delete(client: Client, params: t.DeleteParams) -> t.DeleteResult:
    live = await named(client, params.session_id, params.path)
    gone = await client.hub.keeping.delete(
        live, by_path=params.path is not None, reason=params.reason, by=client.client_id
    )
    note = t.DeletedNote(
        session_id=gone.session_id, trashed=gone.trashed, origin=client.origin, reason=params.reason or None
    )
    client.server.tell_all_soon(m.DELETED, note)
    return gone


async def restore(client: Client, params: t.RestoreParams) -> t.SessionResult:
    live = await client.hub.keeping.restore(params)
    back = session_result(client, live)
    client.server.tell_all_soon(m.RESTORED, t.RestoredNote(session=back.session, origin=client.origin))
    return back


async def purge(client: Client, params: t.PurgeParams) -> t.PurgeResult:
    return await client.hub.keeping.purge(params)


async def list_(client: Client, params: t.TrashListParams) -> t.TrashListResult:
    return await client.hub.keeping.page(params)
