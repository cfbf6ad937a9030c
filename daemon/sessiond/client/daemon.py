"""The daemon as an asynchronous object: `async with connect() as daemon: await daemon.append(id, [...])`.

One method for each of the protocol's, with its params as arguments and its result as a struct; entries and
messages are plain dicts. What each does and may be refused for stands in protocol.md. Nothing is kept or
decided here.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond import __version__
from sessiond.client import terminal
from sessiond.client.dial import connect as reach
from sessiond.client.link import Dial, Link
from sessiond.client.notifications import Notifications
from sessiond.client.results import Context, Entries
from sessiond.client.subscription import Subscription
from sessiond.paths import Places, places
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.connection import Connection, Handler

P = TypeVar("P", bound=t.Wire)
R = TypeVar("R", bound=t.Wire)
S = TypeVar("S", bound=msgspec.Struct)

_ONCE, _TWICE = 1, 2

_READING = frozenset(
    method.name
    for method in (m.LIST, m.INFO, m.ENTRIES, m.PATH, m.TREE, m.CONTEXT, m.STATUS, m.CLIENTS, m.FLUSH)
)
"""Requests that change nothing, so that one whose answer was lost may simply be sent again."""


@asynccontextmanager
async def connect(
    *,
    autostart: bool = True,
    where: Places | None = None,
    name: str = "python",
    client_id: str | None = None,
    opt_out: Sequence[str] = (),
) -> AsyncIterator["Daemon"]:
    """Connect to the daemon of this user, or of the folders `where`; start it if need be and allowed.

    `name` is what `sessiond clients` calls this program. `opt_out` names notifications that it does not want.
    Raises `CannotConnect`.
    """
    folders = where or places()
    here = terminal.here()
    options = t.InitializeOptions(
        client_id=client_id,
        terminal=msgspec.convert(here, t.Terminal) if here else None,
        opt_out=list(opt_out),
    )
    daemon = Daemon(_dial(folders, autostart=autostart), _dial(folders, autostart=False), name, options)
    await daemon.connected()
    try:
        yield daemon
    finally:
        await daemon.aclose()


class Daemon:
    """The daemon of one user, over a connection that is made again when it was lost.

    Appends and requests that only read survive a restart of the daemon unnoticed. Any other raises
    `Disconnected` when its answer was lost, since it is not known whether it was carried out. A refusal
    raises `RpcError`.
    """

    def __init__(
        self, dial: Dial, look: Dial, name: str = "python", options: t.InitializeOptions | None = None
    ) -> None:
        client = {"name": name, "version": __version__}
        self._link = Link(dial, look, client, options or t.InitializeOptions())

    async def connected(self) -> t.Handshake:
        """Connect now if that is not done yet. Returns what the daemon said of itself."""
        await self._link.connect()
        assert self._link.handshake is not None
        return self._link.handshake

    async def aclose(self) -> None:
        """End the connection. The daemon and all sessions go on."""
        await self._link.close()

    async def call(self, method: m.Method[P, R], params: P, *, timeout: float | None = None) -> R:
        """Any method of the table. `timeout` is in seconds."""
        return msgspec.json.decode(await self._ask(method, params, timeout), type=method.result)

    def notifications(self, *names: str) -> Notifications:
        """What the daemon tells by itself from now on, as structs: those with one of these names, or all."""
        return Notifications(self._link, names)

    def subscribe(self, session_id: str, *, after: int | None = None) -> Subscription:
        """The entries of a session behind line `after` (default: from now on), each once, in log order."""
        return Subscription(self._link, session_id, after)

    # --- sessions

    async def create(
        self,
        cwd: str | None = None,
        *,
        id: str | None = None,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        parent_session: str | None = None,
        ephemeral: bool = False,
    ) -> t.SessionResult:
        params = t.CreateParams(
            cwd=cwd or str(Path.cwd()),
            id=id,
            title=title,
            tags=None if tags is None else list(tags),
            parent_session=parent_session,
            ephemeral=ephemeral,
        )
        return await self.call(m.CREATE, params)

    async def open(self, session_id: str | None = None, *, path: str | None = None) -> t.SessionResult:
        return await self.call(m.OPEN, t.OpenParams(session_id=session_id, path=path))

    async def close(self, session_id: str) -> t.CloseResult:
        return await self.call(m.CLOSE, t.CloseParams(session_id=session_id))

    async def continue_session(self, cwd: str | None = None, *, create: bool = True) -> t.ContinueResult:
        return await self.call(m.CONTINUE, t.ContinueParams(cwd=cwd or str(Path.cwd()), create=create))

    async def list_sessions(
        self,
        cwd: str | None = None,
        *,
        all: bool = False,
        tags: Sequence[str] | None = None,
        query: str | None = None,
        sort: Literal["updated", "created", "title"] = "updated",
        cursor: str | None = None,
        limit: int = 50,
        drafts: bool = False,
    ) -> t.ListResult:
        params = t.ListParams(
            cwd=cwd,
            all=all,
            tags=None if tags is None else list(tags),
            query=query,
            sort=sort,
            cursor=cursor,
            limit=limit,
            drafts=drafts,
        )
        return await self.call(m.LIST, params)

    async def info(self, session_id: str) -> t.SessionResult:
        return await self.call(m.INFO, t.InfoParams(session_id=session_id))

    async def fork(
        self,
        session_id: str | None = None,
        *,
        path: str | None = None,
        leaf_id: str | None = None,
        position: Literal["at", "before"] = "at",
        cwd: str | None = None,
        title: str | None = None,
    ) -> t.SessionResult:
        params = t.ForkParams(
            session_id=session_id, path=path, leaf_id=leaf_id, position=position, cwd=cwd, title=title
        )
        return await self.call(m.FORK, params)

    async def rename(self, session_id: str, title: str) -> t.ChangeResult:
        return await self.call(m.RENAME, t.RenameParams(session_id=session_id, title=title))

    async def tag(
        self,
        session_id: str,
        *,
        add: Sequence[str] | None = None,
        remove: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
    ) -> t.ChangeResult:
        lists = {"add": add, "remove": remove, "tags": tags}
        given = {name: list(words) for name, words in lists.items() if words is not None}
        return await self.call(m.TAG, t.TagParams(session_id=session_id, **given))

    async def flush(self, session_id: str | None = None) -> t.FlushResult:
        return await self.call(m.FLUSH, t.FlushParams(session_id=session_id))

    # --- entries

    async def append(
        self,
        session_id: str,
        entries: Sequence[Mapping[str, Any]],
        *,
        parent_id: str | UnsetType | None = UNSET,
        expected_leaf: str | UnsetType | None = UNSET,
        on_conflict: Literal["reject", "branch"] = "reject",
        advance: bool = True,
        durability: t.Durability = "synced",
    ) -> t.AppendResult:
        """session/append. Drafts without an id get one here, so that a lost answer never doubles an entry."""
        drafts = [{"id": secrets.token_hex(4), **entry} for entry in entries]
        params = t.AppendParams(
            session_id=session_id,
            entries=[Raw(msgspec.json.encode(draft)) for draft in drafts],
            parent_id=parent_id,
            expected_leaf=expected_leaf,
            on_conflict=on_conflict,
            advance=advance,
            durability=durability,
        )
        raw = await self._link.ask(m.APPEND.name, params, timeout=None, attempts=_TWICE)
        return msgspec.json.decode(raw, type=t.AppendResult)

    async def entries(
        self,
        session_id: str,
        *,
        after: int | None = None,
        around: str | None = None,
        ids: Sequence[str] | None = None,
        cursor: str | None = None,
        limit: int = 200,
    ) -> Entries:
        params = t.EntriesParams(
            session_id=session_id,
            after=after,
            around=around,
            ids=None if ids is None else list(ids),
            cursor=cursor,
            limit=limit,
        )
        return await self._decoded(m.ENTRIES, params, Entries)

    async def path(
        self, session_id: str, leaf_id: str | None = None, *, cursor: str | None = None, limit: int = 10_000
    ) -> Entries:
        params = t.PathParams(session_id=session_id, leaf_id=leaf_id, cursor=cursor, limit=limit)
        return await self._decoded(m.PATH, params, Entries)

    async def tree(
        self,
        session_id: str,
        *,
        filter: t.Filter = "default",
        query: str | None = None,
        root_id: str | None = None,
        cursor: str | None = None,
        limit: int = 1_000,
    ) -> t.TreeResult:
        params = t.TreeParams(
            session_id=session_id, filter=filter, query=query, root_id=root_id, cursor=cursor, limit=limit
        )
        return await self.call(m.TREE, params)

    async def context(self, session_id: str, leaf_id: str | None = None) -> Context:
        return await self._decoded(
            m.CONTEXT, t.ContextParams(session_id=session_id, leaf_id=leaf_id), Context
        )

    async def branch(
        self,
        session_id: str,
        target_id: str | None,
        *,
        summary: str | None = None,
        details: Any = None,
        from_extension: bool | None = None,
        expected_leaf: str | UnsetType | None = UNSET,
    ) -> t.BranchResult:
        params = t.BranchParams(
            session_id=session_id,
            target_id=target_id,
            summary=summary,
            details=UNSET if details is None else Raw(msgspec.json.encode(details)),
            from_extension=from_extension,
            expected_leaf=expected_leaf,
        )
        return await self.call(m.BRANCH, params)

    async def label(self, session_id: str, target_id: str, label: str | None) -> t.ChangeResult:
        return await self.call(
            m.LABEL, t.LabelParams(session_id=session_id, target_id=target_id, label=label)
        )

    # --- the daemon itself

    async def status(self) -> t.StatusResult:
        return await self.call(m.STATUS, t.StatusParams())

    async def clients(self) -> t.ClientsResult:
        return await self.call(m.CLIENTS, t.ClientsParams())

    async def stop(self) -> t.StopResult:
        return await self.call(m.STOP, t.StopParams())

    async def _decoded(self, method: m.Method[P, R], params: P, into: type[S]) -> S:
        return msgspec.json.decode(await self._ask(method, params, None), type=into)

    async def _ask(self, method: m.Method[P, R], params: P, timeout: float | None) -> Raw:
        attempts = _TWICE if method.name in _READING else _ONCE
        return await self._link.ask(method.name, params, timeout=timeout, attempts=attempts)


def _dial(folders: Places, *, autostart: bool) -> Dial:
    async def dial(handler: Handler) -> Connection:
        # Finding, and starting, a daemon blocks for as long as that takes.
        sock = await asyncio.to_thread(reach, folders, autostart=autostart)
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_unix_connection(lambda: Connection(handler), sock=sock)
        return connection

    return dial
