"""The prompt history: queues prompts, and reads and writes them in a database on its own thread (decision 0028).

An append never waits for the history: its prompts are queued. Unlike the index, the history cannot be rebuilt from
the logs, so a damaged file is renamed and not deleted.
"""

import asyncio
import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from sessiond.hub import clock
from sessiond.hub.errors import CursorExpired, Draining, IncompatibleParams
from sessiond.hub.idempotency.commands import Commands, Intent
from sessiond.hub.prompt_history.additions import NewPrompt
from sessiond.protocol import methods as m, types as t
from sessiond.session.content import preview, typed_words
from sessiond.session.tree.tree import NewRow
from sessiond.store.errors import StorageFailed

if TYPE_CHECKING:
    from sessiond.hub.idempotency.journal import Entry
    from sessiond.hub.prompt_history.database import Prompts

log = logging.getLogger(__name__)
T = TypeVar("T")

_NEWEST: Final = ((1 << 63) - 1, 0)
"""A place after all prompts."""
_GATHER_SECONDS: Final = 0.05
"""Seconds for which the thread waits for further prompts before it writes."""
_MAX_BATCH: Final = 200
"""Limit of prompts in one transaction, so that sessions are not slowed down."""
_MAX_WAITING: Final = 10_000
"""Limit of queued prompts. Further ones are dropped, and a warning is logged: only a program is as fast."""


class _PendingPrompt(NamedTuple):
    line: bytes
    cwd: str
    at: str
    session_id: str
    entry_id: str


class PromptHistory:
    """The prompt history of a user.

    Args:
        path: The database. If None, the prompts are lost with this object.
        commands: The journal of commands, in which additions and deletions are recorded.
        enabled: Whether prompts are added. The stored ones can be read in any case.
    """

    def __init__(self, path: str | None, commands: Commands, *, enabled: bool) -> None:
        self._path = path
        self._commands = commands
        self.enabled = enabled
        self._work: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        self._prompts: Prompts | None = None  # used only on the thread
        self._pending: deque[_PendingPrompt] = deque()
        self._dropped = 0
        self._thread: threading.Thread | None = None
        self._closed = False
        commands.settle_with(m.HISTORY_ADD, self._settle_add)
        commands.settle_with(m.HISTORY_DELETE, self._settle_delete)

    def remember(self, rows: Sequence[NewRow], session_id: str, cwd: str) -> None:
        """Queue the user messages among new lines of a session in folder `cwd`. Does not wait, and never raises."""
        if not self.enabled or self._closed:
            return
        for row in rows:
            if row.role == "user":
                if len(self._pending) >= _MAX_WAITING:
                    self._dropped += 1
                    continue
                self._pending.append(_PendingPrompt(row.line, cwd, clock.timestamp(), session_id, row.id))
                if len(self._pending) == 1:
                    self._do(self._gather)

    async def add(self, params: t.HistoryAddParams) -> t.HistoryAddResult:
        """Add a prompt, unless the history is disabled. A repeated command returns the first result."""

        async def run() -> t.HistoryAddResult:
            if not self.enabled:
                return t.HistoryAddResult(added=False, prompt_id=None)
            new = NewPrompt(params.prompt, params.cwd, clock.timestamp())
            addition = await self._ask(lambda prompts: prompts.add(new, params.command_id))
            return t.HistoryAddResult(added=addition.added, prompt_id=addition.prompt_id)

        command = self._commands.of(m.HISTORY_ADD, params)
        return await self._commands.once(command, t.HistoryAddResult, run)

    async def merge(self, params: t.HistoryImportParams) -> t.HistoryImportResult:
        """Add the prompts that the history lacks, with their times, unless it is disabled.

        Raises:
            IncompatibleParams: A time is not in ISO format with a time zone.
        """
        copies = [
            NewPrompt(
                prompt.prompt,
                prompt.cwd,
                _checked_time(prompt.created_at, at),
                prompt.session_id,
                prompt.entry_id,
            )
            for at, prompt in enumerate(params.prompts)
        ]
        if not self.enabled:
            return t.HistoryImportResult(added_count=0)
        return t.HistoryImportResult(added_count=await self._ask(lambda prompts: prompts.merge(copies)))

    async def page(self, params: t.HistoryListParams) -> t.HistoryListResult:
        """Return a page of the newest prompts that match. Raises `CursorExpired`."""
        below = _NEWEST if params.cursor is None else _place(params.cursor)
        query, limit = params.query or "", params.limit
        found = await self._ask(
            lambda prompts: prompts.page(query, params.cwd, params.session_id, below, limit + 1)
        )
        more = "{}-{}".format(*found[limit - 1][0]) if len(found) > limit else None
        return t.HistoryListResult(prompts=[prompt for _, prompt in found[:limit]], next_cursor=more)

    async def delete(self, params: t.HistoryDeleteParams) -> t.HistoryDeleteResult:
        """Delete prompts permanently. A repeated command returns the first result."""

        async def run() -> t.HistoryDeleteResult:
            deleted = await self._ask(lambda prompts: prompts.delete(params.prompt_ids))
            return t.HistoryDeleteResult(deleted_ids=deleted)

        async def intent() -> Intent:
            return {"promptIds": await self._known(params.prompt_ids)}

        command = self._commands.of(m.HISTORY_DELETE, params)
        return await self._commands.once(command, t.HistoryDeleteResult, run, intent)

    async def _settle_add(self, entry: "Entry") -> t.HistoryAddResult | None:
        """Return the result of an addition that a crash interrupted; None if it was not carried out."""
        addition = await self._ask(lambda prompts: prompts.added_by(entry.id))
        return (
            None
            if addition is None
            else t.HistoryAddResult(added=addition.added, prompt_id=addition.prompt_id)
        )

    async def _settle_delete(self, entry: "Entry") -> t.HistoryDeleteResult | None:
        """Return the result of a deletion that a crash interrupted; None if it was not carried out."""
        requested = [str(prompt_id) for prompt_id in entry.intent.get("promptIds") or ()]
        remaining = set(await self._known(requested))
        removed = [prompt_id for prompt_id in requested if prompt_id not in remaining]
        return t.HistoryDeleteResult(deleted_ids=removed) if removed else None

    async def _known(self, prompt_ids: Sequence[str]) -> list[str]:
        """Return those of the ids that prompts have."""
        return await self._ask(lambda prompts: prompts.known(prompt_ids))

    async def close(self) -> None:
        """Write the queued prompts and close the database. Later requests raise `Draining`."""
        if not self._closed:
            self._closed = True
            self._work.put(None)
            if self._thread is not None:
                await asyncio.to_thread(self._thread.join)

    async def _ask(self, work: "Callable[[Prompts], T]") -> T:
        if self._closed:
            raise Draining
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def answered() -> None:
            try:
                result = work(self._loaded())
            except Exception as error:  # noqa: BLE001 - raised where the result is awaited
                loop.call_soon_threadsafe(_settle, answer, error)
            else:
                loop.call_soon_threadsafe(_settle, answer, result)

        self._do(answered)
        return await answer

    def _do(self, work: Callable[[], object]) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sessiond-history", daemon=True)
            self._thread.start()
        self._work.put(work)

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 - prompts are lost, but the thread must continue
                log.warning("Cannot write a prompt to the history: %s", error)
        try:
            while self._pending:
                self._take()
        except (StorageFailed, OSError) as error:
            log.warning("Cannot write the last prompts to the history: %s", error)
        if self._prompts is not None:
            self._prompts.close()

    def _loaded(self) -> "Prompts":
        """Return the database, opened on first use, so that the daemon starts without it.

        Raises `StorageFailed` if it cannot be opened.
        """
        if self._prompts is None:
            from sessiond.hub.prompt_history.database import Prompts

            self._prompts = Prompts(self._path)
        return self._prompts

    def _gather(self) -> None:
        """Wait for further prompts, and write them in one transaction."""
        time.sleep(_GATHER_SECONDS)
        try:
            self._take()
        finally:
            if self._pending:
                self._work.put(self._gather)
        if self._dropped and not self._pending:
            log.warning(
                "Dropped %d prompts from the history: they arrived faster than they could be written",
                self._dropped,
            )
            self._dropped = 0

    def _take(self) -> None:
        batch = [self._pending.popleft() for _ in range(min(len(self._pending), _MAX_BATCH))]
        self._loaded().add_all(
            [
                NewPrompt(_text_of(prompt.line), prompt.cwd, prompt.at, prompt.session_id, prompt.entry_id)
                for prompt in batch
            ]
        )


def _settle(answer: asyncio.Future[T], result: "T | Exception") -> None:
    if answer.done():
        return
    if isinstance(result, Exception):
        answer.set_exception(result)
    else:
        answer.set_result(result)


def _text_of(line: bytes) -> str:
    message = preview.decoded(line).get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return typed_words.typed(content) or typed_words.command_in(content) or ""
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    words = "\n".join(filter(None, (typed_words.typed(text) for text in texts if isinstance(text, str))))
    return words or typed_words.command_in(content) or ""


def _place(cursor: str) -> tuple[int, int]:
    """Return the time and the number of a prompt that a cursor names."""
    parts = cursor.split("-")
    if len(parts) != 2 or not all(
        character.isascii() and character.isdecimal() and len(character) <= 18 for character in parts
    ):
        raise CursorExpired
    return int(parts[0]), int(parts[1])


def _checked_time(text: str, at: int) -> str:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None and moment.timestamp() >= 0:
            return text
    except (ValueError, OverflowError):
        pass
    raise IncompatibleParams(f"prompts[{at}].createdAt is not a time in ISO 8601 with a time zone")
