"""Requests with a `commandId`: what makes two of them the same, and that those which leave no line take effect once.

What writes lines is recorded in them (`placing`). For the rest the journal has the intent before anything is done,
and the answer afterwards. After a crash an intent without an answer is settled before anything else is changed:
whoever registered for its method looks whether it was carried out.
"""

import asyncio
import contextlib
import logging
import os
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import msgspec

from sessiond.hub.errors import CommandReused, IncompatibleParams
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import methods as m, types as t
from sessiond.session.tree import command_ids
from sessiond.session.tree.command_ids import CommandRecord, digest_of
from sessiond.store.errors import StorageFailed

if TYPE_CHECKING:
    from sessiond.hub.idempotency.journal import Entry, Journal

log = logging.getLogger(__name__)
T = TypeVar("T")
R = TypeVar("R", bound=t.Wire)

Intent: TypeAlias = dict[str, Any]
Settle: TypeAlias = "Callable[[Entry], Awaitable[t.Wire | None]]"
"""The answer to a command that was interrupted, if it was carried out; None when it was not."""

_DELIVERY: Final = {"command_id": None, "work_done_token": None}
"""Params that say how a request is sent and answered, not what it does, and what stands for them in a digest."""
_DUPLICATE: Final[dict[str, Any]] = {"duplicate": True}
_MAX_IN_MEMORY: Final = 10_000
"""Answers that are not in the journal."""
_MAX_KNOWN: Final = 30_000
"""More than the journal and the answers in memory together."""


async def no_intent() -> Intent:
    """The intent of a request that shows without further notes whether it was carried out."""
    return {}


class Commands:
    """The commands of this daemon; `path` is where the journal lies, None: in a temporary file."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._thread: ThreadPoolExecutor | None = None
        self._journal: Journal | None = None  # of the thread
        self._known: dict[str, tuple[str, str]] = {}  # id -> method and digest
        self._answers: dict[str, bytes] = {}  # those that are not in the journal
        self._turns: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._settling: asyncio.Task[None] | None = None
        self._settlers: dict[str, Settle] = {}

    def settle_with(self, method: m.Method[Any, Any], settle: Settle) -> None:
        """Let somebody say after a crash whether a command of this method was carried out."""
        self._settlers[method.name] = settle

    def of(
        self, method: m.Method[Any, Any], params: t.Wire, session_id: str | None = None
    ) -> CommandRecord | None:
        """The command that a request is; None when it brought no `commandId`.

        `session_id` is the session whose lines record the command, however the request names it. Raises
        `IncompatibleParams` when the request also brings an id for its entry, which makes it repeatable by itself, and
        `CommandReused` when the journal knows the id from another method.
        """
        command_id = getattr(params, "command_id", None)
        if command_id is None:
            return None
        changes: dict[str, str | None] = {name: it for name, it in _DELIVERY.items() if hasattr(params, name)}
        if session_id is not None:
            if getattr(params, "id", None) is not None:
                raise IncompatibleParams("say either id or commandId: each makes the request repeatable")
            if command_id in self._known:
                raise CommandReused(command_id, self._known[command_id][0])
            changes["session_id"] = session_id
        same: Any = msgspec.structs.replace(params, **changes)
        digest = digest_of(method.name, msgspec.json.encode(same))
        return CommandRecord(id=command_id, method=method.name, digest=digest, session_id=session_id or "")

    async def once(
        self,
        command: CommandRecord | None,
        result: type[R],
        run: Callable[[], Awaitable[R]],
        intent: Callable[[], Awaitable[Intent]] = no_intent,
        *,
        durable: bool = True,
    ) -> R:
        """What `run` answers; for a command that was carried out before, what it was answered, as a duplicate.

        `intent` is noted first, so that a crash in between leaves no doubt. A command whose `run` raises is
        forgotten. With `durable` false it is known as long as this process. Raises `CommandReused`.
        """
        await self.ready()
        if command is None:
            return await run()
        async with self._turn(command.id):
            body = await self._answer(command)
            if body is not None:
                return msgspec.structs.replace(msgspec.json.decode(body, type=result), **_DUPLICATE)
            if durable:
                noted = await intent()
                await self._do(lambda it: it.begin(command, noted, int(time.time())))
            self._note(command)
            try:
                answer = await run()
            except BaseException:
                await self._forget(command.id)
                raise
            await self._keep(command.id, msgspec.json.encode(answer), durable=durable)
            return answer

    async def ready(self) -> None:
        """Settle what a crash has interrupted. A journal that cannot be read is tried again next time."""
        if self._settling is None or (self._settling.done() and self._settling.exception() is not None):
            self._settling = asyncio.get_running_loop().create_task(self._settle_all())
        if not self._settling.done():
            try:
                await asyncio.shield(self._settling)
            except StorageFailed as error:
                log.warning("the journal of commands cannot be read: %s", error)

    async def put_journal_aside(self) -> str:
        """Begin a new journal in place of a damaged one; the path under which that is kept."""
        return await self._do(lambda it: it.put_aside())

    async def close(self) -> None:
        """Let go of the journal."""
        if self._thread is not None:
            if self._journal is not None:
                await self._do(lambda it: it.close())
            await asyncio.to_thread(self._thread.shutdown)
            self._thread = None

    async def _settle_all(self) -> None:
        if self._path is None or not os.path.exists(self._path):  # noqa: PTH110
            return
        for entry in await self._do(lambda it: it.all(int(time.time()))):
            self._known[entry.id] = entry.method, entry.digest
            if entry.answer is None:
                await self._settle(entry)

    async def _settle(self, entry: "Entry") -> None:
        settle = self._settlers.get(entry.method)
        try:
            answer = None if settle is None else await settle(entry)
        except Exception:
            # It must not keep the daemon from serving; the next request with this id is carried out.
            log.exception("it is not known whether a %s was carried out before a crash", entry.method)
            answer = None
        if answer is None:
            await self._forget(entry.id)
        else:
            await self._keep(entry.id, msgspec.json.encode(answer), durable=True)

    async def _answer(self, command: CommandRecord) -> bytes | None:
        """What a command was answered, None when it is new. Raises `CommandReused`."""
        known = self._known.get(command.id)
        if known is None:
            return None
        if known[1] != command.digest:
            raise CommandReused(command.id, known[0])
        if command.id in self._answers:
            return self._answers[command.id]
        entry = await self._do(lambda it: it.get(command.id))
        return None if entry is None else entry.answer

    def _note(self, command: CommandRecord) -> None:
        self._known[command.id] = command.method, command.digest
        if len(self._known) > _MAX_KNOWN:
            del self._known[next(iter(self._known))]

    async def _keep(self, command_id: str, answer: bytes, *, durable: bool) -> None:
        if durable:
            try:
                if await self._do(lambda it: it.finish(command_id, answer)):
                    return
            except StorageFailed as error:
                log.warning("the answer to a command was not put into the journal: %s", error)
        self._answers[command_id] = answer
        while len(self._answers) > _MAX_IN_MEMORY:
            oldest = next(iter(self._answers))
            del self._answers[oldest]
            self._known.pop(oldest, None)

    async def _forget(self, command_id: str) -> None:
        self._known.pop(command_id, None)
        if self._journal is not None:
            with contextlib.suppress(StorageFailed):  # then it is settled after the next start
                await self._do(lambda it: it.drop(command_id))

    @contextlib.asynccontextmanager
    async def _turn(self, command_id: str) -> AsyncIterator[None]:
        """One request of a command at a time."""
        lock = self._turns.get(command_id)
        if lock is None:
            lock = self._turns[command_id] = asyncio.Lock()
        async with lock:
            yield

    async def _do(self, work: "Callable[[Journal], T]") -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="sessiond-commands")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._with_journal, work)

    def _with_journal(self, work: "Callable[[Journal], T]") -> T:
        """Loaded when it is first needed, as SQLite is."""
        if self._journal is None:
            from sessiond.hub.idempotency.journal import Journal

            self._journal = Journal(self._path)
        return work(self._journal)


def refuse_reused(session: LiveSession, command: CommandRecord | None) -> None:
    """Raise `CommandReused` when lines of a session belong to a command of this name."""
    if command is not None:
        named = msgspec.structs.replace(command, session_id=session.session_id)
        known = command_ids.find(session.tree, named, session.read)
        if known is not None:
            raise CommandReused(command.id, known.mark.method)
