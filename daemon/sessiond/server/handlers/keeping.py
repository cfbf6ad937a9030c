"""The end of sessions: delete, restore, cleanup, purge, and what lies in the trash."""

from sessiond.hub.errors import InvalidRequest
from sessiond.hub.live import LiveSession
from sessiond.protocol import methods as m, types as t
from sessiond.server.client import Client
from sessiond.server.handlers.named import session_result
from sessiond.server.order import Effect
from sessiond.session.retention import Policy


async def delete(client: Client, live: LiveSession, params: t.DeleteParams) -> t.DeleteResult:
    gone = await client.hub.keeping.delete(
        live, by_path=params.path is not None, reason=params.reason, by=client.client_id
    )
    client.server.tell_deleted_soon(gone, params.reason or None, client.origin)
    return gone


async def restore(client: Client, params: t.RestoreParams) -> t.SessionResult:
    live = await client.hub.keeping.restore(params)
    back = session_result(client, live)
    client.server.tell_all_soon(m.RESTORED, t.RestoredNote(session=back.session, origin=client.origin))
    return back


async def cleanup(client: Client, params: t.CleanupParams) -> t.CleanupResult:
    policy = Policy(params.max_age_seconds, params.max_sessions, frozenset(params.tags or ()))
    if policy.asks_for_nothing:
        raise InvalidRequest("say maxAgeSeconds, maxSessions or both")

    def tell(gone: t.DeleteResult, reason: str) -> None:
        client.server.tell_deleted_soon(gone, reason, client.origin)

    return await client.hub.cleaning.run(policy, dry_run=params.dry_run, by=client.client_id, tell=tell)


def effect_of_purge(params: t.PurgeParams) -> Effect:
    """Of one session, or of all that are old enough."""
    return "overhaul" if params.session_id is None else "change"


async def purge(client: Client, params: t.PurgeParams) -> t.PurgeResult:
    return await client.hub.keeping.purge(params)


async def list_(client: Client, params: t.TrashListParams) -> t.TrashListResult:
    return await client.hub.keeping.page(params)
