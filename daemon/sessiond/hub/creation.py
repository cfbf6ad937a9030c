"""Idempotent creation of sessions: create, fork, and continue when it creates one.

The id of a new session is derived from the command id, and the header of the session records the command. A repeated
request opens the session that the first request created.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from sessiond.hub.discovery.resume import Continued, ResumeService
from sessiond.hub.errors import CommandReused, Damaged, ForeignDialect, SessionNotFound, SessionTrashed
from sessiond.hub.idempotency.commands import Commands, Intent
from sessiond.hub.new_sessions import ForkedSession, NewSessions, new_session_id
from sessiond.hub.session.blob_resolution import missing_of
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.registry import OpenSessions
from sessiond.protocol import methods as m, types as t
from sessiond.session.tree import command_ids
from sessiond.session.tree.command_ids import CommandRecord
from sessiond.store.errors import LogExists

if TYPE_CHECKING:
    from sessiond.hub.idempotency.journal import Entry


class CreateAnswer(t.Wire, frozen=True):
    """The journal's record of a created session."""

    session_id: str
    duplicate: bool = False


class ResumeAnswer(t.Wire, frozen=True):
    """The journal's record of a session that `session/continue` chose."""

    session_id: str
    reason: str
    message: str
    created: bool
    former_folders: list[t.FormerFolder]
    duplicate: bool = False


class IdempotentCreation:
    """Creates sessions, at most one for each command."""

    def __init__(
        self, opened: OpenSessions, new: NewSessions, known: Commands, resume_service: ResumeService
    ) -> None:
        self._open = opened
        self._new = new
        self._commands = known
        self._resume_service = resume_service
        known.settle_with(m.CREATE, self._settle)
        known.settle_with(m.FORK, self._settle)
        known.settle_with(m.CONTINUE, self._settle_continue)

    async def create(self, params: t.CreateParams) -> tuple[LiveSession, bool]:
        """Create a session.

        Returns:
            The session, and whether an earlier request with the same command created it.

        Raises:
            LogExists: Another session has the id.
            IncompatibleParams: The params contradict each other.
            CommandReused: The command id belongs to another request.
            SessionTrashed: An earlier request created the session, and the session is in the trash.
        """
        command = self._commands.of(m.CREATE, params)
        return await self._once(
            command, params.id, lambda: self._new.create(params, command), durable=not params.ephemeral
        )

    async def fork(
        self, params: t.ForkParams, find: Callable[[], Awaitable[LiveSession]]
    ) -> tuple[ForkedSession, bool]:
        """Create a session from a path of the session that `find` returns. Raises as `create`.

        Returns:
            The session, and whether an earlier request with the same command created it.
        """
        command = self._commands.of(m.FORK, params)
        missing: list[str] | None = None

        async def make() -> LiveSession:
            nonlocal missing
            live, missing = await self._new.fork(await find(), params, command)()
            return live

        live, is_repeated = await self._once(command, None, make)
        return ForkedSession(live, await missing_of(live) if missing is None else missing), is_repeated

    async def resume(self, params: t.ContinueParams, terminal: t.Terminal | None) -> Continued:
        """Return the session that continue-recent chooses. A repeated command returns its first choice."""
        command = self._commands.of(m.CONTINUE, params) if params.create else None
        continued: Continued | None = None

        async def run() -> ResumeAnswer:
            nonlocal continued
            try:
                continued = await self._resume_service.resume(params, terminal, command)
            except LogExists:
                continued = Continued(await self._own(command, new_session_id(command)), **_CREATED)
            return ResumeAnswer(
                session_id=continued.live.session_id,
                reason=continued.reason,
                message=continued.message,
                created=continued.created,
                former_folders=continued.former_folders,
            )

        async def intent() -> Intent:
            return {"sessionId": new_session_id(command)}

        chosen = await self._commands.once(command, ResumeAnswer, run, intent)
        if continued is not None:
            return continued
        live = await self._again(chosen.session_id)
        return Continued(
            live,
            chosen.reason,
            chosen.message,
            created=chosen.created,
            former_folders=chosen.former_folders,
            duplicate=chosen.duplicate,
        )

    async def _once(
        self, command: CommandRecord | None, wanted: str | None, make: Callable[[], Awaitable[LiveSession]], *,
        durable: bool = True,
    ) -> tuple[LiveSession, bool]:  # fmt: skip
        live: LiveSession | None = None
        session_id = wanted or ("" if command is None else new_session_id(command))

        async def run() -> CreateAnswer:
            nonlocal live
            try:
                live = await make()
            except LogExists:
                if command is None:
                    raise
                live = await self._own(command, session_id)
                return CreateAnswer(session_id=live.session_id, duplicate=True)
            return CreateAnswer(session_id=live.session_id)

        async def intent() -> Intent:
            return {"sessionId": session_id}

        made = await self._commands.once(command, CreateAnswer, run, intent, durable=durable)
        return live or await self._again(made.session_id), made.duplicate

    async def _own(self, command: CommandRecord | None, session_id: str) -> LiveSession:
        """Return the session that a command created although the journal has no record of it.

        Raises:
            LogExists: The session was not created by this command.
            CommandReused: The header records the command with other params.
        """
        live = await self._open.session(session_id)
        mark = None if live.tree.header is None else live.tree.header.sessiond_command
        if command is None or live.session_id != session_id or mark is None or mark.id != command.id:
            raise LogExists(session_id)
        if mark.digest != command.digest:
            raise CommandReused(command.id, mark.method)
        return live

    async def _again(self, session_id: str) -> LiveSession:
        live = await self._open.session(session_id)
        if live.session_id != session_id:
            raise SessionNotFound(session_id)  # the id is only a prefix of another session's id
        return live

    async def _settle(self, entry: "Entry") -> CreateAnswer | None:
        session_id = str(entry.intent.get("sessionId"))
        try:
            live = await self._again(session_id)
        except SessionTrashed:
            is_ours = session_id == command_ids.session_id_of(entry.id)
            return CreateAnswer(session_id=session_id) if is_ours else None
        except (SessionNotFound, Damaged, ForeignDialect, LogExists):
            return None
        mark = None if live.tree.header is None else live.tree.header.sessiond_command
        return CreateAnswer(session_id=session_id) if mark is not None and mark.id == entry.id else None

    async def _settle_continue(self, entry: "Entry") -> ResumeAnswer | None:
        made = await self._settle(entry)
        if made is None:
            return None
        return ResumeAnswer(session_id=made.session_id, **_CREATED, former_folders=[])


_CREATED: Final[Any] = {
    "reason": "created", "message": "No unattached session. Created a new draft.", "created": True
}  # fmt: skip
