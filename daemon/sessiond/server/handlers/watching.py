"""Handlers of subscriptions and of flush: subscribe, unsubscribe, flush."""

from collections.abc import Mapping
from typing import Final

from sessiond.hub.session.description import info_of
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.subscribers import REPLAY_LIMIT
from sessiond.protocol import types as t
from sessiond.protocol.enums import SnapshotReason
from sessiond.server.connection.client import Client
from sessiond.server.connection.tickets import Effect

_MESSAGES: Final[Mapping[SnapshotReason, str]] = {
    "noPosition": "The request has no `after`.",
    "otherLog": "`after` is a position in another log: the file was replaced, truncated or migrated.",
    "pastEnd": "`after` is past the end of the log, so the log is not the one that the client read.",
    "tooLarge": "The lines after `after` have too many bytes for a replay.",
}


def subscribe(client: Client, live: LiveSession, params: t.SubscribeParams) -> t.SubscribeResult:
    """Subscribe the client with `live.subscribers.add`, and replay the lines after `after` if that is possible."""
    last = live.tree.seq
    after = None if params.after is None else params.after.seq
    reason: SnapshotReason | None = None
    if params.after is None or after is None:
        reason = "noPosition"
    elif params.after.log_id != live.log.log_id:
        reason = "otherLog"
    elif after > last:
        reason = "pastEnd"
    elif after < last and live.tree.end - live.tree.span(after + 1)[0] > REPLAY_LIMIT:
        reason = "tooLarge"
    first = last + 1 if reason or after is None else after + 1
    live.subscribers.add(client, next_row=first)
    return t.SubscribeResult(
        mode="snapshot" if reason else "replay",
        log_id=live.log.log_id,
        from_seq=first,
        to_seq=last,
        session=info_of(live),
        reason=reason,
        message=None if reason is None else _MESSAGES[reason],
    )


def unsubscribe(client: Client, params: t.UnsubscribeParams) -> t.UnsubscribeResult:
    """Cancel the client's subscription with `live.subscribers.remove`. A closed session is not opened."""
    live = client.hub.sessions.cached(params.session_id)
    return t.UnsubscribeResult(was_subscribed=live is not None and live.subscribers.remove(client.client_id))


def effect_of_flush(params: t.FlushParams) -> Effect:
    """Return the effect of a flush: on one session, or on all."""
    return "survey" if params.session_id is None else "read"


async def flush(client: Client, params: t.FlushParams) -> t.FlushResult:
    """Wait until one session is synced with `live.flush`, or all open sessions with `hub.flush`."""
    if params.session_id is None:
        return t.FlushResult(session_count=await client.hub.flush())
    live = await client.hub.sessions.session(params.session_id)
    return t.FlushResult(session_count=int(await live.flush()))
