"""Changes the working directory of sessions, which moves their files."""

from typing import TYPE_CHECKING, Final

from sessiond.hub.caller import Caller
from sessiond.hub.errors import (
    Damaged,
    ForeignDialect,
    IncompatibleParams,
    SessionNotFound,
    SessionTrashed,
    refuse_unless_absolute,
)
from sessiond.hub.idempotency.commands import Commands, Intent, refuse_reused
from sessiond.hub.session.description import session_result
from sessiond.hub.session.live import LiveSession
from sessiond.hub.session.registry import OpenSessions
from sessiond.protocol import methods as m, types as t
from sessiond.session.tree import lines
from sessiond.store.base import Store
from sessiond.store.errors import LogExists

if TYPE_CHECKING:
    from sessiond.hub.idempotency.journal import Entry

_BY_DAEMON: Final = t.Origin(kind="daemon")


class SessionMoves:
    """Carries out `session/move` in one store."""

    def __init__(self, opened: OpenSessions, files: Store, commands: Commands) -> None:
        self._open = opened
        self._files = files
        self._commands = commands
        commands.settle_with(m.MOVE, self._settle)

    async def move(self, params: t.MoveParams, caller: Caller) -> t.SessionResult:
        """Change the working directory of a session; see `LiveSession.move`.

        Raises:
            SessionNotFound: There is no such session.
            IncompatibleParams: `cwd` is not absolute, or the session is in a folder of another program.
            LogExists: The new folder has a file of this name.
            ReadOnly: The session accepts no writes.
            StorageFailed: The file could not be moved.
            CommandReused: The `commandId` belongs to another request.
        """
        refuse_unless_absolute(params.cwd, "cwd")
        command, origin = self._commands.of(m.MOVE, params), caller.origin(params.command_id)

        async def run() -> t.SessionResult:
            live = await self._open.session(params.session_id)
            refuse_reused(live, command)
            await self._move(live, params.cwd, origin)
            return session_result(live)

        async def intent() -> Intent:
            ref = await self._open.ref_of(params.session_id)
            name = (await self._open.session(params.session_id)).session_id
            return {"sessionId": name, "from": lines.valid_text(ref), "cwd": params.cwd}

        return await self._commands.once(command, t.SessionResult, run, intent)

    async def _move(self, live: LiveSession, cwd: str, origin: t.Origin) -> None:
        self._open.refuse_when_draining()
        was = live.log.ref
        if not live.ephemeral and not self._files.keeps(was):
            raise IncompatibleParams(
                "the session is in a folder of another program, which sessiond does not reorganize; "
                "session/fork with this cwd creates a copy"
            )
        await live.move(cwd, origin)
        self._open.log_moved(was)
        self._open.log_moved(live.log.ref)

    async def _settle(self, entry: "Entry") -> t.SessionResult | None:
        try:
            live = await self._open.session(str(entry.intent.get("sessionId")))
        except (SessionNotFound, SessionTrashed, Damaged, ForeignDialect, LogExists):
            return None
        if lines.valid_text(live.log.ref) == entry.intent.get("from"):
            return None
        if live.tree.header is not None and live.tree.header.cwd != entry.intent.get("cwd"):
            await self._move(
                live, str(entry.intent.get("cwd")), _BY_DAEMON
            )  # the crash occurred between the move of the file and the change of its header
        return session_result(live)
