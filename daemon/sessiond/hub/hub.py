"""The hub: composes the parts that find, create, list, maintain and close the sessions of this process."""

import asyncio
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from sessiond.config import Config
from sessiond.hub.creation import IdempotentCreation
from sessiond.hub.discovery.resume import ResumeService
from sessiond.hub.discovery.terminals import Terminals
from sessiond.hub.disk_space import DiskSpaceMonitor
from sessiond.hub.errors import SessionTrashed
from sessiond.hub.execution.progress import ReportPercentage
from sessiond.hub.following.service import AgentFollowing
from sessiond.hub.idempotency.commands import Commands
from sessiond.hub.index.index import Index
from sessiond.hub.lineage import Lineage
from sessiond.hub.moves import SessionMoves
from sessiond.hub.native.service import NativeSessions
from sessiond.hub.new_sessions import NewSessions
from sessiond.hub.packing import Packing
from sessiond.hub.prompt_history.history import PromptHistory
from sessiond.hub.redaction.text_redaction import TextRedaction
from sessiond.hub.repairs import LogRepairs
from sessiond.hub.retention.blob_collection import collect
from sessiond.hub.retention.cleanup import Cleanup
from sessiond.hub.retention.deletion import CLOSED_UNANSWERED, Deletion
from sessiond.hub.retention.forgotten import ForgottenSessions
from sessiond.hub.retention.trash_requests import TrashRequests
from sessiond.hub.retention.trash_results import deleted
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.description import info_of
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.observers import GrowthObservers, ListObserver, SessionObserver
from sessiond.hub.session.registry import OpenSessions
from sessiond.hub.summaries.automatic import AutoCompaction
from sessiond.hub.summaries.branching import Branches
from sessiond.hub.summaries.compacting import Compactions
from sessiond.hub.summaries.jobs import Jobs
from sessiond.hub.summaries.requesting import Summarizers
from sessiond.hub.sync.service import Synchronization
from sessiond.hub.transfer.exchange import Exchange
from sessiond.hub.trash import Trash
from sessiond.hub.upkeep import Upkeep
from sessiond.paths import Locations
from sessiond.protocol import types as t
from sessiond.store.base import Store
from sessiond.store.blobs import PutBlob
from sessiond.store.errors import StorageFailed

if TYPE_CHECKING:
    from sessiond.hub.recall.recall import Recall
    from sessiond.hub.reclaim.service import Reclaim
    from sessiond.hub.storage.service import StorageReports
    from sessiond.hub.usage.service import UsageReports
    from sessiond.hub.verification.service import SourceVerification


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
        forgotten_path: The file of the forgotten sessions; None means a temporary file.
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
        forgotten_path: str | None = None,
    ) -> None:
        config = config or Config()
        self.terminals = Terminals(files)
        self.lineage = Lineage(self._all_sessions)
        self._files = files
        self._memory = memory
        self.commands = Commands(commands_path)
        self.history = PromptHistory(history_path, self.commands, enabled=config.history.enabled)
        self.index = Index(
            files, index_path, lambda: self.sessions.diverged(), info_of, lambda: self.exchange.is_importing,
            lambda until: self.following.unread(until),
        )  # fmt: skip
        trash = Trash(files, memory)
        self.sessions = OpenSessions(files, memory, self.index, trash)
        self.sessions.log_moved = self._log_moved
        self.disk_space = DiskSpaceMonitor(files)
        self.forgotten = ForgottenSessions(forgotten_path)
        self.deletion = Deletion(
            self.sessions, trash, files, memory, self.commands, self.forgotten, self.index
        )
        self.sync = Synchronization(files, trash, self.sessions, sync_path, self.forgotten)
        self.trash_requests = TrashRequests(
            self.sessions, trash, self.index, memory, self.commands, self.sync.purging, self.sync.restored,
            self.forgotten,
        )  # fmt: skip
        self.moves = SessionMoves(self.sessions, files, self.commands)
        self.new_sessions = NewSessions(files, memory, self.sessions, self.lineage)
        self.resume_service = ResumeService(
            self.sessions, self.new_sessions, files, self.index, self.terminals
        )
        self.creation = IdempotentCreation(
            self.sessions, self.new_sessions, self.commands, self.resume_service
        )
        self.cleanup = Cleanup(files, self.index, self.sessions, self.deletion, self.terminals, self.commands)
        self.blobs = SessionBlobs(None, stores=(files.blobs, memory.blobs))
        self.summarizers = Summarizers(config.summarizer)
        self.exchange = Exchange(self.sessions, files, secret_rules_folder, imports_path, self.forgotten)
        self.redaction = TextRedaction(self.exchange.provider_keys)
        self.following = AgentFollowing(self.sessions, self.exchange)
        self.following.configure(config.agents)
        self.native_sessions = NativeSessions(imports_path, self.exchange)
        self._jobs = Jobs()
        self.compactions = Compactions(files, config.compaction, self.summarizers, self._jobs)
        self.branches = Branches(config.compaction, self.summarizers, self._jobs)
        self._auto = AutoCompaction(config.compaction, self.compactions, self.summarizers)
        self.sessions.growth_observer = self._observers = GrowthObservers(self._auto)
        self.add_list_observer(self.index.updater)
        self.upkeep = Upkeep(files, self.sessions, self._observers, self.disk_space, self.terminals)
        self.repairs = LogRepairs(files, self.sessions)
        self.packing = Packing(files, self.sessions, lambda: self.exchange.is_importing)

    # --- parts that most daemons do not need, created at their first use ----------------------------------

    @cached_property
    def recall(self) -> "Recall":
        """The service of `session/recall`."""
        from sessiond.hub.recall.recall import Recall

        return Recall(self.index, self.exchange.provider_keys)

    @cached_property
    def usage(self) -> "UsageReports":
        """The service of `usage/report`."""
        from sessiond.hub.usage.service import UsageReports

        return UsageReports(self.index)

    @cached_property
    def storage(self) -> "StorageReports":
        """The service of `storage/report` and `storage/agents`."""
        from sessiond.hub.storage.service import StorageReports

        return StorageReports(self.index, self._files, self.following)

    @cached_property
    def verification(self) -> "SourceVerification":
        """The service of `agent/verify`."""
        from sessiond.hub.verification.service import SourceVerification

        return SourceVerification(
            self.following, self._files, lambda name: self.forgotten.is_forgotten([name])
        )

    @cached_property
    def reclaim(self) -> "Reclaim":
        """The service of `storage/reclaim` and `storage/giveBack`."""
        from sessiond.hub.reclaim.service import Reclaim

        return Reclaim(self.verification, self.following, self._files)

    def observe_with(self, observer: SessionObserver[LiveSession]) -> None:
        """Set the observer that is called when sessions are created or changed."""
        self.sessions.observer = observer

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

    def _log_moved(self, ref: str) -> None:
        self.index.updater.written({ref})
        self.lineage.forget()

    # --- listing ---------------------------------------------------------------------------------------

    async def _all_sessions(self) -> list[t.SessionSummary]:
        """Return the sessions on disk and in memory."""
        in_memory = [info_of(live) for live in self.sessions.all() if live.ephemeral]
        return [*await self.index.all_sessions(), *in_memory]

    async def search(self, params: t.SearchParams) -> t.SearchResult:
        """Search all sessions on disk, or one of them.

        Raises `SessionNotFound`, `SessionTrashed`, `IncompatibleParams`, `CursorExpired`, `StorageFailed`.
        """
        ref = None if params.session_id is None else await self.sessions.ref_of(params.session_id)
        return await self.index.search(params, ref, await self.redaction.cleaner() if params.redact else str)

    # --- blobs -----------------------------------------------------------------------------------------

    async def put_blob(self, data: bytes) -> PutBlob:
        """Store bytes as a blob. The blob is durable when this returns."""
        return await self._files.blobs.put(data)

    async def collect_blobs(
        self, *, grace: float | None, dry_run: bool, report: ReportPercentage
    ) -> t.BlobCollectResult:
        """Move unreferenced blobs on disk to the trash; see `retention.blob_collection`."""
        return await collect(
            self._files, self.sessions.all, grace=grace, dry_run=dry_run,
            report=report, refuse_when_closing=self.sessions.refuse_when_draining,
        )  # fmt: skip

    # --- closing ---------------------------------------------------------------------------------------

    async def hold(self, live: LiveSession, client_id: str) -> None:
        """Record that a client holds a session. Other daemons on the same store are informed of it."""
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
        if live.holders or live.awaits_holder or not self.sessions.has(live):
            return None
        if await self._files.release(live.log.ref):
            return None
        if live.holders or not live.is_draft or not self.sessions.has(live):
            return None
        live.closing_error = SessionTrashed(live.session_id)
        path = live.log.ref
        async with self.sessions.leaving(path):
            try:
                about = self.deletion.about(live, client_id)
                place = await self._files.trash(live.log, CLOSED_UNANSWERED, about)
                live.tree_watches.lapse_all("deleted")
            finally:
                await live.close()
        return deleted(live.session_id, path, place)

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
        return sum([await live.flush() for live in self.sessions.all()])

    async def cancel_jobs(self) -> None:
        """Stop accepting writes, finish the summaries that are being stored, and cancel those that are awaited."""
        self.sessions.draining = True
        await self._auto.close()
        await self._jobs.close()

    async def close(self) -> None:
        """Finish all work and close all sessions. Raises the first `StorageFailed` after everything is closed."""
        await self.cancel_jobs()
        self.sessions.close()
        await self.index.close()
        await self.history.close()
        await self.commands.close()
        await self.exchange.close()
        await self.sync.close()
        await asyncio.to_thread(self.forgotten.close)
        refusals: list[StorageFailed] = []
        for live in self.sessions.all():
            try:
                await self.sessions.close_session(live)
            except StorageFailed as refusal:
                refusals.append(refusal)
        await self._files.close()
        await self._memory.close()
        if refusals:
            raise refusals[0]
