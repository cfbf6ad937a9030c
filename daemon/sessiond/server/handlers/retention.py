"""Handlers that remove and restore sessions: delete, restore, cleanup, purge, list the trash."""

from sessiond.hub.errors import IncompatibleParams, SessionTrashed
from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.tickets import Effect
from sessiond.server.handlers.named import named
from sessiond.session.listing.retention import Policy


async def delete(client: Client, params: t.DeleteParams) -> t.DeleteResult:
    """Move a session to the trash with `hub.deletion.delete` and notify all clients.

    A repeated command returns the first result.
    For a session that is already in the trash, `hub.deletion.deleted_before` returns the result.
    """
    command = client.hub.commands.of(m.DELETE, params)

    async def run() -> t.DeleteResult:
        try:
            live = await named(client, params.session_id, params.path)
            gone = await client.hub.deletion.delete(
                live,
                by_path=params.path is not None,
                note=params.note,
                by=client.client_id,
                command=command,
            )
        except SessionTrashed as before:
            known = await client.hub.deletion.deleted_before(before)
            if known is None:
                raise
            return known
        client.server.notify_deleted_soon(gone, params.note or None, client.origin(params.command_id))
        return gone

    return await client.hub.commands.once(command, t.DeleteResult, run)


async def restore(client: Client, params: t.RestoreParams) -> t.SessionResult:
    """Restore a session from the trash with `hub.trash_requests.restore`.

    All clients are notified, unless the command is a repeat.
    """
    back = await client.hub.trash_requests.restore(params)
    if not back.duplicate:
        client.server.notify_all_soon(
            m.RESTORED, t.RestoredNote(session=back.session, origin=client.origin(params.command_id))
        )
    return back


async def cleanup(client: Client, params: t.CleanupParams) -> t.CleanupResult:
    """Move the sessions beyond the limits to the trash with `hub.cleanup.run`.

    A repeated command returns the first result.
    Raises `IncompatibleParams` if the request has neither `maxAgeMs` nor `maxSessions`.
    """
    max_age = None if params.max_age_ms is None else params.max_age_ms / 1_000
    policy = Policy(max_age, params.max_sessions, frozenset(params.tags or ()))
    if policy.is_unlimited:
        raise IncompatibleParams("at least one of `maxAgeMs` and `maxSessions` is required")

    def on_deleted(gone: t.DeleteResult, note: str) -> None:
        client.server.notify_deleted_soon(gone, note, client.origin(params.command_id))

    async def run() -> t.CleanupResult:
        return await client.hub.cleanup.run(
            policy, dry_run=params.dry_run, by=client.client_id, on_deleted=on_deleted
        )

    command = None if params.dry_run else client.hub.commands.of(m.CLEANUP, params)
    return await client.hub.commands.once(command, t.CleanupResult, run)


def effect_of_purge(params: t.PurgeParams) -> Effect:
    """Return the effect of a purge: on one session, or on all that are old enough."""
    return "overhaul" if params.session_id is None else "change"


async def purge(client: Client, params: t.PurgeParams) -> t.PurgeResult:
    """Delete sessions in the trash permanently with `hub.trash_requests.purge`."""
    return await client.hub.trash_requests.purge(params)


async def list_(client: Client, params: t.TrashListParams) -> t.TrashListResult:
    """Return a page of the trash with `hub.trash_requests.page`. Raises `CursorExpired`, `StorageFailed`."""
    return await client.hub.trash_requests.page(params)
