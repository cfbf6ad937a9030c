"""Handlers of watches of the session list and of trees."""

from sessiond.hub.errors import Overloaded
from sessiond.hub.index.watches import MAX_WATCHES
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.server.connection.client import Client


async def watch(client: Client, params: t.WatchParams) -> t.WatchResult:
    """Begin a watch of the session list with `server.watches.add`. Raises `Overloaded`, `StorageFailed`."""
    return await client.server.watches.add(client, params, _watched_trees(client))


def watch_tree(client: Client, live: LiveSession, params: t.WatchTreeParams) -> t.WatchTreeResult:
    """Begin a watch of a tree with `live.tree_watches.add`. Raises `Overloaded`, `EntryNotFound`."""
    if client.server.watches.count(client) + _watched_trees(client) >= MAX_WATCHES:
        raise Overloaded(f"this client has {MAX_WATCHES} watches already")
    return live.tree_watches.add(client, params)


def unwatch(client: Client, params: t.UnwatchParams) -> t.UnwatchResult:
    """End a watch, of the session list or of a tree. An unknown watch is not an error."""
    was_watching = client.server.watches.remove(client, params.watch_id) or any(
        live.tree_watches.remove(client, params.watch_id) for live in client.hub.sessions.all()
    )
    return t.UnwatchResult(was_watching=was_watching)


def _watched_trees(client: Client) -> int:
    return sum(live.tree_watches.count(client) for live in client.hub.sessions.all())
