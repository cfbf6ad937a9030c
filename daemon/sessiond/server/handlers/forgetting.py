"""Handlers of requests about forgotten sessions: forgotten/list, forgotten/revoke."""

import asyncio

from sessiond.protocol import types as t
from sessiond.server.connection.client import Client
from sessiond.session.tree import lines


async def list_(client: Client, _params: t.ForgottenListParams) -> t.ForgottenListResult:
    """Return the forgotten sessions, the last forgotten first. Raises `StorageFailed`."""
    found = await asyncio.to_thread(client.hub.forgotten.all)
    return t.ForgottenListResult(
        sessions=[
            t.ForgottenSession(
                session_id=session.session_id, forgotten_at=session.forgotten_at, agent=session.agent,
                path=None if session.path is None else lines.valid_text(session.path),
            )
            for session in found
        ]
    )  # fmt: skip


async def revoke(client: Client, params: t.ForgottenRevokeParams) -> t.ForgottenRevokeResult:
    """Allow that sessions come back, and read their files again if their agents are followed.

    Raises `Draining`, `StorageFailed`.
    """
    client.hub.sessions.refuse_when_draining()
    found = await asyncio.to_thread(client.hub.forgotten.revoke, params.session_ids)
    await client.hub.following.read_again([session.path for session in found if session.path is not None])
    return t.ForgottenRevokeResult(revoked=[session.session_id for session in found])
