"""The daemon as an asynchronous object: `async with connect() as daemon: await daemon.append(id, [...])`.

It consists of the link, notifications and subscriptions; `methods/` has the protocol's methods, a file for each topic.
The object has no state of sessions and makes no decisions.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from sessiond import __version__
from sessiond.client import terminal
from sessiond.client.dial import connect as connect_socket
from sessiond.client.link import DaemonLink, Dial
from sessiond.client.methods.agents import AgentsMethods
from sessiond.client.methods.blobs import BlobMethods
from sessiond.client.methods.context import ContextMethods
from sessiond.client.methods.entries import EntryMethods
from sessiond.client.methods.exchange import ExchangeMethods
from sessiond.client.methods.history import HistoryMethods
from sessiond.client.methods.process import ProcessMethods
from sessiond.client.methods.retention import RetentionMethods
from sessiond.client.methods.sessions import SessionMethods
from sessiond.client.methods.state import StateMethods
from sessiond.client.methods.sync import SyncMethods
from sessiond.client.methods.views import ViewMethods
from sessiond.client.notifications import Notifications
from sessiond.client.subscription import Subscription
from sessiond.client.summarizer import Summarize, summarize_handler
from sessiond.client.watched_list import WatchedList
from sessiond.paths import Locations, find_locations
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.connection import Connection
from sessiond.rpc.handler import Handler


@asynccontextmanager
async def connect(
    *,
    autostart: bool = True,
    locations: Locations | None = None,
    name: str = "python",
    client_id: str | None = None,
    opt_out_notifications: Sequence[str] = (),
    summarize: Summarize | None = None,
) -> AsyncIterator["Daemon"]:
    """Connect to the daemon of this user, and start it if it does not run.

    Args:
        autostart: Start the daemon if it does not run.
        locations: The folders of the daemon. Default: those of this user.
        name: The name of this program in `sessiond clients`.
        client_id: The id of this client, which notifications name as `origin`. Default: the daemon chooses one.
        opt_out_notifications: Names of notifications that the daemon does not send to this client.
        summarize: Writes summaries. The daemon may call it for any session that this client has open.

    Returns:
        A context manager of the `Daemon`. Leaving it ends the connection.

    Raises:
        DaemonConnectionError: There is no daemon, or it cannot be started.
    """
    folders = locations or find_locations()
    here = terminal.here()
    hello = t.HelloParams(
        client_info=t.ClientProgram(name=name, version=__version__),
        client_id=client_id,
        terminal=msgspec.convert(here, t.Terminal) if here else None,
        opt_out_notifications=list(opt_out_notifications),
        position_encodings=["utf-32"],
    )
    dial, dial_running = _dial(folders, autostart=autostart), _dial(folders, autostart=False)
    daemon = Daemon(dial, dial_running, hello, summarize)
    await daemon.connected()
    try:
        yield daemon
    finally:
        await daemon.aclose()


class Daemon(
    SessionMethods, EntryMethods, ContextMethods, StateMethods, ViewMethods, ExchangeMethods, HistoryMethods,
    BlobMethods, RetentionMethods, ProcessMethods, AgentsMethods, SyncMethods,
):  # fmt: skip
    """The daemon of one user, over a connection that is made again after it was lost.

    Appends and read-only requests survive a restart of the daemon. Any other request raises `DisconnectedError` when
    its response was lost, since the outcome is unknown. If the daemon refuses a request, it raises `RpcError`.
    """

    def __init__(
        self,
        dial: Dial,
        dial_running: Dial,
        hello: t.HelloParams | None = None,
        summarize: Summarize | None = None,
    ) -> None:
        hello = hello or t.HelloParams(
            client_info=t.ClientProgram(name="python", version=__version__), position_encodings=["utf-32"]
        )
        handlers = {}
        if summarize is not None:
            capabilities = t.ClientCapabilities(summarize=t.SummarizeCapability())
            hello = msgspec.structs.replace(hello, capabilities=capabilities)
            handlers[m.SUMMARIZE.name] = summarize_handler(summarize)
        self._link = DaemonLink(dial, dial_running, hello, handlers)

    async def connected(self) -> t.HelloResult:
        """Connect now, if there is no connection yet.

        Returns:
            The daemon's response to `server/hello`: its version, methods, capabilities and limits.

        Raises:
            DaemonConnectionError: There is no daemon, or it cannot be started.
            RpcError: The daemon refused this client.
        """
        await self._link.connect()
        assert self._link.handshake is not None
        return self._link.handshake

    async def aclose(self) -> None:
        """End the connection. The daemon and all sessions stay."""
        await self._link.close()

    def notifications(self, *names: str) -> Notifications:
        """Receive notifications from this call on.

        Args:
            *names: Names of notifications, such as "session/changed". Default: all.

        Returns:
            An asynchronous iterator of the decoded notifications. It raises `NotificationsMissedError` at a gap.
        """
        return Notifications(self._link, names)

    def subscribe(self, session_id: str, *, after: t.After | int | None = None) -> Subscription:
        """Subscribe to the entries of a session: each once, in log order.

        Args:
            session_id: The whole id of the session.
            after: The position after which the entries begin. An integer is the seq of a line of the session's current
                log; 0 is the header. Default: only new entries.

        Returns:
            An asynchronous iterator of entries, which is also a context manager.
        """
        return Subscription(self._link, session_id, after)

    def watch_list(
        self,
        cwd: str | None = None,
        *,
        project: str | None = None,
        tags: Sequence[str] | None = None,
        query: str | None = None,
        agent: str | None = None,
        automated: bool | None = None,
        include_drafts: bool = False,
        interval_ms: int = 200,
    ) -> WatchedList:
        """Watch a list of sessions: receive all of its rows, and then those that change.

        Args:
            cwd: Only sessions of this folder. Default: of all folders.
            project: Only sessions of the project of this folder, an absolute path.
            tags: Only sessions with all of these tags.
            query: Only sessions whose id, title, first prompt, cwd or agent contains each word of this text.
            agent: Only sessions read from this agent.
            automated: Only sessions whose prompts a program gave, or only others. Default: all.
            include_drafts: Also draft sessions.
            interval_ms: The minimum time between two changes, in milliseconds.

        Returns:
            An asynchronous iterator of `ListChange`, which is also a context manager.
        """
        list_filter = t.ListFilter(
            cwd=cwd,
            project=project,
            tags=None if tags is None else list(tags),
            query=query,
            agent=agent,
            automated=automated,
            include_drafts=include_drafts,
        )
        return WatchedList(self._link, list_filter, interval_ms)

    def keep_open(self, session_id: str) -> None:
        """Open this session again on every new connection, so that it stays open after a restart of the daemon.

        Args:
            session_id: The whole id of the session.
        """
        self._link.reopened_sessions.add(session_id)

    def stop_keeping_open(self, session_id: str) -> None:
        """Revert `keep_open`: do not open this session again on new connections.

        Args:
            session_id: The whole id of the session.
        """
        self._link.reopened_sessions.discard(session_id)


def _dial(folders: Locations, *, autostart: bool) -> Dial:
    async def dial(handler: Handler[Connection]) -> Connection:
        # Finding or starting a daemon blocks.
        found = await asyncio.to_thread(connect_socket, folders, autostart=autostart)
        sock = socket.socket(fileno=found.detach())
        sock.setblocking(False)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(lambda: Connection(handler), sock=sock)
        return connection

    return dial
