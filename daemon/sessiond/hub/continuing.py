"""Continue-recent at work: what a terminal goes on with, and what it is remembered by. The rules: see `recent`."""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Protocol

from sessiond.hub import recent, renamed
from sessiond.hub.errors import Damaged, ForeignDialect, NothingToContinue, SessionNotFound, SessionTrashed
from sessiond.hub.index.index import Index
from sessiond.hub.live import LiveSession
from sessiond.protocol import types as t
from sessiond.session.commands import Command
from sessiond.store.base import Breadcrumb, LogExists, StorageFailed, Store

log = logging.getLogger(__name__)


class Sessions(Protocol):
    """What continuing needs of the hub."""

    async def session(self, session_id: str) -> LiveSession:
        """The session with this id, open."""

    async def at_path(self, path: str) -> LiveSession:
        """The session in a file, open."""

    async def create(self, params: t.CreateParams, command: Command | None = None) -> LiveSession:
        """A new session."""


@dataclass(frozen=True, slots=True)
class Continued:
    """What continue-recent chose."""

    live: LiveSession
    because: t.Because
    created: bool
    former: list[t.FormerFolder] = field(default_factory=list)
    duplicate: bool = False


class Continuing:
    """Which session each terminal goes on with."""

    def __init__(self, sessions: Sessions, files: Store, index: Index, terminals: recent.Terminals) -> None:
        self._sessions = sessions
        self._files = files
        self._index = index
        self._terminals = terminals

    async def go_on(
        self, params: t.ContinueParams, terminal: t.Terminal | None, command: Command | None = None
    ) -> Continued:
        """Continue-recent: see `recent`. Raises `NothingToContinue` when there is none and none may be made."""
        gone = ""
        crumb = None if terminal is None else await self._files.read_breadcrumb(terminal.id)
        if crumb is not None and crumb.cwd == params.cwd:
            live = await self._follow(crumb)
            if live is not None:
                return Continued(
                    live, t.Because(rule="breadcrumb", message="This terminal had it last."), created=False
                )
            gone = " The session that this terminal had last is gone."
        sessions = await self._index.everything(cwd=params.cwd)
        if crumb is not None and recent.follows(crumb.cwd, crumb.session_id, sessions):
            live = await self._follow(crumb)
            if live is not None:
                message = f"This terminal had it last, in {crumb.cwd}, which is gone; it was moved here."
                return Continued(live, t.Because(rule="breadcrumb", message=message), created=False)
        held = self._terminals.held_by_others(terminal)
        chosen = recent.choose(sessions, params.cwd, held, even_if_held=not params.create)
        if chosen is not None:
            session, why = chosen
            if terminal is not None:  # before anybody else can choose it
                self._terminals.hold(terminal, session.session_id)
            live = await self._sessions.session(session.session_id)
            return Continued(live, t.Because(rule="recent", message=why + gone), created=False)
        if not params.create:
            raise NothingToContinue(params.cwd)
        live = await self._sessions.create(t.CreateParams(cwd=params.cwd), command)
        reason = f"There is no session of {params.cwd} that is free.{gone}"
        former = [] if sessions else await self._former_folders(params.cwd, crumb)
        return Continued(live, t.Because(rule="created", message=reason), created=True, former=former)

    async def _former_folders(self, cwd: str, crumb: Breadcrumb | None) -> list[t.FormerFolder]:
        """What a folder without sessions may have been called; see `renamed`."""
        sessions = await self._index.everything()
        ours = [
            it for it in sessions if it.message_count and it.path is not None and self._files.keeps(it.path)
        ]
        remembered = None if crumb is None else crumb.cwd
        return await asyncio.to_thread(renamed.former_folders, ours, cwd, remembered)

    async def _follow(self, crumb: Breadcrumb) -> LiveSession | None:
        for find, ref in ((self._sessions.session, crumb.session_id), (self._sessions.at_path, crumb.ref)):
            if ref is not None:
                try:
                    return await find(ref)
                except (SessionNotFound, SessionTrashed, Damaged, ForeignDialect, LogExists):
                    continue
        return None

    async def remember(self, terminal: t.Terminal, cwd: str, live: LiveSession) -> None:
        """Leave a breadcrumb: this terminal now has this session.

        Where the disk takes none, the session is open all the same, and this daemon remembers.
        """
        if live.ephemeral:
            return
        self._terminals.hold(terminal, live.session_id)
        try:
            await self._files.write_breadcrumb(terminal.id, Breadcrumb(cwd, live.log.ref, live.session_id))
        except StorageFailed as error:
            log.warning("what a terminal goes on with could not be noted: %s", error)
