"""The life of sessions: create, open, close, continue, list, info, fork, move."""

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from sessiond.hub.hub import refuse_unless_absolute
from sessiond.hub.live import LiveSession
from sessiond.protocol import methods as m, types as t
from sessiond.server.client import Client
from sessiond.server.handlers.named import session_result


async def create(client: Client, params: t.CreateParams) -> t.SessionResult:
    live = await client.hub.create(params)
    await _hold(client, live, params.terminal, cwd=params.cwd)
    client.server.tell_created_soon(live, client.origin)
    return t.SessionResult(session=client.hub.info(live), problems=[])


async def open_(client: Client, live: LiveSession, params: t.OpenParams) -> t.SessionResult:
    live = await client.hub.reopen_replaced(live)
    await _hold(client, live, params.terminal)
    return session_result(client, live)


async def close(client: Client, live: LiveSession, _params: t.CloseParams) -> t.CloseResult:
    trashed = await client.hub.release(live, client.client_id)
    if trashed is not None:
        note = t.DeletedNote(session_id=live.session_id, trashed=trashed, origin=client.origin)
        client.server.tell_all_soon(m.DELETED, note)
    return t.CloseResult(clients=len(live.holders), trashed=trashed)


async def continue_(client: Client, params: t.ContinueParams) -> t.ContinueResult:
    terminal = params.terminal or client.terminal
    went = await client.hub.continuing.go_on(params, terminal)
    await _hold(client, went.live, terminal, cwd=params.cwd)
    if went.created:
        client.server.tell_created_soon(went.live, client.origin)
    found = session_result(client, went.live)
    return t.ContinueResult(
        session=found.session,
        because=went.because,
        created=went.created,
        problems=found.problems,
        former=went.former,
    )


async def list_(client: Client, params: t.ListParams) -> t.ListResult:
    return await client.hub.index.page(params)


async def search(client: Client, params: t.SearchParams) -> t.SearchResult:
    return await client.hub.search(params)


async def move(client: Client, live: LiveSession, params: t.MoveParams) -> t.SessionResult:
    refuse_unless_absolute(params.cwd, "cwd is not an absolute path")
    await client.hub.keeping.move(live, params.cwd, client.origin)
    return session_result(client, live)


def info(client: Client, live: LiveSession, _params: t.InfoParams) -> t.SessionResult:
    return session_result(client, live)


def fork(client: Client, source: LiveSession, params: t.ForkParams) -> Coroutine[Any, Any, t.SessionResult]:
    return _forked(client, client.hub.fork(source, params))


async def _forked(client: Client, fork: Callable[[], Awaitable[LiveSession]]) -> t.SessionResult:
    live = await fork()
    await _hold(client, live, None)
    client.server.tell_created_soon(live, client.origin)
    return session_result(client, live)


async def _hold(
    client: Client, live: LiveSession, terminal: t.Terminal | None, *, cwd: str | None = None
) -> None:
    """The client has the session open now: its terminal remembers, and it hears of changes.

    It hears of nothing before its reply: between the subscription and the reply nothing is awaited.
    """
    if not client.connection.closing:
        live.holders.add(client.client_id)
    terminal = terminal or client.terminal
    if terminal is not None:
        where = cwd or terminal.cwd or (live.tree.header.cwd if live.tree.header is not None else "")
        await client.hub.continuing.remember(terminal, where, live)
    if client.client_id not in live.watchers and not client.connection.closing:
        live.watchers.add(client, next_row=live.tree.committed)
