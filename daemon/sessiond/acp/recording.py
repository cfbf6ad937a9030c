"""Records one session as it happens: first in the journal, then as entries in the daemon.

Messages are taken immediately and never wait for the daemon. Entries are sent in batches, one after the other. A text
that is being written is stored piece by piece, at most every `CHUNK_SECONDS`, and whole when it is complete. If the
daemon refuses, the messages stay in the journal, and memory holds no more than `MAX_WAITING_BYTES` of them.
"""

import asyncio
import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.acp.entry_batches import append_renamed, batch_of, size_of
from sessiond.acp.errors import NotStored
from sessiond.acp.journal import TurnJournal
from sessiond.acp.journal_records import JournalHead, JournalTurn, apply
from sessiond.acp.recorder import SessionRecorder
from sessiond.acp.stored_sessions import UNAVAILABLE, RecordedSessions
from sessiond.protocol import types as t

Json = dict[str, Any]
Report = Callable[[str], None]

CHUNK_SECONDS: Final = 0.5
"""Time between two entries of a text that is being written."""
QUIET_SECONDS: Final = 2.0
"""Time after which a text outside of a turn counts as complete."""
MAX_WAITING_BYTES: Final = 64 * 1024 * 1024
"""Limit of the entries that wait for the daemon. More are only in the journal."""
MAX_EARLY: Final = 100
"""Limit of updates before the first prompt that are kept until the session is stored."""
MAX_EARLY_BYTES: Final = 64 * 1024
"""Limit of one of them."""


@dataclass(frozen=True, slots=True)
class RecordingState:
    """The recorded state of a session at one moment.

    Attributes:
        parent_id: The last entry of the path, which the daemon may not have yet. Default: that of the daemon.
        open_updates: The updates that show the parts without an entry.
    """

    parent_id: str | UnsetType | None
    open_updates: list[Json]


class SessionRecording:
    """The recording of one session.

    Args:
        store: The sessions in the daemon.
        native_id: The agent's id of the session.
        cwd: Its folder.
        journals: The folder of journals.
        report: Receives a sentence for people.
    """

    def __init__(
        self, store: RecordedSessions, native_id: str, cwd: str, journals: str, report: Report
    ) -> None:
        self.native_id = native_id
        self.cwd = cwd
        self.model: str | None = None
        self.forked_from: str | None = None
        """The agent's id of the session whose conversation this one begins with."""
        self._store = store
        self._journals = journals
        self._report = report
        self._journal: TurnJournal | None = None
        self._recorder: SessionRecorder | None = None
        self._session_id: str | None = None
        self._early: list[bytes] = []
        self._waiting: list[Json] = []
        self._waiting_bytes = 0
        self._is_behind = False
        self._renamed: dict[str, str] = {}
        self._work = asyncio.Event()
        self._stored = asyncio.Event()
        self._stored.set()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def has_begun(self) -> bool:
        """Whether any message of the session is recorded."""
        return self._recorder is not None

    def state(self) -> RecordingState:
        """Return the present state of the recording."""
        if self._recorder is None:
            return RecordingState(UNSET, [])
        return RecordingState(self._recorder.parent_id, self._recorder.open_updates())

    # --- messages --------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Find or create the session in the daemon before its first prompt. Does nothing after that."""
        if self._recorder is not None:
            return
        found: t.SessionInfo | None = None
        try:
            if self.forked_from is not None:
                await self._store.copy(self.forked_from, self.native_id, self.cwd)
            found = await self._store.ensure(self.native_id, self.cwd)
        except UNAVAILABLE as error:
            self._fail(error)
        self._recorder = recorder = SessionRecorder(
            self._store.agent.name, secrets.token_hex(4), None if found is None else found.leaf_id, self.model
        )
        recorder.takes_titles = found is None or found.title is None
        recorder.counts_usage = not await asyncio.to_thread(self._store.is_followed)
        try:
            self._journal = TurnJournal(self._journals, self._journal_head)
        except OSError as error:
            self._report(f"The journal of the conversation cannot be written: {error}")
        if found is not None:
            self._session_id = found.session_id
            self._tasks = [
                asyncio.create_task(self._send()),
                asyncio.create_task(self._take_chunks(recorder)),
            ]
        for update in self._early:
            self.update(Raw(update))
        self._early.clear()

    def prompt(self, params: Raw) -> None:
        """Record the prompt of a turn: the params of the request."""
        self._take("prompt", params)

    def update(self, update: Raw) -> None:
        """Record the member `update` of a notification."""
        if self._recorder is not None:
            self._take("update", update)
        elif len(self._early) < MAX_EARLY and len(bytes(update)) < MAX_EARLY_BYTES:
            self._early.append(bytes(update))

    def permission(self, params: Raw) -> None:
        """Record that the agent asks for a permission."""
        self._take("permission", params)

    def answered(self, params: Raw, outcome: Raw) -> None:
        """Record the answer to a request for a permission, once."""
        self._take("answered", msgspec.json.encode([params, outcome]))

    def ended(self, result: Raw) -> None:
        """Record the result of a prompt."""
        self._take("ended", result)

    def failed(self, error: Raw) -> None:
        """Record that a prompt ended in an error."""
        self._take("failed", error)

    # --- the end ---------------------------------------------------------------------------------------

    async def flush(self, seconds: float) -> None:
        """Wait until the daemon has all entries, for some time at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stored.wait()

    async def close(self, seconds: float) -> None:
        """End the recording. Lines that the daemon does not have in time stay in the journal."""
        if self._recorder is not None:
            if self._recorder.in_turn:
                self.failed(Raw(b'"The connection ended in the middle of the turn."'))
            self._recorder.close()
            self._queue()
            await self.flush(seconds)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._journal is not None:
            self._journal.close()

    # --- entries ---------------------------------------------------------------------------------------

    def _take(self, kind: str, found: bytes | Raw) -> None:
        if self._recorder is None:
            return
        self._write(kind, found)
        apply(self._recorder, kind, found if isinstance(found, Raw) else Raw(found))
        self._queue()

    def _write(self, kind: str, found: bytes | Raw) -> None:
        if self._journal is not None:
            try:
                self._journal.write(kind, found)
            except OSError as error:
                self._fail(error)

    def _queue(self) -> None:
        assert self._recorder is not None
        drafts, self._recorder.drafts = self._recorder.drafts, []
        if self._is_behind or not drafts:
            return
        self._waiting += drafts
        self._waiting_bytes += sum(map(size_of, drafts))
        if self._waiting_bytes > MAX_WAITING_BYTES:
            self._fail(OSError(f"more than {MAX_WAITING_BYTES >> 20} MiB wait for it"))
            return
        self._stored.clear()
        self._work.set()

    async def _send(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            while self._waiting:
                batch = batch_of(self._waiting)
                try:
                    await self._append(batch)
                except UNAVAILABLE as error:
                    self._fail(error)
                    return
                del self._waiting[: len(batch)]
                self._waiting_bytes -= sum(map(size_of, batch))
            if self._recorder is not None and not self._recorder.in_turn and not self._recorder.has_open_text:
                self._forget()
            self._stored.set()

    def _forget(self) -> None:
        """Clear the journal, because the daemon has all of it. A recorder that begins here makes the next entries."""
        assert self._recorder is not None
        if self._journal is not None:
            self._journal.clear()
        self._recorder.begin(secrets.token_hex(4))

    def _journal_head(self) -> list[tuple[str, bytes]]:
        assert self._recorder is not None
        recorder, agent = self._recorder, self._store.agent
        session = JournalHead(agent.name, agent.dialect, self.native_id, self.cwd)
        turn = JournalTurn(
            recorder.key,
            recorder.parent_id,
            recorder.takes_titles,
            recorder.model,
            recorder.counts_usage,
            self._session_id is not None,
        )
        return [("session", msgspec.json.encode(session)), ("turn", msgspec.json.encode(turn))]

    async def _append(self, batch: list[Json]) -> None:
        assert self._session_id is not None
        await append_renamed(self._store, self._session_id, batch, self._renamed)

    def _fail(self, error: Exception) -> None:
        """Report once that entries cannot be stored. The journal then keeps the later messages."""
        if not self._is_behind:
            self._is_behind = True
            self._report(str(NotStored(self.native_id, str(error), self._journals)))
        self._waiting.clear()
        self._waiting_bytes = 0
        self._stored.set()

    async def _take_chunks(self, recorder: SessionRecorder) -> None:
        quiet = 0.0
        count = 0
        while True:
            await asyncio.sleep(CHUNK_SECONDS)
            if not recorder.has_open_text:
                quiet = 0.0
                continue
            quiet = quiet + CHUNK_SECONDS if count == recorder.open_part_count else 0.0
            count = recorder.open_part_count
            if not recorder.in_turn and quiet >= QUIET_SECONDS:
                recorder.close()
            else:
                recorder.chunk()
            self._queue()
