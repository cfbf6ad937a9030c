"""The server: attaches clients to the one hub, sends notifications to all of them, and shuts down.

`process.lifecycle` opens the sockets, `handlers` implement the methods, and the hub manages sessions.
"""

import asyncio
import contextlib
import logging
import socket
import threading
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, Final

from sessiond.config import Config, RetentionRule
from sessiond.hub import clock
from sessiond.hub.errors import Draining
from sessiond.hub.execution import freed_memory
from sessiond.hub.hub import Hub
from sessiond.hub.index.watches import Watches
from sessiond.hub.retention.trash_results import deleted_note
from sessiond.hub.session.description import info_of
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.observers import Aspect
from sessiond.hub.summaries.summarizer import Summarizer
from sessiond.paths import Locations, find_locations
from sessiond.protocol import methods as m, types as t
from sessiond.rpc.connection import Connection
from sessiond.rpc.message import encode_notification
from sessiond.server.connection import summary_requests
from sessiond.server.connection.client import Client
from sessiond.server.connection.memory_budget import MemoryBudget
from sessiond.server.connection.send_buffers import SendBuffers
from sessiond.server.connection.services import Arrival, Bridge
from sessiond.server.handlers.routes import ROUTES
from sessiond.server.lasting_tasks import LastingTasks
from sessiond.server.listeners import admission
from sessiond.server.resource_usage import ResourceUsage
from sessiond.session.listing.path_patterns import PathPatterns
from sessiond.session.listing.retention import Policy
from sessiond.store.errors import StorageFailed

SWEEP_SECONDS: Final = 1.0
SCRUB_START_SECONDS: Final = 300.0
KEEP_START_SECONDS: Final = 60.0
PACK_START_SECONDS: Final = 300.0
KEEP_SECONDS: Final = 3600.0
"""Interval between two runs of the retention policy."""
LAST_ANSWERS_SECONDS: Final = 2.0
"""Limit of the time in which the shutdown waits for the responses to earlier requests."""
FAREWELL_SECONDS: Final = 1.0  # limit of the time in which clients read their last responses
_STEP: Final = 0.02  # seconds between two checks for unanswered requests

log = logging.getLogger(__name__)


class Server:
    """The state of the daemon for its lifetime: the hub, the clients and the background tasks."""

    def __init__(
        self,
        hub: Hub,
        *,
        home: str,
        socket_path: str | None,
        config: Config | None = None,
        locations: Locations | None = None,
        server_id: str | None = None,
    ) -> None:
        """Start the background tasks.

        Args:
            hub: The hub.
            home: The home folder of the daemon, as `server/status` reports it.
            socket_path: The path of the Unix socket; None if there is none.
            config: The configuration; None for the default.
            locations: The folders of `home`, if they are not those that `SESSIOND_HOME` implies.
            server_id: The durable id of `home`; None for a new one.

        """
        self.hub = hub
        self.locations = locations or find_locations({"SESSIOND_HOME": home})
        self.config = config or Config()
        self.home = home
        self.socket = socket_path
        self.tcp: str | None = None
        self.server_id = server_id or str(uuid.uuid4())
        self.epoch = str(uuid.uuid4())
        self.watches = Watches(hub.index, hub.add_list_observer, self.epoch, self.spawn)
        self.started = time.monotonic()
        self.started_at = clock.iso(time.time_ns())
        self.usage = ResourceUsage()
        self.clients: dict[str, Client] = {}
        self.max_clients = admission.max_clients(self.config.limits.max_clients)
        self.memory_budget = MemoryBudget(self.config.limits.max_held)
        self.send_buffers = SendBuffers(self.clients.values, self.config.limits.max_held)
        self._entering: set[Client] = set()
        self.routes = ROUTES
        self.arriving: dict[str, list[Arrival[Client]]] = {}
        """Appends to sessions that are being opened, by session id, in the order of their arrival."""
        self.stopping = asyncio.Event()
        self.ending = False
        """Whether every request is refused with `draining`, because the hub is closing."""
        self._has_told_end = False
        self.lsp_loaded = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._writes: set[asyncio.Task[Any]] = set()
        hub.observe_with(self)
        hub.summarizers.directory = self
        self.spawn(hub.commands.ready())
        self.lasting = LastingTasks(self.spawn)
        self.lasting.begin("sweep", self._sweep)
        self.lasting.begin("index", hub.index.updater.run)
        self.lasting.begin("watch", hub.upkeep.follow_files)
        self.lasting.begin("following", lambda: hub.following.run(self._followed))
        self._packing = self.lasting.begin("packing", self._pack)
        self._keeping = self.lasting.begin("retention", self._keep)
        self.lasting.begin("scrub", self._scrub)

    # --- clients ---------------------------------------------------------------------------------------

    def attach(self, sock: socket.socket) -> None:
        """Serve an accepted, non-blocking socket whose peer is this user, or refuse it if the limit is reached."""
        self.attach_authenticated(sock, b"")

    def attach_authenticated(self, sock: socket.socket, received: bytes) -> None:
        """Serve a socket as `attach` does. `received`: Bytes that were read from an authenticated TCP client."""
        if len(self.clients) + len(self._entering) >= self.max_clients and not self._let_a_silent_one_go():
            admission.refuse_client(sock, self.max_clients)
            return
        freed_memory.limit()  # of the first request on
        client = Client(self)
        self._entering.add(client)
        self.spawn(self._attach(sock, client, received))

    async def _attach(self, sock: socket.socket, client: Client, received: bytes) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.connect_accepted_socket(
                lambda: Connection(client, max_frame=client.max_frame), sock
            )
            if received:
                connection.data_received(received)
        except OSError as error:
            sock.close()
            log.info("a client was gone before it was served: %s", error)
        finally:
            self._entering.discard(client)

    def _let_a_silent_one_go(self) -> bool:
        """Disconnect a client that has sent nothing since it connected. Returns False if there is none.

        Such a connection may be a remnant that no program uses.
        """
        since = time.monotonic() - admission.SILENT_SECONDS
        for client in list(self.clients.values()):
            if not client.connection.has_received and client.came_at < since:
                client.connection.abort()
                self.detached(client)
                return True
        return False

    def attached(self, client: Client) -> None:
        """Add a client that can now receive messages."""
        self._entering.discard(client)
        self.clients[client.client_id] = client

    def rename(self, client: Client, client_id: str) -> None:
        """Give a client the id that it asks for. If another connection has that id, it gets a suffix."""
        if client_id in self.clients and self.clients[client_id] is not client:
            client_id = f"{client_id[:100]}~{client.client_id[2:]}"
        del self.clients[client.client_id]
        for live in self.hub.sessions.all():
            if client.client_id in live.holders:
                live.holders.discard(client.client_id)
                live.holders.add(client_id)
            live.subscribers.rename(client.client_id, client_id)
        client.client_id = client_id
        self.clients[client_id] = client

    def detached(self, client: Client) -> None:
        """Remove a client that has disconnected. Its draft sessions are kept: it may have crashed and may reconnect."""
        self.clients.pop(client.client_id, None)
        self.watches.remove_all(client)
        for live in self.hub.sessions.all():
            live.holders.discard(client.client_id)
            live.subscribers.remove(client.client_id)
            live.tree_watches.remove_all(client)

    def notify_all(self, notification: m.Notification[Any], note: t.Wire) -> None:
        """Notify every client that uses sessions. Plain LSP clients do not know these notifications."""
        self.watches.note_change()
        body = encode_notification(notification.name, note)
        for client in self.clients.values():
            if client.knows_sessions and client.receives(notification.name):
                client.send(body)

    def notify_all_soon(self, notification: m.Notification[Any], note: t.Wire) -> None:
        """Notify all clients after the response to the request that is being handled."""
        asyncio.get_running_loop().call_soon(self.notify_all, notification, note)

    def notify_created_soon(self, live: LiveSession, origin: t.Origin) -> None:
        """Notify all clients of a new session, as `notify_all_soon` does."""
        self.notify_all_soon(m.CREATED, t.CreatedNote(session=info_of(live), origin=origin))

    def notify_deleted_soon(self, gone: t.DeleteResult, note: str | None, origin: t.Origin) -> None:
        """Notify all clients that a session was moved to the trash, as `notify_all_soon` does."""
        self.notify_all_soon(m.DELETED, deleted_note(gone, note, origin))

    def changed(self, live: LiveSession, aspects: Sequence[Aspect], origin: t.Origin) -> None:
        """Notify all clients that fields of a session have changed."""
        note = t.ChangedNote(session=info_of(live), changed=list(aspects), origin=origin)
        self.notify_all(m.CHANGED, note)

    def summarizers(self, live: LiveSession, requester_id: str | None) -> Iterator[Summarizer]:
        """See `summary_requests.summarizers`."""
        return summary_requests.summarizers(self.clients.values(), live, requester_id)

    async def make_bridge(self, client: Client) -> Bridge:
        """Return the LSP side of a client. pygls is imported in a thread, because that takes half a second."""
        make: Callable[[Client], Bridge] = await asyncio.to_thread(_import_bridge)
        self.lsp_loaded = True
        return make(client)

    @property
    def fair_send_buffer(self) -> int:
        """Bytes that may be queued for one client if the same number is queued for all."""
        return self.send_buffers.max_bytes // (4 * max(1, len(self.clients)))

    # --- life cycle ------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether clients are attached, a write is not on disk yet, or a summary is being written."""
        return bool(self.clients or self._writes) or any(
            live.pending or live.appending_jobs for live in self.hub.sessions.all()
        )

    def listens_at(self, path: str, tcp: str | None) -> None:
        """Record the addresses of the listeners. The service manager may have chosen the path of the socket."""
        self.socket, self.tcp = path, tcp

    def configure(self, config: Config) -> list[str]:
        """Apply another configuration. Returns the changed tables that take effect only after a restart."""
        before, self.config = self.config, config
        self.max_clients = admission.max_clients(config.limits.max_clients)
        self.memory_budget.grow(config.limits.max_held)
        self.send_buffers.max_bytes = config.limits.max_held
        self.hub.configure(config)
        if config.keep != before.keep:
            self._keeping.cancel()
            self._keeping = self.lasting.begin("retention", self._keep)
            self._packing.cancel()
            self._packing = self.lasting.begin("packing", self._pack)
        roots, tcp = before.roots != config.roots, before.listen.tcp != config.listen.tcp
        store = before.store != config.store
        return ["roots"] * roots + ["listen.tcp"] * tcp + ["store"] * store

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine in the background. It is canceled with the server."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def spawn_write(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine that completes even if its client disconnects. Until then the daemon is busy."""
        task = self.spawn(work)
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    def _followed(self, session: t.SessionInfo) -> None:
        """Announce a session that an agent began."""
        self.hub.lineage.forget()
        self.notify_all(m.CREATED, t.CreatedNote(session=session, origin=t.Origin(kind="foreign")))

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a background task failed", exc_info=task.exception())

    def stop_soon(self) -> None:
        """Stop after the response to the request that is being handled."""
        asyncio.get_running_loop().call_soon(self.stopping.set)

    def drain(self, within: float, note: str | None = None) -> None:
        """Refuse further writes, and stop when no request is in flight, or after `within` seconds.

        All clients are notified after the response to the request that is being handled.
        """
        self.hub.sessions.draining = True
        self._has_told_end = True
        self.notify_all_soon(m.SERVER_DRAINING, _end_in(within, note))
        self.spawn(self._drain(within))

    async def _drain(self, within: float) -> None:
        await self._answer_the_last(within)
        self.stopping.set()

    async def _answer_the_last(self, within: float) -> None:
        """Wait until each client has had no request in flight at least once, or until `within` seconds have passed."""
        loop = asyncio.get_running_loop()
        deadline, waiting = loop.time() + within, list(self.clients.values())
        while loop.time() < deadline:
            waiting = [
                client for client in waiting if client.connection.unanswered and not client.connection.closing
            ]
            if not waiting:
                return
            await asyncio.sleep(_STEP)

    async def close(self) -> None:
        """Write everything to disk and disconnect the clients. Raises if the disk fails, after disconnecting them."""
        self.hub.sessions.draining = True
        if not self._has_told_end:
            self.notify_all(m.SERVER_DRAINING, _end_in(LAST_ANSWERS_SECONDS, None))
        try:
            await self.hub.cancel_jobs()
            await self._answer_the_last(LAST_ANSWERS_SECONDS)
            self.ending = True
            await self.hub.close()
        finally:
            await self._cut_off()

    async def _cut_off(self) -> None:
        clients = list(self.clients.values())
        for client in clients:
            client.connection.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await asyncio.gather(*(client.connection.wait_closed() for client in clients))
        for client in list(self.clients.values()):
            client.connection.abort()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _sweep(self) -> None:
        try:
            if self.config.drafts.max_age is not None:
                await self.hub.repairs.trash_old_drafts(self.config.drafts.max_age)
        except StorageFailed as error:
            log.warning("old drafts could not be put into the trash: %s", error)
        given_back = before = 0
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.hub.upkeep.sweep()
            self.send_buffers.sweep()
            count = self.memory_budget.large_answers
            if given_back < count == before and not self.memory_budget.answers.taken:
                await asyncio.to_thread(freed_memory.give_back)  # no answer needs it any more
                given_back = count
            before = count

    async def _scrub(self) -> None:
        """Read blobs and compressed logs, a little at a time, to notice when they change on the disk."""
        await asyncio.sleep(SCRUB_START_SECONDS)
        from sessiond.hub.verification.scrubbing import Scrub  # many daemons end before

        await Scrub(self.locations.data, self.locations.scrub, self._has_other_work).run()

    def _has_other_work(self) -> bool:
        return bool(self._writes) or self.hub.exchange.is_importing

    async def _keep(self) -> None:
        """Apply the retention policy of `[keep]` regularly. By default there is none.

        The first run is delayed, so that clients have reopened their sessions after a restart of the daemon.
        """
        retention = self.config.keep
        general = Policy(retention.max_age, retention.max_sessions or None, frozenset(retention.tags))
        policies = [
            ("", general),
            *((f"rule {number}", _policy(rule)) for number, rule in enumerate(retention.rules, 1)),
        ]
        policies = [(name, policy) for name, policy in policies if not policy.is_unlimited]
        if not policies and retention.trash_max_age is None:
            return
        await asyncio.sleep(KEEP_START_SECONDS)
        with contextlib.suppress(Draining):
            while True:
                try:
                    for name, policy in policies:
                        await self._clean_up(policy, name)
                    if retention.trash_max_age is not None:
                        await self.hub.trash_requests.purge_old(retention.trash_max_age)
                except StorageFailed as error:
                    log.warning("Cannot apply the retention policy: %s", error)
                await asyncio.sleep(KEEP_SECONDS)

    async def _pack(self) -> None:
        """Pack the sessions that nobody has used for `[keep] pack_after`, regularly."""
        pack_after = self.config.keep.pack_after
        if pack_after is None:
            return
        await asyncio.sleep(PACK_START_SECONDS)
        with contextlib.suppress(Draining):
            while True:
                try:
                    await self.hub.packing.pack_unused(pack_after, in_background=True)
                except StorageFailed as error:
                    log.warning("Cannot pack unused sessions: %s", error)
                await asyncio.sleep(KEEP_SECONDS)

    async def _clean_up(self, policy: Policy, rule: str) -> None:
        def on_deleted(gone: t.DeleteResult, note: str) -> None:
            log.info("session %s went to the trash: %s", gone.session_id, note)
            self.notify_deleted_soon(gone, note, t.Origin(kind="daemon"))

        await self.hub.cleanup.run(policy, dry_run=False, by="daemon", on_deleted=on_deleted, rule=rule)


def _policy(rule: RetentionRule) -> Policy:
    """Return the policy of a rule of the configuration."""
    return Policy(
        rule.max_age, rule.max_sessions or None, frozenset(rule.tags), frozenset(rule.agents),
        PathPatterns(rule.projects), rule.max_size, rule.max_total,
    )  # fmt: skip


def _end_in(seconds: float, note: str | None) -> t.DrainingNote:
    return t.DrainingNote(deadline_at=clock.iso(time.time_ns() + round(seconds * 1e9)), note=note)


_bridge_import = threading.Lock()


def _import_bridge() -> Callable[[Client], Bridge]:
    with (
        _bridge_import
    ):  # several editors may connect together, and load_types() changes attrs while it imports
        from sessiond.server.lsp.compact_types import load_types

        load_types()  # before any other module imports the types
        from sessiond.server.lsp.bridge import LspBridge

        return LspBridge
