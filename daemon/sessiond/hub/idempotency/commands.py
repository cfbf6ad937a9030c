"""Makes requests with a `commandId` idempotent: detects repeats and returns the first result.

Requests that write lines are recorded in these lines (`hub/session/entry_placement`). For other requests the journal
records the intent before the request is carried out, and the result afterwards. After a crash, an intent without a
result is settled before anything else is changed: the function that is registered for its method determines whether
the request was carried out.
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

from sessiond.hub.errors import CommandReused, Draining, IncompatibleParams
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
"""Returns the result of an interrupted command; None if it was not carried out."""

_DELIVERY: Final = {"command_id": None, "work_done_token": None}
"""Params that do not change what a request does, with the values that replace them in a digest."""
_DUPLICATE: Final[dict[str, Any]] = {"duplicate": True}
_MAX_IN_MEMORY: Final = 10_000
"""Limit of results in memory, which are those that are not in the journal."""
_MAX_KNOWN: Final = 30_000
"""Limit of known commands; more than the journal and the results in memory together."""


async def no_intent() -> Intent:
    """Return an empty intent, for requests whose effect shows whether they were carried out."""
    return {}


class Commands:
    """The commands of this daemon; `path` is the file of the journal, None for a temporary file."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._thread: ThreadPoolExecutor | None = None
        self._journal: Journal | None = None  # used only on the thread
        self._known: dict[str, tuple[str, str]] = {}  # id -> method and digest
        self._answers: dict[str, bytes] = {}  # the results that are not in the journal
        self._turns: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._settling: asyncio.Task[None] | None = None
        self._settlers: dict[str, Settle] = {}
        self._is_closed = False

    def settle_with(self, method: m.Method[Any, Any], settle: Settle) -> None:
        """Register the function that settles interrupted commands of a method after a crash."""
        self._settlers[method.name] = settle

    def of(
        self, method: m.Method[Any, Any], params: t.Wire, session_id: str | None = None
    ) -> CommandRecord | None:
        """Return the command record of a request; None if it has no `commandId`.

        Args:
            method: The method.
            params: The request.
            session_id: The id of the session whose lines record the command. If None, the journal records it.

        Raises:
            IncompatibleParams: The request also has an id for its entry, which already makes it idempotent.
            CommandReused: The journal has this id for another request.
        """
        command_id = getattr(params, "command_id", None)
        if command_id is None:
            return None
        changes: dict[str, str | None] = {
            name: value for name, value in _DELIVERY.items() if hasattr(params, name)
        }
        if session_id is not None:
            if getattr(params, "id", None) is not None:
                raise IncompatibleParams(
                    "`id` and `commandId` cannot be combined: each makes the request repeatable"
                )
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
        """Carry out a command once. For a repeat, return the first result, marked as a duplicate.

        If `run` raises, the command is forgotten and can be repeated.

        Args:
            command: The command. If None, `run` is always called.
            result: The type of the result.
            run: Carries out the command.
            intent: Returns the intent, which is recorded before `run` is called. After a crash it shows whether the
                command was carried out.
            durable: Whether the command is recorded in the journal. Otherwise it is known until the daemon ends.

        Raises:
            CommandReused: The `commandId` belongs to another request.
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
                await self._do(lambda journal: journal.begin(command, noted, int(time.time())))
            self._note(command)
            try:
                answer = await run()
            except BaseException:
                await self._forget(command.id)
                raise
            await self._keep(command.id, msgspec.json.encode(answer), durable=durable)
            return answer

    async def ready(self) -> None:
        """Settle the commands that a crash interrupted. If the journal cannot be read, the next call tries again."""
        if self._settling is None or (self._settling.done() and self._settling.exception() is not None):
            self._settling = asyncio.get_running_loop().create_task(self._settle_all())
        if not self._settling.done():
            try:
                await asyncio.shield(self._settling)
            except StorageFailed as error:
                log.warning("Cannot read the journal of commands: %s", error)

    async def quarantine_journal(self) -> str:
        """Rename a damaged journal and start a new one. Returns the new path of the damaged one."""
        return await self._do(lambda journal: journal.quarantine())

    async def close(self) -> None:
        """Close the journal. A command that ends later is settled after the next start."""
        self._is_closed = True
        if self._thread is not None:
            thread, self._thread = self._thread, None
            await asyncio.get_running_loop().run_in_executor(thread, self._close_journal)
            await asyncio.to_thread(thread.shutdown)

    async def _settle_all(self) -> None:
        if self._path is None or not os.path.exists(self._path):  # noqa: PTH110
            return
        for entry in await self._do(lambda journal: journal.all(int(time.time()))):
            self._known[entry.id] = entry.method, entry.digest
            if entry.answer is None:
                await self._settle(entry)

    async def _settle(self, entry: "Entry") -> None:
        settle = self._settlers.get(entry.method)
        try:
            answer = None if settle is None else await settle(entry)
        except Exception:
            # This must not prevent the daemon from serving. The next request with this id is carried out.
            log.exception("Cannot determine whether an interrupted %s was carried out", entry.method)
            answer = None
        if answer is None:
            await self._forget(entry.id)
        else:
            await self._keep(entry.id, msgspec.json.encode(answer), durable=True)

    async def _answer(self, command: CommandRecord) -> bytes | None:
        """Return the stored result of a command; None if there is none. Raises `CommandReused`."""
        known = self._known.get(command.id)
        if known is None:
            return None
        if known[1] != command.digest:
            raise CommandReused(command.id, known[0])
        if command.id in self._answers:
            return self._answers[command.id]
        entry = await self._do(lambda journal: journal.get(command.id))
        return None if entry is None else entry.answer

    def _note(self, command: CommandRecord) -> None:
        self._known[command.id] = command.method, command.digest
        if len(self._known) > _MAX_KNOWN:
            del self._known[next(iter(self._known))]

    async def _keep(self, command_id: str, answer: bytes, *, durable: bool) -> None:
        if durable:
            try:
                if await self._do(lambda journal: journal.finish(command_id, answer)):
                    return
            except (StorageFailed, Draining) as error:
                log.warning("Cannot write the result of a command to the journal: %s", error)
        self._answers[command_id] = answer
        while len(self._answers) > _MAX_IN_MEMORY:
            oldest = next(iter(self._answers))
            del self._answers[oldest]
            self._known.pop(oldest, None)

    async def _forget(self, command_id: str) -> None:
        self._known.pop(command_id, None)
        if self._journal is not None:
            with contextlib.suppress(
                StorageFailed, Draining
            ):  # the command is then settled after the next start
                await self._do(lambda journal: journal.drop(command_id))

    @contextlib.asynccontextmanager
    async def _turn(self, command_id: str) -> AsyncIterator[None]:
        """Serialize the requests with one command id."""
        lock = self._turns.get(command_id)
        if lock is None:
            lock = self._turns[command_id] = asyncio.Lock()
        async with lock:
            yield

    async def _do(self, work: "Callable[[Journal], T]") -> T:
        if self._is_closed:
            raise Draining
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="sessiond-commands")
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._with_journal, work)

    def _with_journal(self, work: "Callable[[Journal], T]") -> T:
        """Call `work` with the journal, which is loaded on first use, together with SQLite."""
        if self._journal is None:
            from sessiond.hub.idempotency.journal import Journal

            self._journal = Journal(self._path)
        return work(self._journal)

    def _close_journal(self) -> None:
        """Close the journal on the thread. Work that was submitted before may only then have loaded it."""
        if self._journal is not None:
            self._journal.close()


def refuse_reused(session: LiveSession, command: CommandRecord | None) -> None:
    """Raise `CommandReused` if lines of the session record a command with the id of `command`, which may be None."""
    if command is not None:
        named = msgspec.structs.replace(command, session_id=session.session_id)
        known = command_ids.find(session.tree, named, session.read)
        if known is not None:
            raise CommandReused(command.id, known.mark.method)
