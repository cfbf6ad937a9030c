"""Selects the session that `session/continue` returns, and records it for the terminal.

`resume_rules` has the rules.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from sessiond.hub.discovery import renamed_folders, resume_rules
from sessiond.hub.discovery.terminals import Terminals
from sessiond.hub.errors import Damaged, ForeignDialect, NothingToContinue, SessionNotFound, SessionTrashed
from sessiond.hub.index.index import Index
from sessiond.hub.new_sessions import NewSessions
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.registry import OpenSessions
from sessiond.protocol import types as t
from sessiond.session.tree.command_ids import CommandRecord
from sessiond.store.base import Store
from sessiond.store.errors import LogExists, StorageFailed
from sessiond.store.records import Breadcrumb

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Continued:
    """The selected session, and why it was selected.

    Attributes:
        live: The session.
        reason: The rule that selected it.
        message: The reason as a sentence.
        created: Whether it is new.
        former_folders: Folders that may be a former name of its folder, if the folder has no sessions.
        duplicate: Whether the request repeats an earlier command.
        is_held_by_another: Whether another terminal holds the session.
    """

    live: LiveSession
    reason: str
    message: str
    created: bool
    former_folders: list[t.FormerFolder] = field(default_factory=list)
    duplicate: bool = False
    is_held_by_another: bool = False


class ResumeService:
    """Selects the session that each terminal continues."""

    def __init__(
        self, opened: OpenSessions, new: NewSessions, files: Store, index: Index, terminals: Terminals
    ) -> None:
        self._open = opened
        self._new = new
        self._files = files
        self._index = index
        self._terminals = terminals
        self._without_terminal = asyncio.Lock()

    async def resume(
        self, params: t.ContinueParams, terminal: t.Terminal | None, command: CommandRecord | None = None
    ) -> Continued:
        """Select the session to continue in a folder, or create one; see `resume_rules`.

        If the request binds the session to a terminal, the terminal holds the session at once, so that no other
        terminal gets it. `remember` writes the hold and the breadcrumb.

        Args:
            params: The request.
            terminal: The terminal of the client, if it has one.
            command: The command of the request, if it has a `commandId`.

        Raises:
            NothingToContinue: There is no session, and the request does not allow to create one.
        """
        if terminal is not None:
            return await self._resume(params, terminal, command)
        # Concurrent requests without a terminal all get the one session that the first of them creates.
        async with self._without_terminal:
            return await self._resume(params, None, command)

    async def _resume(
        self, params: t.ContinueParams, terminal: t.Terminal | None, command: CommandRecord | None
    ) -> Continued:
        crumbs = [] if terminal is None else await self._files.read_breadcrumbs(terminal.id)
        here = next((crumb for crumb in crumbs if crumb.cwd == params.cwd), None)
        if here is not None and (live := await self._follow(here)) is not None:
            return Continued(live, "breadcrumb", "Last session used in this terminal.", created=False)
        gone = "" if here is None else " The last session of this terminal does not exist anymore."
        sessions = await self._sessions_of(params)
        moved = await self._moved_here(crumbs, sessions)
        if moved is not None:
            return moved
        process = None if terminal is None else await self._terminals.process_of(terminal)
        await self._terminals.refresh()
        held = self._terminals.held_by_others(None if terminal is None else terminal.id)
        chosen = resume_rules.choose(
            sessions, params.cwd, held, allow_held=not params.create, allow_empty=terminal is None
        )
        if chosen is not None:
            session, reason = chosen
            is_held = session.session_id in held
            if terminal is not None and params.binds and not is_held:  # before another request can select it
                self._terminals.take(terminal, process, params.cwd, session.session_id)
            live = await self._open.session(session.session_id)
            return Continued(live, "recent", reason + gone, created=False, is_held_by_another=is_held)
        if not params.create:
            raise NothingToContinue(params.cwd)
        live = await self._new.create(t.CreateParams(cwd=params.cwd), command)
        if terminal is not None and params.binds:
            self._terminals.take(terminal, process, params.cwd, live.session_id)
        message = f"No unattached session in {params.cwd}. Created a new draft.{gone}"
        former = [] if sessions else await self._former_folders(params.cwd, crumbs[0] if crumbs else None)
        return Continued(live, "created", message, created=True, former_folders=former)

    async def _sessions_of(self, params: t.ContinueParams) -> list[t.ListedSession]:
        """Return the sessions of the folder, and those of its project if the request is for the project."""
        sessions = await self._index.all_sessions(cwd=params.cwd)
        if not params.project:
            return sessions
        known = {session.session_id for session in sessions}
        others = await self._index.all_sessions(project=params.cwd)
        return [*sessions, *(session for session in others if session.session_id not in known)]

    async def _moved_here(
        self, crumbs: Sequence[Breadcrumb], sessions: Sequence[t.ListedSession]
    ) -> Continued | None:
        """Return the session that this terminal used in a folder that no longer exists, if it was moved here."""
        for crumb in crumbs:
            if resume_rules.follows(crumb.cwd, crumb.session_id, sessions):
                live = await self._follow(crumb)
                if live is not None:
                    message = f"Last session used in this terminal. It was moved here from {crumb.cwd}."
                    return Continued(live, "breadcrumb", message, created=False)
        return None

    async def _former_folders(self, cwd: str, crumb: Breadcrumb | None) -> list[t.FormerFolder]:
        """Return possible former names of a folder without sessions; see `renamed_folders`."""
        sessions = await self._index.all_sessions()
        ours = [
            session
            for session in sessions
            if session.message_count and self._files.keeps(session.path or session.session_id)
        ]
        remembered = None if crumb is None else crumb.cwd
        return await asyncio.to_thread(renamed_folders.former_folders, ours, cwd, remembered)

    async def _follow(self, crumb: Breadcrumb) -> LiveSession | None:
        for find, ref in ((self._open.session, crumb.session_id), (self._open.at_path, crumb.ref)):
            if ref is not None:
                try:
                    return await find(ref)
                except (SessionNotFound, SessionTrashed, Damaged, ForeignDialect, LogExists):
                    continue
        return None

    async def remember(self, terminal: t.Terminal, cwd: str, live: LiveSession) -> None:
        """Bind a session to a terminal in a folder: write a hold and a breadcrumb. Ephemeral sessions are not bound.

        If the disk refuses a write, a warning is logged, and this daemon keeps the hold in memory.
        """
        if live.ephemeral:
            return
        process = await self._terminals.process_of(terminal)
        await self._terminals.refresh()
        self._terminals.take(terminal, process, cwd, live.session_id)
        await self._terminals.store(terminal.id)
        try:
            await self._files.write_breadcrumb(terminal.id, Breadcrumb(cwd, live.log.ref, live.session_id))
        except StorageFailed as error:
            log.warning("Cannot write the breadcrumb of a terminal: %s", error)
