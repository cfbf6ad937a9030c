"""The open sessions of this process: finds, makes, opens, lets go; one `LiveSession` a log, whoever asks."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec import UNSET

from sessiond import config
from sessiond.hub import clock, session_info
from sessiond.hub.creation import Making, new_session_id
from sessiond.hub.discovery.resume import Continuing
from sessiond.hub.discovery.terminals import Terminals
from sessiond.hub.disk_space import Room
from sessiond.hub.errors import Draining, ForeignDialect, InvalidRequest, SessionTrashed
from sessiond.hub.idempotency.commands import Commands
from sessiond.hub.index.index import START_SECONDS, Index
from sessiond.hub.prompt_history.history import History
from sessiond.hub.retention.blob_collection import Tell, collect
from sessiond.hub.retention.cleanup import Cleaning
from sessiond.hub.retention.deletion import Keeping
from sessiond.hub.retention.lineage import Lineage
from sessiond.hub.session import entry_placement
from sessiond.hub.session.blob_resolution import with_images
from sessiond.hub.session.blobs import SessionBlobs
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.observers import Followers, Listener, Onlooker
from sessiond.hub.session.readable import LoadedSession
from sessiond.hub.session.registry import Load, OpenSessions
from sessiond.hub.summaries.automatic import AutoCompaction
from sessiond.hub.summaries.branching import Branches
from sessiond.hub.summaries.compacting import Compactions
from sessiond.hub.summaries.jobs import Jobs
from sessiond.hub.summaries.requesting import Summarizers
from sessiond.hub.transfer.exchange import Exchange
from sessiond.hub.trash import Trash
from sessiond.paths import Places
from sessiond.protocol import methods as m, types as t
from sessiond.session.state import updates
from sessiond.session.tree import entries, fork, steps
from sessiond.session.tree.command_ids import Command
from sessiond.session.tree.header_title import with_room
from sessiond.session.tree.tree import ASSISTANT, NONE
from sessiond.store.base import Store
from sessiond.store.blobs import PutBlob
from sessiond.store.errors import LogNotFound, LogReplaced, StorageFailed

log = logging.getLogger(__name__)

IDLE_SECONDS: Final = 15 * 60
"""A session nobody holds is let go of after this long."""
MAX_IDLE_SESSIONS: Final = 64
"""How many sessions that no client has open stay open, so that they are at hand when one asks again."""
LEAST_IDLE_SECONDS: Final = 2.0
"""A session is kept open at least as long after a request for it."""
SWEPT_TOGETHER: Final = 50
"""Sessions whose files are looked at in one turn of the loop."""


class Hub:
    """All sessions: `files` keeps those on disk, `memory` the ephemeral ones.

    `index_path`, `history_path` and `commands_path` are where the index, the history of prompts and the journal of
    commands lie; None: in temporary files.
    `secret_rules_folder` keeps the compiled rules that find secrets in exports; None: nothing keeps them.
    """

    def __init__(
        self,
        files: Store,
        memory: Store,
        chosen: config.Config | None = None,
        *,
        index_path: str | None = None,
        history_path: str | None = None,
        secret_rules_folder: str | None = None,
        commands_path: str | None = None,
    ) -> None:
        chosen = chosen or config.Config()
        self.draining = False
        self.terminals = Terminals(files)
        self.lineage = Lineage(self._all_sessions)
        self._files = files
        self._memory = memory
        self.history = History(history_path, enabled=chosen.history.enabled)
        self.commands = Commands(commands_path)
        self.commands.settle_with(m.HISTORY_ADD, self.history.settle)
        self.index = Index(files, index_path, lambda: self._open.diverged(), self.info)
        trash = Trash(files, memory)
        self._open = OpenSessions(files, memory, self.index, trash)
        self._open.takes_images = chosen.blobs.images
        self.room = Room(files)
        self.keeping = Keeping(self, self._open, trash, files, memory, self.commands)
        self.continuing = Continuing(self, files, self.index, self.terminals)
        self.making = Making(self, self.commands, self.continuing)
        self.cleaning = Cleaning(files, self.index, self._open, self.keeping, self.terminals)
        self.blobs = SessionBlobs(None, kept=(files.blobs, memory.blobs))
        self.summarizers = Summarizers(chosen.summarizer)
        self.exchange = Exchange(self, files, secret_rules_folder)
        self._jobs = Jobs()
        self.compactions = Compactions(chosen.compaction, self.summarizers, self._jobs)
        self.branches = Branches(chosen.compaction, self.summarizers, self._jobs)
        self._auto = AutoCompaction(chosen.compaction, self.compactions, self.summarizers)
        self._open.follower = self._followers = Followers(self._auto)

    def tell(self, listener: Listener[LiveSession]) -> None:
        """Let this listener hear of sessions that come and change."""
        self._open.listener = listener

    def look_on(self, onlooker: Onlooker[LiveSession]) -> Callable[[], None]:
        """Let somebody know when sessions grow or their files are written; the answer ends that."""
        self._followers.onlookers.append(onlooker)
        return lambda: self._followers.onlookers.remove(onlooker)

    def configure(self, chosen: config.Config) -> None:
        """Follow another configuration, as far as that is possible while sessions are open."""
        self.history.enabled = chosen.history.enabled
        self.summarizers.configure(chosen.summarizer)
        self._open.store_images_as_blobs(chosen.blobs.images)
        for part in (self.compactions, self.branches, self._auto):
            part.configured = chosen.compaction

    @property
    def takes_images(self) -> bool:
        """Whether images are stored as blobs in sessions that pi may read, too."""
        return self._open.takes_images

    def refuse_when_draining(self) -> None:
        """Raise `Draining` when no more writes are taken."""
        if self.draining:
            raise Draining

    # --- finding ---------------------------------------------------------------------------------------

    def open_sessions(self) -> list[LiveSession]:
        return self._open.all()

    def cached(self, session_id: str) -> LiveSession | None:
        """The session if it is open under exactly this id."""
        return self._open.cached(session_id)

    async def session(self, session_id: str) -> LiveSession:
        """The session with this id, loaded. Raises `SessionNotFound`."""
        return await self._open.session(session_id)

    async def ref_of(self, session_id: str) -> str:
        """Where the session lies that has this id. Raises `SessionNotFound`, `SessionTrashed`."""
        return await self._open.ref_of(session_id)

    def blobs_of(self, session: LoadedSession) -> SessionBlobs:
        """Where the blobs lie that a session on disk names, open or not."""
        return session.blobs if isinstance(session, LiveSession) else self._open.blobs_of(session.log)

    async def at_path(self, path: str) -> LiveSession:
        """The session in a file. Raises `SessionNotFound`, `Damaged`; `LogExists`: another has its id."""
        return await self._open.at_path(path)

    def glance(
        self, path: str, load: Load = LoadedSession.load
    ) -> contextlib.AbstractAsyncContextManager[LoadedSession]:
        """The session in a file, only to be read now; see `OpenSessions.glance`."""
        return self._open.glance(path, load)

    async def session_id_at(self, path: str) -> str | None:
        """The id of the session in a file, open or not; None where there is none."""
        return await self._open.session_id_at(path)

    # --- making ----------------------------------------------------------------------------------------

    async def create(self, params: t.CreateParams, command: Command | None = None) -> LiveSession:
        """A new session, durable when this returns. Raises `LogExists`, `InvalidRequest`."""
        self.refuse_when_draining()
        session_id = params.id or new_session_id(command)
        if not entries.valid_session_id(session_id):
            raise InvalidRequest(
                "a session's id has 8 to 128 characters of A-Z a-z 0-9 _ -, the first a letter or digit"
            )
        refuse_unless_absolute(params.cwd, "cwd is not an absolute path")
        now = clock.timestamp()
        header = entries.Header(
            version=entries.CURRENT_VERSION, id=session_id, timestamp=now, cwd=params.cwd,
            title=params.title or None, parent_session=params.parent_session, tags=params.tags or None,
            sessiond_command=None if command is None else command.of_header(),
        )  # fmt: skip
        lines = with_room(msgspec.json.encode(header)) + b"\n"
        if params.title:  # pi reads the title from an entry only
            lines += fork.title_line(fork.Title(params.title, now), clock.entry_id(), None)
        store = self._memory if params.ephemeral else self._files
        make = partial(store.create, session_id, cwd=params.cwd, timestamp=now, lines=lines, draft=True)
        live = await self._open.create(session_id, make, ephemeral=params.ephemeral)
        self.lineage.forget()
        return live

    def fork(
        self, source: LiveSession, params: t.ForkParams, command: Command | None = None
    ) -> Callable[[], Awaitable[LiveSession]]:
        """Return what makes a new session from `source` as it is now. Raises `EntryNotFound`, `InvalidRequest`."""
        self.refuse_when_draining()
        if params.whole and (params.leaf_id is not UNSET or params.position != "at"):
            raise InvalidRequest("whole copies all branches, so it goes with neither leafId nor position")
        tree = source.tree
        row = source.row_at(params.leaf_id)
        if params.position == "before" and row != NONE:
            row = tree.parent(row)
        now, session_id = clock.timestamp(), new_session_id(command)
        header = entries.Header(
            version=entries.CURRENT_VERSION, id=session_id, timestamp=now,
            cwd=params.cwd or (tree.header.cwd if tree.header is not None else ""),
            title=params.title or tree.title, parent_session=source.log.path or source.session_id,
            tags=tree.header.tags if tree.header is not None else None,
            sessiond_command=None if command is None else command.of_header(),
        )  # fmt: skip
        refuse_unless_absolute(header.cwd, "cwd is not an absolute path; say where the fork belongs")
        first = with_room(msgspec.json.encode(header))

        def new_id() -> str:
            return entry_placement.free_id(tree)

        if params.whole:
            title = fork.Title(params.title, now) if params.title else None
            cut = fork.copied_lines(tree, source.read_rows, header=first, new_id=new_id, title=title)
            return partial(self._forked, source, None, header, cut)
        cut = fork.fork_lines(
            tree, row, source.read_rows, header=first, new_id=new_id,
            title=fork.Title(header.title, now) if header.title else None,
            is_new_title=bool(params.title),
        )  # fmt: skip
        return partial(self._forked, source, row, header, cut)

    async def _forked(
        self, source: LiveSession, row: int | None, header: entries.Header, cut: steps.Steps[list[bytes]]
    ) -> LiveSession:
        """Store the lines that were taken from `source`: of the path to a row, or of all of it."""
        tree, session_id = source.tree, header.id
        forked = await source.drive(cut)
        if not (self.takes_images or source.ephemeral):
            forked = await with_images(forked, source.blobs)
        lines = await asyncio.to_thread(lambda: b"".join(entry_placement.ended(forked)))
        store = self._memory if source.ephemeral else self._files
        await source.blobs.carry(forked, store.blobs)
        await source.drive(steps.let_go(forked))
        if row is None:
            has_assistant, state_rows = tree.has_assistant(), sorted(tree.state_rows)
        else:
            path = await source.drive(steps.path(tree, row))
            has_assistant = any(tree.role(step) == ASSISTANT for step in path)
            state_rows = sorted(tree.state_rows.intersection(path))
        has_state = any(map(updates.sets_state, source.read_rows(state_rows)))
        make = partial(
            store.create, session_id, cwd=header.cwd, timestamp=header.timestamp, lines=lines,
            draft=not (has_assistant or has_state),
        )  # fmt: skip
        live = await self._open.create(session_id, make, ephemeral=source.ephemeral)
        self.lineage.forget()
        return live

    # --- listing ---------------------------------------------------------------------------------------

    async def _all_sessions(self) -> list[t.SessionInfo]:
        """Those on disk, and those in memory."""
        in_memory = [self.info(live) for live in self.open_sessions() if live.ephemeral]
        return [*await self.index.everything(), *in_memory]

    async def resolve(self, params: t.ResolveParams) -> t.ResolveResult:
        """The sessions whose id is `params.query` or begins so."""
        return await self._open.resolve(params, self.standing)

    def standing(self, live: LiveSession) -> t.ListedSession:
        """What lists say of an open session."""
        return session_info.standing_of(self.info(live), live.tree, live.read_rows)

    async def search(self, params: t.SearchParams) -> t.SearchResult:
        """Hits in all sessions on disk, or in one. Raises `SessionNotFound`, `InvalidRequest`, `CursorExpired`."""
        ref = None if params.session_id is None else await self._open.ref_of(params.session_id)
        return await self.index.search(params, ref)

    def info(self, live: LiveSession) -> t.SessionInfo:
        """What the wire says of an open session; what was known of it when its file cannot be read any more."""
        key = live.facts_key()
        if live.known_info is None or live.known_info[0] != key:
            try:
                live.known_info = key, self._info(live, live.read_rows)
            except (StorageFailed, LogReplaced):
                # Not kept: the failure may pass.
                return self._info(live, lambda rows: [b"{}"] * len(rows))
        return live.known_info[1]

    def _info(self, live: LiveSession, read: Callable[[Sequence[int]], list[bytes]]) -> t.SessionInfo:
        return session_info.session_info(
            live.tree, read, session_id=live.session_id, path=live.log.path,
            draft=live.is_draft, size=live.tree.end,
            ephemeral=live.ephemeral, read_only=live.read_only is not None, refuses=live.refuses,
            log_id=live.log.log_id,
        )  # fmt: skip

    # --- blobs -----------------------------------------------------------------------------------------

    async def put_blob(self, data: bytes) -> PutBlob:
        """Keep bytes, durable when this returns."""
        return await self._files.blobs.put(data)

    async def collect_blobs(self, *, grace: float | None, dry_run: bool, tell: Tell) -> t.BlobCollectResult:
        """Put blobs on disk into the trash that no session names; see `collecting`."""
        return await collect(
            self._files, self.open_sessions, grace=grace, dry_run=dry_run,
            tell=tell, goes_on=self.refuse_when_draining,
        )  # fmt: skip

    # --- letting go ------------------------------------------------------------------------------------

    async def release(self, live: LiveSession, client_id: str) -> str | None:
        """A client closed a session. A draft whose last client this was goes to the trash.

        Answers where it is there.
        """
        was_holder = client_id in live.holders
        live.holders.discard(client_id)
        live.watchers.remove(client_id)
        if not was_holder or live.ephemeral:
            return None
        await live.flush()  # what came before the close counts: an answer makes a session of a draft
        if live.holders or live.awaits_holder or not live.is_draft or not self._open.has(live):
            return None
        live.ended = SessionTrashed(live.session_id, None)
        async with self._open.leaving(live.log.ref):
            try:
                about = self.keeping.about(live, client_id)
                return await self._files.trash(live.log, "closed before the first answer", about)
            finally:
                await live.close()

    async def let_go_unless_wanted(self, live: LiveSession) -> None:
        """Close a session that nobody has open, watches or waits for."""
        if not live.wanted and self._open.has(live):
            await self._let_go(live)

    async def sweep(self) -> None:
        """Take in what other programs wrote to open sessions, and let go of sessions that nobody uses."""
        await self.room.look()
        await self.terminals.sweep()
        for number, live in enumerate(self.open_sessions(), 1):
            if number % SWEPT_TOGETHER == 0:
                await asyncio.sleep(0)
            if live.refuses is not None or live.log.trouble is not None:
                await live.retry()
            if self._open.has(live) and await self._take_in(live):
                live.drop_unused()
                if time.monotonic() - live.used_at > IDLE_SECONDS and not live.wanted:
                    await self._let_go(live)
        await self._close_least_recently_used()

    async def _close_least_recently_used(self) -> None:
        """Close sessions that no client has open, beyond `MAX_IDLE_SESSIONS`, the least recently used first.

        Each of them holds its tree in memory.
        """
        latest = time.monotonic() - LEAST_IDLE_SECONDS
        idle = sorted((it for it in self.open_sessions() if not it.wanted), key=lambda it: it.used_at)
        for live in idle[: max(0, len(idle) - MAX_IDLE_SESSIONS)]:
            if live.used_at > latest:
                return
            await self.let_go_unless_wanted(live)

    async def follow_files(self) -> None:
        """Take in what other programs write as soon as it is told, for ever; what is not told is swept."""
        await asyncio.sleep(START_SECONDS)
        loop, told = asyncio.get_running_loop(), asyncio.Queue[set[str]]()

        def tell(refs: set[str]) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended a moment before the watch
                loop.call_soon_threadsafe(told.put_nowait, refs)

        watch = self._files.watch(tell)
        try:
            while True:
                refs = await told.get()
                for live in self.open_sessions():
                    if live.log.ref in refs:
                        refs.discard(live.log.ref)
                        await self._take_in(live)
                if refs:
                    self.index.changed(refs)
                    self._followers.written(refs)
        finally:
            watch.close()

    async def _take_in(self, live: LiveSession) -> bool:
        """Take in what other programs wrote to an open session; False when it can no longer be looked after."""
        try:
            if live.log.foreign_bytes():
                await live.ingest()
        except LogReplaced:
            if not live.holders and not live.pending:
                await self._let_go(live)
            return False
        except StorageFailed as error:
            log.warning("session %s cannot be looked after: %s", live.session_id, error)
            return False
        return True

    async def reopen_replaced(self, live: LiveSession) -> LiveSession:
        """A client opens a session: if its file was cut short or replaced, it is read anew.

        Whoever watched what was there is told to subscribe again.
        """
        try:
            live.log.foreign_bytes()
        except LogReplaced:
            await self._let_go(live)
            return await self.at_path(live.log.ref)
        return live

    async def trash_old_drafts(self, max_age: float) -> int:
        """Put drafts that nobody answered within `max_age` seconds into the trash; how many."""
        oldest = time.time_ns() - int(max_age * 1e9)
        old = [it.ref for it in await self._files.list() if it.draft and it.modified_ns < oldest]
        return sum([await self.trash_draft(ref) is not None for ref in old])

    async def trash_draft(self, ref: str) -> str | None:
        """Put a draft that nobody answered into the trash, unless it is open; where it is there."""
        # One with an answer is another program's, or it would not lie there.
        return await self._trash_if(ref, lambda draft: not draft.tree.has_assistant(), "never answered")

    async def trash_empty(self, ref: str) -> str | None:
        """Put a log of no entry and no header into the trash, unless something is in it by now; where it is there."""
        return await self._trash_if(ref, lambda found: found.tree.is_blank, "nothing was in it")

    async def mend_tail(self, ref: str) -> str | None:
        """Put the torn end of a log aside, whether it is open or not; where it lies now, None when there is none."""
        live = self._open.at(ref)
        if live is not None:
            return await live.mend_tail()
        if not self._open.may_leave(ref):
            return None
        async with self._open.leaving(ref):
            # Not among the open ones: it may be the copy of a session that is.
            live = LiveSession(await self._files.open_ref(ref), ephemeral=False)
            try:
                await live.load()
                return await live.mend_tail()
            finally:
                await live.close()

    async def _trash_if(self, ref: str, may_go: Callable[[LoadedSession], bool], reason: str) -> str | None:
        if self._open.at(ref) is not None or not self._open.may_leave(ref):
            return None
        async with self._open.leaving(ref):
            try:
                found = LoadedSession(await self._files.open_ref(ref))
            except LogNotFound:
                return None
            try:
                await found.load()
                return await self._files.trash(found.log, reason) if may_go(found) else None
            except ForeignDialect:
                return None
            finally:
                await found.log.close()

    async def look_through(
        self, places: Places, chosen: config.Config, params: t.DoctorParams, tell: Tell
    ) -> t.DoctorResult:
        """Look through all that lies in these folders, and mend it if that is asked for; see `hub.doctor`."""
        from sessiond.hub.doctor.mending import look_through  # seldom wanted

        return await look_through(self, places, chosen, params, tell)

    async def flush(self) -> int:
        """Wait until every open session is synced; how many had something to sync."""
        return sum([await live.flush() for live in self.open_sessions()])

    async def give_up_jobs(self) -> None:
        """Begin nothing new, finish the summaries that are being written down, and give up those that are awaited."""
        self.draining = True
        await self._auto.close()
        await self._jobs.close()

    async def close(self) -> None:
        """Finish everything, let go of all sessions. Raises the first `StorageFailed`, after all are done."""
        await self.give_up_jobs()
        self._open.close()
        await self.index.close()
        await self.history.close()
        await self.commands.close()
        refusals: list[StorageFailed] = []
        for live in self.open_sessions():
            try:
                await self._let_go(live)
            except StorageFailed as refusal:
                refusals.append(refusal)
        await self._files.close()
        await self._memory.close()
        if refusals:
            raise refusals[0]

    async def _let_go(self, live: LiveSession) -> None:
        if not self._open.may_leave(live.log.ref):
            return
        live.watchers.cut_off()
        async with self._open.leaving(live.log.ref):
            await live.close()


def refuse_unless_absolute(path: str, reason: str) -> None:
    """Raise `InvalidRequest` with this reason unless a path that a client names is absolute, and can be one."""
    if not path.startswith("/") or "\0" in path:
        raise InvalidRequest(reason)
