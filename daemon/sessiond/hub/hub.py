"""The hub: composes the parts that find, create, list, maintain and close the sessions of this process."""

import contextlib
from collections.abc import Awaitable, Callable, Sequence

from sessiond.config import Config
from sessiond.hub import session_info
from sessiond.hub.creation import ForkedSession, IdempotentCreation
from sessiond.hub.discovery.resume import ResumeService
from sessiond.hub.discovery.terminals import Terminals
from sessiond.hub.disk_space import DiskSpaceMonitor
from sessiond.hub.errors import Draining, SessionTrashed
from sessiond.hub.execution.progress import ReportPercentage
from sessiond.hub.following.service import AgentFollowing
from sessiond.hub.idempotency.commands import Commands
from sessiond.hub.index.index import Index
from sessiond.hub.moves import SessionMoves
from sessiond.hub.native.service import NativeSessions
from sessiond.hub.new_sessions import NewSessions
from sessiond.hub.prompt_history.history import PromptHistory
from sessiond.hub.recall.recall import Recall
from sessiond.hub.redaction.text_redaction import TextRedaction
from sessiond.hub.repairs import LogRepairs
from sessiond.hub.retention.blob_collection import collect
from sessiond.hub.retention.cleanup import Cleanup
from sessiond.hub.retention.deletion import CLOSED_UNANSWERED, Deletion
from sessiond.hub.retention.lineage import Lineage
from sessiond.hub.retention.trash_requests import TrashRequests
from sessiond.hub.retention.trash_results import deleted
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.log_reader import LogReader, ReadableSession
from sessiond.hub.session.observers import GrowthObservers, ListObserver, SessionObserver
from sessiond.hub.session.registry import Load, OpenSessions
from sessiond.hub.summaries.automatic import AutoCompaction
from sessiond.hub.summaries.branching import Branches
from sessiond.hub.summaries.compacting import Compactions
from sessiond.hub.summaries.jobs import Jobs
from sessiond.hub.summaries.requesting import Summarizers
from sessiond.hub.sync.service import Synchronization
from sessiond.hub.transfer.exchange import Exchange
from sessiond.hub.trash import Trash
from sessiond.hub.upkeep import Upkeep
from sessiond.hub.usage.service import UsageReports
from sessiond.paths import Locations
from sessiond.protocol import methods as m, types as t
from sessiond.session.tree.command_ids import CommandRecord
from sessiond.store.base import Store
from sessiond.store.blobs import PutBlob
from sessiond.store.errors import LogReplaced, StorageFailed


class Hub:
    """All sessions of the daemon.

    Args:
        files: The store of sessions on disk.
        memory: The store of ephemeral sessions.
        config: The configuration; None means the defaults.
        index_path: The file of the index; None means a temporary file.
        history_path: The file of the prompt history; None means a temporary file.
        secret_rules_folder: The cache folder for the compiled rules that find secrets in exports; None disables the
            cache.
        commands_path: The file of the command journal; None means a temporary file.
        imports_path: The file of the records of imports; None means a temporary file.
        sync_path: The file of the records of syncs; None means a temporary file.
    """

    def __init__(
        self,
        files: Store,
        memory: Store,
        config: Config | None = None,
        *,
        index_path: str | None = None,
        history_path: str | None = None,
        secret_rules_folder: str | None = None,
        commands_path: str | None = None,
        imports_path: str | None = None,
        sync_path: str | None = None,
    ) -> None:
        config = config or Config()
        self.draining = False
        self.terminals = Terminals(files)
        self.lineage = Lineage(self._all_sessions)
        self._files = files
        self._memory = memory
        self.history = PromptHistory(history_path, enabled=config.history.enabled)
        self.commands = Commands(commands_path)
        self.commands.settle_with(m.HISTORY_ADD, self.history.settle_add)
        self.commands.settle_with(m.HISTORY_DELETE, self.history.settle_delete)
        self.index = Index(
            files, index_path, lambda: self._open.diverged(), self.info, lambda: self.exchange.is_importing,
            lambda until: self.following.unread(until),
        )  # fmt: skip
        trash = Trash(files, memory)
        self._open = OpenSessions(files, memory, self.index, trash)
        self.disk_space = DiskSpaceMonitor(files)
        self.deletion = Deletion(self, self._open, trash, files, memory, self.commands)
        self.sync = Synchronization(
            self, files, trash, open_sessions=self.open_sessions, ref_of=self._open.ref_of,
            open_for_reading=self._open.open_for_reading, records_path=sync_path,
        )  # fmt: skip
        self.trash_requests = TrashRequests(
            self, self._open, trash, self.index, memory, self.commands, self.sync.purging, self.sync.restored
        )
        self.moves = SessionMoves(self, self._open, files, self.commands)
        self.resume_service = ResumeService(self, files, self.index, self.terminals)
        self.creation = IdempotentCreation(self, self.commands, self.resume_service)
        self.cleanup = Cleanup(files, self.index, self._open, self.deletion, self.terminals)
        self.blobs = SessionBlobs(None, stores=(files.blobs, memory.blobs))
        self.summarizers = Summarizers(config.summarizer)
        self.exchange = Exchange(self, files, secret_rules_folder, imports_path)
        self.recall = Recall(self.index, self.exchange.provider_keys)
        self.redaction = TextRedaction(self.exchange.provider_keys)
        self.usage = UsageReports(self.index)
        self.following = AgentFollowing(self, self.exchange)
        self.following.configure(config.agents)
        self.native_sessions = NativeSessions(imports_path, self.exchange)
        self._jobs = Jobs()
        self.compactions = Compactions(files, config.compaction, self.summarizers, self._jobs)
        self.branches = Branches(config.compaction, self.summarizers, self._jobs)
        self._auto = AutoCompaction(config.compaction, self.compactions, self.summarizers)
        self._open.growth_observer = self._observers = GrowthObservers(self._auto)
        self._new = NewSessions(files, memory, self._open, self.lineage, self.refuse_when_draining)
        self.add_list_observer(self.index.updater)
        self.upkeep = Upkeep(files, self._open, self._observers, self.disk_space, self.terminals)
        self.repairs = LogRepairs(files, self._open)

    def observe_with(self, observer: SessionObserver[LiveSession]) -> None:
        """Set the observer that is called when sessions are created or changed."""
        self._open.observer = observer

    def add_list_observer(self, list_observer: ListObserver[LiveSession]) -> Callable[[], None]:
        """Add an observer that is called when sessions grow or their files are written.

        Returns:
            A function that removes the observer.
        """
        self._observers.list_observers.append(list_observer)
        return lambda: self._observers.list_observers.remove(list_observer)

    def configure(self, config: Config) -> None:
        """Apply another configuration to the parts that can change while sessions are open."""
        self.history.enabled = config.history.enabled
        self.summarizers.configure(config.summarizer)
        self.following.configure(config.agents)
        for part in (self.compactions, self.branches, self._auto):
            part.configured = config.compaction

    def refuse_when_draining(self) -> None:
        """Raise `Draining` if the daemon is stopping."""
        if self.draining:
            raise Draining

    def log_moved(self, ref: str) -> None:
        """Update the index and the lineage: a log was added or removed at `ref`."""
        self.index.updater.written({ref})
        self.lineage.forget()

    # --- finding ---------------------------------------------------------------------------------------

    def open_sessions(self) -> list[LiveSession]:
        """Return all open sessions."""
        return self._open.all()

    def cached(self, session_id: str) -> LiveSession | None:
        """Return the session if it is open under exactly this id."""
        return self._open.cached(session_id)

    async def session(self, session_id: str) -> LiveSession:
        """Open and return the session with this id. Raises `SessionNotFound`, `SessionTrashed`."""
        return await self._open.session(session_id)

    async def ref_of(self, session_id: str) -> str:
        """Return the ref of the session with this id. Raises `SessionNotFound`, `SessionTrashed`."""
        return await self._open.ref_of(session_id)

    def blobs_of(self, session: ReadableSession) -> SessionBlobs:
        """Return the blobs of a session on disk, open or not."""
        return session.blobs if isinstance(session, LiveSession) else self._open.blobs_of(session.log)

    async def at_path(self, path: str) -> LiveSession:
        """Open and return the session in a file. Raises `SessionNotFound`, `Damaged`; `LogExists` for a used id."""
        return await self._open.at_path(path)

    def open_for_reading(
        self, path: str, load: Load = LogReader.load
    ) -> contextlib.AbstractAsyncContextManager[ReadableSession]:
        """Load the session in a file for reading only; see `OpenSessions.open_for_reading`."""
        return self._open.open_for_reading(path, load)

    async def session_id_at(self, path: str) -> str | None:
        """Return the id of the session in a file, open or not; None if there is none."""
        return await self._open.session_id_at(path)

    # --- creating --------------------------------------------------------------------------------------

    async def create(self, params: t.CreateParams, command: CommandRecord | None = None) -> LiveSession:
        """Create a session without entries; see `NewSessions.create`."""
        return await self._new.create(params, command)

    def fork(
        self, source: LiveSession, params: t.ForkParams, command: CommandRecord | None = None
    ) -> Callable[[], Awaitable[ForkedSession]]:
        """Prepare a fork of another session; see `NewSessions.fork`."""
        return self._new.fork(source, params, command)

    # --- listing ---------------------------------------------------------------------------------------

    async def _all_sessions(self) -> list[t.SessionSummary]:
        """Return the sessions on disk and in memory."""
        in_memory = [self.info(live) for live in self.open_sessions() if live.ephemeral]
        return [*await self.index.all_sessions(), *in_memory]

    async def resolve(self, params: t.ResolveParams) -> t.ResolveResult:
        """Return the sessions whose id is `params.query` or begins with it."""
        return await self._open.resolve(params, self.list_row)

    def list_row(self, live: LiveSession) -> t.ListedSession:
        """Return the list row of an open session."""
        return session_info.list_row(self.info(live), live.tree, live.read_rows)

    async def search(self, params: t.SearchParams) -> t.SearchResult:
        """Search all sessions on disk, or one of them.

        Raises `SessionNotFound`, `SessionTrashed`, `IncompatibleParams`, `CursorExpired`, `StorageFailed`.
        """
        ref = None if params.session_id is None else await self._open.ref_of(params.session_id)
        return await self.index.search(params, ref, await self.redaction.cleaner() if params.redact else str)

    def info(self, live: LiveSession) -> t.SessionInfo:
        """Return the `SessionInfo` of an open session.

        If the file cannot be read any more, the result has only the facts in the tree.
        """
        key = live.facts_key()
        if live.cached_info is None or live.cached_info[0] != key:
            try:
                live.cached_info = key, self._info(live, live.read_rows)
            except (StorageFailed, LogReplaced):
                # Not cached, because the failure may be temporary.
                return self._info(live, lambda rows: [b"{}"] * len(rows))
        return live.cached_info[1]

    def _info(self, live: LiveSession, read: Callable[[Sequence[int]], list[bytes]]) -> t.SessionInfo:
        return session_info.session_info(
            live.tree, read, session_id=live.session_id, path=live.log.path,
            draft=live.is_draft, size=live.tree.end,
            ephemeral=live.ephemeral, read_only=live.read_only is not None, write_block=live.write_block,
            stale=live.log.stale, log_id=live.log.log_id,
        )  # fmt: skip

    # --- blobs -----------------------------------------------------------------------------------------

    async def put_blob(self, data: bytes) -> PutBlob:
        """Store bytes as a blob. The blob is durable when this returns."""
        return await self._files.blobs.put(data)

    async def collect_blobs(
        self, *, grace: float | None, dry_run: bool, report: ReportPercentage
    ) -> t.BlobCollectResult:
        """Move unreferenced blobs on disk to the trash; see `retention.blob_collection`."""
        return await collect(
            self._files, self.open_sessions, grace=grace, dry_run=dry_run,
            report=report, refuse_when_closing=self.refuse_when_draining,
        )  # fmt: skip

    # --- closing ---------------------------------------------------------------------------------------

    async def hold(self, live: LiveSession, client_id: str) -> None:
        """Record that a client holds a session. Other daemons on the same store learn that this daemon does."""
        live.holders.add(client_id)
        if not live.ephemeral:
            await self._files.hold(live.log.ref)

    async def release(self, live: LiveSession, client_id: str) -> t.DeleteResult | None:
        """Record that a client closed a session. If it was the last client of a draft session, trash the draft.

        The clients of all daemons on the same store count.

        Returns:
            The trashed draft, or None if the session was not trashed.
        """
        was_holder = client_id in live.holders
        live.holders.discard(client_id)
        live.subscribers.remove(client_id)
        if not was_holder or live.ephemeral:
            return None
        await live.flush()  # earlier appends count: an assistant message promotes a draft session
        if live.holders or live.awaits_holder or not self._open.has(live):
            return None
        if await self._files.release(live.log.ref):
            return None
        if live.holders or not live.is_draft or not self._open.has(live):
            return None
        live.closing_error = SessionTrashed(live.session_id)
        path = live.log.ref
        async with self._open.leaving(path):
            try:
                about = self.deletion.about(live, client_id)
                place = await self._files.trash(live.log, CLOSED_UNANSWERED, about)
            finally:
                await live.close()
        return deleted(live.session_id, path, place)

    async def close_unless_in_use(self, live: LiveSession) -> None:
        """Close a session unless it is in use: see `LiveSession.is_in_use`."""
        await self.upkeep.close_unless_in_use(live)

    @property
    def stores(self) -> tuple[Store, Store]:
        """The stores of all sessions: that of the configuration, and the one of ephemeral sessions."""
        return self._files, self._memory

    async def run_doctor(
        self, locations: Locations, config: Config, params: t.DoctorParams, report: ReportPercentage
    ) -> t.DoctorResult:
        """Diagnose everything in these folders, and repair it if the request has `fix`; see `hub.doctor`."""
        from sessiond.hub.doctor.fixing import examine_and_fix  # rarely used: imported late for a fast start

        return await examine_and_fix(self, locations, config, params, report)

    async def store_durability(self) -> str:
        """Return where sessions are stored and what an acknowledged append survives, or why that is unknown."""
        try:
            return await self._files.durability()
        except StorageFailed as error:
            return str(error)

    async def flush(self) -> int:
        """Wait until every open session is synced. Returns the number of sessions that had something to sync."""
        return sum([await live.flush() for live in self.open_sessions()])

    async def cancel_jobs(self) -> None:
        """Stop accepting writes, finish the summaries that are being stored, and cancel those that are awaited."""
        self.draining = True
        await self._auto.close()
        await self._jobs.close()

    async def close(self) -> None:
        """Finish all work and close all sessions. Raises the first `StorageFailed` after everything is closed."""
        await self.cancel_jobs()
        self._open.close()
        await self.index.close()
        await self.history.close()
        await self.commands.close()
        await self.exchange.close()
        await self.sync.close()
        refusals: list[StorageFailed] = []
        for live in self.open_sessions():
            try:
                await self.upkeep.close_session(live)
            except StorageFailed as refusal:
                refusals.append(refusal)
        await self._files.close()
        await self._memory.close()
        if refusals:
            raise refusals[0]
