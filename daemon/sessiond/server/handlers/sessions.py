"""Handlers of whole sessions: create, open, close, continue, list, search, info, fork."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Raw

from sessiond.hub.errors import CursorExpired
from sessiond.hub.new_sessions import ForkedSession
from sessiond.hub.retention.deletion import CLOSED_UNANSWERED
from sessiond.hub.session.description import info_of, session_result
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.rpc.message import encode_once
from sessiond.server.connection.client import Client
from sessiond.server.connection.deferred import Unopened
from sessiond.server.connection.position_encoding import in_encoding
from sessiond.server.connection.tickets import Effect

_MAX_MISSING: Final = 100
"""Limit of missing blobs in an answer."""


async def create(client: Client, params: t.CreateParams) -> t.SessionResult:
    """Create a session with `hub.creation.create` and subscribe the client to it.

    All clients are notified, unless the command is a repeat.
    """
    live, duplicate = await client.hub.creation.create(params)
    await _hold(client, live, params.terminal or client.terminal, cwd=params.cwd)
    if not duplicate:
        client.server.notify_created_soon(live, client.origin(params.command_id))
    return session_result(live, duplicate=duplicate)


async def open_(client: Client, live: LiveSession, params: t.OpenParams) -> t.SessionResult:
    """Open a session for the client: hold it, subscribe the client, and with `bind` bind it to the terminal.

    `hub.upkeep.reopen_replaced` loads the session again if its file was truncated or replaced. With `unpack`,
    `hub.packing.unpack` makes the file plain.
    """
    live = await client.hub.upkeep.reopen_replaced(live)
    if params.unpack:
        await client.hub.packing.unpack(live, client.origin())
    await _hold(client, live, (params.terminal or client.terminal) if params.bind else None)
    return session_result(live)


async def close(client: Client, live: LiveSession, _params: t.CloseParams) -> t.CloseResult:
    """Release the session with `hub.release`. If that moves a draft session to the trash, notify all clients."""
    gone = await client.hub.release(live, client.client_id)
    if gone is not None:
        client.server.notify_deleted_soon(gone, CLOSED_UNANSWERED, client.origin())
    return t.CloseResult(
        client_count=len(live.holders),
        trash_id=None if gone is None else gone.trash_id,
        trash_path=None if gone is None else gone.trash_path,
    )


async def continue_(client: Client, params: t.ContinueParams) -> t.ContinueResult:
    """Return the session that `hub.creation.resume` chooses or creates, and subscribe the client to it.

    The terminal is not bound to a session that another terminal holds. All clients are notified of a new session.
    """
    terminal = params.terminal or client.terminal
    continued = await client.hub.creation.resume(params, terminal)
    binds = params.binds and not continued.is_held_by_another
    await _hold(client, continued.live, terminal if binds else None, cwd=params.cwd)
    if continued.created and not continued.duplicate:
        client.server.notify_created_soon(continued.live, client.origin(params.command_id))
    found = session_result(continued.live)
    return t.ContinueResult(
        session=found.session,
        reason=continued.reason,
        message=continued.message,
        created=continued.created,
        problems=found.problems,
        former_folders=continued.former_folders,
        duplicate=continued.duplicate,
    )


async def list_(client: Client, params: t.ListParams) -> t.ListResult:
    """Return a page of the session list with `hub.index.page`.

    Raises `CursorExpired` if the cursor has expired, or if `changedAfter` is too old or of another epoch.
    """
    epoch = client.server.epoch
    if params.changed_after is not None and params.changed_after.epoch != epoch:
        raise CursorExpired
    return msgspec.structs.replace(await client.hub.index.page(params), epoch=epoch)


async def search(client: Client, params: t.SearchParams) -> t.SearchResult:
    """Search with `hub.search`. The ranges of the hits are converted to the client's position encoding."""
    found = await client.hub.search(params)
    encoding = client.position_encoding
    if encoding == "utf-32":
        return found
    hits = [
        msgspec.structs.replace(hit, ranges=in_encoding(hit.ranges, hit.snippet, encoding))
        for hit in found.hits
    ]
    return msgspec.structs.replace(found, hits=hits)


def info(client: Client, live: LiveSession, _params: t.InfoParams) -> Raw:
    """Return the description of the session, from `info_of`. It is encoded once for each state of the session."""
    described = info_of(live)
    encoded = live.encoded_info
    if encoded is None or encoded[0] is not described:
        encoded = live.encoded_info = described, encode_once(session_result(live))
    return encoded[1]


def effect_of_fork(params: t.ForkParams) -> Effect:
    """Return the effect of a fork. With a command id, later requests wait for the answer.

    The command is looked up before the path is copied.
    """
    return "read" if params.command_id is None else "scan"


def fork(client: Client, params: t.ForkParams) -> Unopened | Coroutine[Any, Any, t.SessionResult]:
    """Fork a session with `NewSessions.fork`, or with `hub.creation.fork` if the request has a command id.

    The client is subscribed to the new session. All clients are notified, unless the command is a repeat.
    """
    find = partial(client.hub.sessions.named, params.session_id, params.path)
    if params.command_id is None:
        return Unopened(
            find, lambda source: _forked(client, params, _new(client.hub.new_sessions.fork(source, params)))
        )
    return _forked(client, params, client.hub.creation.fork(params, find))


async def _new(make: Callable[[], Awaitable[ForkedSession]]) -> tuple[ForkedSession, bool]:
    return await make(), False


async def _forked(
    client: Client, params: t.ForkParams, made: Awaitable[tuple[ForkedSession, bool]]
) -> t.SessionResult:
    (live, missing), duplicate = await made
    await _hold(client, live, client.terminal)
    if not duplicate:
        client.server.notify_created_soon(live, client.origin(params.command_id))
    return msgspec.structs.replace(
        session_result(live, duplicate=duplicate),
        missing_blobs=missing[:_MAX_MISSING],
        missing_blob_count=len(missing),
    )


async def _hold(
    client: Client, live: LiveSession, terminal: t.Terminal | None, *, cwd: str | None = None
) -> None:
    """Record that the client holds the session, bind it to `terminal`, if any, and subscribe the client.

    The client receives no notification before the response: nothing is awaited between the subscription and the
    response.
    """
    if not client.connection.closing:
        await client.hub.hold(live, client.client_id)
    live.awaits_holder = False
    if terminal is not None:
        where = cwd or terminal.cwd or (live.tree.header.cwd if live.tree.header is not None else "")
        await client.hub.resume_service.remember(terminal, where, live)
    if client.client_id not in live.subscribers and not client.connection.closing:
        live.subscribers.add(client, next_row=live.tree.committed)
