"""The open sessions of this process: finds, makes, opens, lets go. One `LiveSession` per log, whoever asks."""

import asyncio
import contextlib
import difflib
import hashlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import msgspec

from sessiond.hub import catalogue, clock, drafts, recent
from sessiond.hub.errors import Damaged, Draining, InvalidRequest, SessionNotFound
from sessiond.hub.live import LiveSession
from sessiond.protocol import types as t
from sessiond.session import entries, fork
from sessiond.session.tree import ASSISTANT, NONE
from sessiond.store.base import Breadcrumb, Log, LogExists, LogNotFound, LogReplaced, Store

IDLE_SECONDS: Final = 15 * 60
"""A session nobody holds is let go of after this long."""


@dataclass(frozen=True, slots=True)
class Continued:
    """What continue-recent chose."""

    live: LiveSession
    because: t.Because
    created: bool


class Hub:
    """All sessions: `files` keeps those on disk, `memory` the ephemeral ones."""

    def __init__(self, files: Store, memory: Store) -> None:
        self.draining = False
        self.terminals = recent.Terminals()
        self._files = files
        self._memory = memory
        self._catalogue = catalogue.Catalogue(files)
        self._by_id: dict[str, LiveSession] = {}
        self._opening = asyncio.Lock()

    # --- finding ---------------------------------------------------------------------------------------

    def open_sessions(self) -> list[LiveSession]:
        return list(self._by_id.values())

    def cached(self, session_id: str) -> LiveSession | None:
        """The session if it is open under exactly this id."""
        live = self._by_id.get(session_id)
        if live is not None:
            live.used_at = time.monotonic()
        return live

    async def session(self, session_id: str) -> LiveSession:
        """The session with this id or unique prefix, loaded. Raises `SessionNotFound`."""
        live = self.cached(session_id)
        if live is not None:
            return live
        async with self._opening:
            live = self.cached(session_id)
            if live is not None:
                return live
            try:
                log = await self._files.open(session_id)
            except (LogNotFound, ValueError):
                return await self._by_prefix(session_id)
            return await self._adopt(log, ephemeral=False)

    async def _by_prefix(self, prefix: str) -> LiveSession:
        stored = await self._files.list()
        refs = {log.session_id: log.ref for log in stored} | {
            name: live.log.ref for name, live in self._by_id.items()
        }
        near = sorted(name for name in refs if name.startswith(prefix)) if len(prefix) >= 4 else []
        if len(near) == 1:
            live = self._at(refs[near[0]])
            return live or await self._adopt(await self._files.open_ref(refs[near[0]]), ephemeral=False)
        raise SessionNotFound(
            prefix, did_you_mean=near[:5] or difflib.get_close_matches(prefix, refs, 3, 0.7)
        )

    async def at_path(self, path: str) -> LiveSession:
        """The session in a file. Raises `SessionNotFound`, `Damaged`, `LogExists` when its id is open elsewhere."""
        async with self._opening:
            try:
                log = await self._files.open_ref(path)
            except LogNotFound:
                raise SessionNotFound(path) from None
            return await self._adopt(log, ephemeral=False)

    async def _adopt(self, log: Log, *, ephemeral: bool) -> LiveSession:
        known = self._at(log.ref)
        if known is not None:
            await log.close()
            return known
        live = LiveSession(log, ephemeral=ephemeral)
        try:
            await live.load()
            if live.tree.damaged:
                if not live.tree.count_entries():
                    raise Damaged(log.path or log.session_id, live.tree.problems[0])
                live.name(_damaged_id(log))
            if live.session_id in self._by_id:
                raise LogExists(live.session_id)
        except BaseException:
            await log.close()
            raise
        self._by_id[live.session_id] = live
        return live

    @contextlib.asynccontextmanager
    async def glance(self, path: str) -> AsyncIterator[LiveSession]:
        """The session in a file, only to be read now: a copy of a session that is open elsewhere will do, too."""
        log = await self._files.open_ref(path)
        known = self._at(log.ref)
        live = known or LiveSession(log, ephemeral=False)
        try:
            if known is None:
                await live.load()
            yield live
        finally:
            await log.close()

    # --- making ----------------------------------------------------------------------------------------

    async def create(self, params: t.CreateParams) -> LiveSession:
        """A new session, durable when this returns. Raises `LogExists`, `InvalidRequest`."""
        if self.draining:
            raise Draining
        session_id = params.id or clock.session_id()
        if not entries.valid_session_id(session_id):
            raise InvalidRequest("a session's id has 8 to 128 characters of A-Z a-z 0-9 _ -")
        if not params.cwd.startswith("/") or "\0" in params.cwd:
            raise InvalidRequest("cwd is not an absolute path")
        now = clock.timestamp()
        header = entries.Header(
            version=entries.CURRENT_VERSION, id=session_id, timestamp=now, cwd=params.cwd,
            title=params.title or None, parent_session=params.parent_session, tags=params.tags or None,
        )  # fmt: skip
        lines = msgspec.json.encode(header) + b"\n"
        async with self._opening:
            if session_id in self._by_id:
                raise LogExists(session_id)
            store = self._memory if params.ephemeral else self._files
            log = await store.create(session_id, cwd=params.cwd, timestamp=now, lines=lines, draft=True)
            return await self._adopt(log, ephemeral=params.ephemeral)

    async def fork(self, source: LiveSession, params: t.ForkParams) -> LiveSession:
        """A new session from a path of `source`. Raises `EntryNotFound`."""
        if self.draining:
            raise Draining
        tree = source.tree
        row = tree.leaf if params.leaf_id is None else source.row(params.leaf_id)
        if params.position == "before" and row != NONE:
            row = tree.parent(row)
        now, session_id = clock.timestamp(), clock.session_id()
        header = entries.Header(
            version=entries.CURRENT_VERSION, id=session_id, timestamp=now,
            cwd=params.cwd or (tree.header.cwd if tree.header is not None else ""),
            title=params.title or tree.title, parent_session=source.log.path or source.session_id,
        )  # fmt: skip
        if not header.cwd.startswith("/") or "\0" in header.cwd:
            raise InvalidRequest("cwd is not an absolute path; say where the fork belongs")
        forked = await source.drive(
            fork.fork_lines(
                tree, row, source.read_rows, header=msgspec.json.encode(header),
                new_id=lambda: drafts.free_id(tree),
            )
        )  # fmt: skip
        lines = b"".join(forked)
        store = self._memory if source.ephemeral else self._files
        has_assistant = any(tree.role(step) == ASSISTANT for step in (tree.path(row) if row != NONE else ()))
        async with self._opening:
            log = await store.create(
                session_id, cwd=header.cwd, timestamp=now, lines=lines, draft=not has_assistant
            )
            return await self._adopt(log, ephemeral=source.ephemeral)

    async def go_on(self, params: t.ContinueParams, terminal: t.Terminal | None) -> Continued:
        """Continue-recent: see `recent`. Raises `SessionNotFound` when there is none and none may be made."""
        gone = ""
        crumb = None if terminal is None else await self._files.read_breadcrumb(terminal.id)
        if crumb is not None and crumb.cwd == params.cwd:
            live = await self._follow(crumb)
            if live is not None:
                return Continued(
                    live, t.Because(rule="breadcrumb", message="This terminal had it last."), created=False
                )
            gone = " The session that this terminal had last is gone."
        held = self.terminals.held_by_others(terminal)
        chosen = recent.choose(await self.sessions(), params.cwd, held, even_if_held=not params.create)
        if chosen is not None:
            session, why = chosen
            live = await self.session(session.session_id)
            return Continued(live, t.Because(rule="recent", message=why + gone), created=False)
        if not params.create:
            raise SessionNotFound(params.cwd)
        live = await self.create(t.CreateParams(cwd=params.cwd))
        reason = f"There is no session of {params.cwd} that is free.{gone}"
        return Continued(live, t.Because(rule="created", message=reason), created=True)

    async def _follow(self, crumb: Breadcrumb) -> LiveSession | None:
        for find, ref in ((self.session, crumb.session_id), (self.at_path, crumb.ref)):
            if ref is not None:
                try:
                    return await find(ref)
                except (SessionNotFound, Damaged, LogExists):
                    continue
        return None

    async def remember(self, terminal: t.Terminal, cwd: str, live: LiveSession) -> None:
        """Leave a breadcrumb: this terminal now has this session."""
        if live.ephemeral:
            return
        self.terminals.hold(terminal, live.session_id)
        await self._files.write_breadcrumb(terminal.id, Breadcrumb(cwd, live.log.ref, live.session_id))

    # --- listing ---------------------------------------------------------------------------------------

    async def sessions(self) -> list[t.SessionInfo]:
        """Every session on disk, drafts included."""
        return await self._catalogue.all(
            lambda: {live.log.ref: self.info(live) for live in self.open_sessions()}
        )

    def info(self, live: LiveSession) -> t.SessionInfo:
        """What the wire says of an open session."""
        tree = live.tree
        key = (id(tree), tree.committed, tree.leaf, tree.end, live.log.draft)
        if live.known_info is None or live.known_info[0] != key:
            live.known_info = key, self._info(live)
        return live.known_info[1]

    def _info(self, live: LiveSession) -> t.SessionInfo:
        return catalogue.session_info(
            live.tree, live.read_rows, session_id=live.session_id, path=live.log.path,
            draft=live.log.draft and not live.tree.has_assistant(), size=live.tree.end,
            ephemeral=live.ephemeral, read_only=live.read_only is not None,
        )  # fmt: skip

    # --- letting go ------------------------------------------------------------------------------------

    async def release(self, live: LiveSession, client_id: str) -> str | None:
        """A client closed a session. A draft whose last client this was goes to the trash; answers where it is."""
        live.holders.discard(client_id)
        live.watchers.remove(client_id)
        if live.holders or not live.log.draft or live.ephemeral:
            return None
        self._forget(live)
        await live.flush()
        return await self._files.trash(live.log, "closed before the first answer")

    async def sweep(self) -> None:
        """Take in what other programs wrote to open sessions, and let go of sessions that nobody uses."""
        for live in self.open_sessions():
            try:
                if live.log.foreign_bytes():
                    await live.ingest()
            except LogReplaced:
                if not live.holders:
                    await self._let_go(live)
                continue
            unused = time.monotonic() - live.used_at > IDLE_SECONDS
            if (
                unused
                and not live.holders
                and not len(live.watchers)
                and not live.pending
                and not live.ephemeral
            ):
                await self._let_go(live)

    async def reopen_replaced(self, live: LiveSession) -> LiveSession:
        """A client opens a session whose file was cut short or replaced: read it anew. Others keep what they hold."""
        try:
            live.log.foreign_bytes()
        except LogReplaced:
            path = live.log.path
            await self._let_go(live)
            return await self.at_path(path or live.log.ref)
        return live

    async def trash_old_drafts(self, max_age: float) -> int:
        """Put drafts that nobody promoted within `max_age` seconds into the trash; how many."""
        oldest = time.time_ns() - int(max_age * 1e9)
        count = 0
        for stored in await self._files.list():
            if stored.draft and stored.modified_ns < oldest and self._at(stored.ref) is None:
                log = await self._files.open_ref(stored.ref)
                await self._files.trash(log, "never answered")
                count += 1
        return count

    async def flush(self) -> int:
        """Wait until every open session is synced; how many had something to sync."""
        return sum([await live.flush() for live in self.open_sessions()])

    async def close(self) -> None:
        """Finish everything and let go of all sessions."""
        self.draining = True
        for live in self.open_sessions():
            await self._let_go(live)
        await self._files.close()
        await self._memory.close()

    async def _let_go(self, live: LiveSession) -> None:
        self._forget(live)
        await live.close()

    def _forget(self, live: LiveSession) -> None:
        self._by_id.pop(live.session_id, None)

    def _at(self, ref: str) -> LiveSession | None:
        """The open session at a place. A log's place changes when its draft is promoted, so it is not a key."""
        return next((live for live in self._by_id.values() if live.log.ref == ref), None)


def _damaged_id(log: Log) -> str:
    """An id for a file whose header has none: the same for every reader of the same place."""
    return "damaged-" + hashlib.sha256(log.ref.encode()).hexdigest()[:12]
