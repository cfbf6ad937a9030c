"""The present work of every agent: the sessions that were written lately, each with its state, last words and cost.

A board reads the whole list once, and then only rows that have changed. It has no screen.
"""

import time
from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from typing import Final, Literal

import msgspec

from sessiond.client.daemon import Daemon
from sessiond.client.wire import RpcError
from sessiond.protocol import types as t

State = Literal["working", "waiting", "stopped", "failed"]
STATES: Final[tuple[State, ...]] = ("working", "waiting", "stopped", "failed")

WORKING_SECONDS: Final = 600.0
"""After this time without an entry, an agent in the middle of a turn counts as stopped."""
WAITING_SECONDS: Final = 3600.0
"""After this time without an entry, a followed agent counts as ended. For some agents, no file shows the end."""
MAX_ROWS: Final = 100
"""Limit of the rows of a board. The newest are shown."""


class BoardRow(msgspec.Struct, rename="camel", frozen=True):
    """One session of a board.

    Attributes:
        session_id: Its id.
        state: `working` in the middle of a turn; `waiting` for a person, after a complete turn; `stopped` after a turn
            that was aborted, or that has written nothing for ten minutes; `failed` after an error. A followed agent
            for which no person answers, or that has written nothing for an hour, is `stopped` instead of `waiting`.
            An agent without a process for the session is `stopped` immediately.
        agent: The agent that it was read from; None for a session that began here.
        cwd: Its folder.
        title: Its title, or the beginning of its first prompt.
        last_words: The beginning of the last message on the path to the leaf.
        model: The model of the next turn, as `provider/id`.
        tokens: The tokens of the whole tree, as the agent recorded them; None if it records none.
        cost: The cost in US dollars, as the agent recorded it; None if it records none.
        updated_at: When the last entry was written, ISO 8601.
    """

    session_id: str
    state: State
    agent: str | None
    cwd: str
    title: str
    last_words: str
    model: str | None
    tokens: int | None
    cost: float | None
    updated_at: str


class _Details(msgspec.Struct, frozen=True):
    leaf: str | None
    size: int
    last_words: str
    tokens: int | None
    cost: float | None


class Board:
    """The sessions that were written in the last seconds.

    Args:
        daemon: The daemon.
        seconds: How long a session stays after its last entry.
        cwd: Only sessions of this folder; None for all folders.
        with_automated: Whether sessions whose prompts a program gave are shown, too.
    """

    def __init__(
        self, daemon: Daemon, seconds: float, cwd: str | None = None, *, with_automated: bool = False
    ) -> None:
        self._daemon = daemon
        self._seconds = seconds
        self._cwd = cwd
        self._with_automated = with_automated
        self.hidden_count = 0
        """The number of sessions of the last rows that are not shown because a program gave their prompts."""
        self._sessions: dict[str, t.ListedSession] = {}
        self._details: dict[str, _Details] = {}

    async def read(self) -> list[BoardRow]:
        """Return the rows of now.

        Raises:
            RpcError: The daemon refused the request.
            DisconnectedError: The connection was lost.
        """
        since = datetime.fromtimestamp(time.time() - self._seconds).astimezone().isoformat()
        shown = None if self._with_automated else False
        page = await self._daemon.list_sessions(
            self._cwd, since=since, automated=shown, include_drafts=True, limit=MAX_ROWS
        )
        self._replace(page.sessions)
        rows = await self.rows()
        if not self._with_automated:
            hidden = await self._daemon.list_sessions(
                self._cwd, since=since, automated=True, include_drafts=True, limit=1, with_total=True
            )
            self.hidden_count = hidden.total_count or 0
        return rows

    async def watch(self, interval_ms: int = 500) -> AsyncIterator[list[BoardRow]]:
        """Yield the rows, and again whenever something has changed.

        Args:
            interval_ms: The minimum time between two changes, in milliseconds.

        Raises:
            RpcError: The daemon refused the request.
        """
        async with self._daemon.watch_list(
            self._cwd, include_drafts=True, interval_ms=interval_ms
        ) as changes:
            async for change in changes:
                if change.is_whole:
                    self._replace(change.sessions)
                else:
                    self._sessions.update((session.session_id, session) for session in change.sessions)
                    for session_id in change.removed:
                        self._sessions.pop(session_id, None)
                yield await self.rows()

    def _replace(self, sessions: Iterable[t.ListedSession]) -> None:
        self._sessions = {session.session_id: session for session in sessions}

    async def rows(self) -> list[BoardRow]:
        """Return the rows of the sessions that are known, as of now. Raises `DisconnectedError`."""
        now = time.time()
        recent = [
            session
            for session in self._sessions.values()
            if now - _seconds(session.updated_at) <= self._seconds
        ]
        if not self._with_automated:
            shown = [session for session in recent if session.origin is None or not session.origin.automated]
            self.hidden_count, recent = len(recent) - len(shown), shown
        recent = sorted(recent, key=lambda session: session.updated_at, reverse=True)[:MAX_ROWS]
        self._details = {session.session_id: await self._details_of(session) for session in recent}
        return [self._row(session, now) for session in recent]

    async def _details_of(self, session: t.ListedSession) -> _Details:
        """Return what the list does not have, read again only if the session has changed."""
        known = self._details.get(session.session_id)
        if known is not None and (known.leaf, known.size) == (session.leaf_id, session.size_bytes):
            return known
        words, tokens, cost = "", None, None
        try:
            if session.leaf_id is not None:
                page = await self._daemon.tree(session.session_id, around_id=session.leaf_id, limit=1)
                words = page.nodes[0].preview if page.nodes else ""
            stats = (await self._daemon.stats(session.session_id)).tree_stats
            tokens, cost = stats.tokens.total or None, stats.cost.total or None
        except RpcError:  # it was deleted meanwhile, or it is damaged: the row says what the list knows
            pass
        return _Details(session.leaf_id, session.size_bytes, words, tokens, cost)

    def _row(self, session: t.ListedSession, now: float) -> BoardRow:
        details = self._details[session.session_id]
        return BoardRow(
            session.session_id, state_of(session, now), None if session.origin is None else session.origin.agent,
            session.cwd, session.title or session.first_prompt or "", details.last_words, session.model,
            details.tokens, details.cost, session.updated_at,
        )  # fmt: skip


def state_of(session: t.ListedSession, now: float) -> State:
    """Return what the agent of a session is doing at a time, in seconds since 1970."""
    if session.lifecycle == "error":
        return "failed"
    if session.origin is not None and session.origin.ended:
        return "stopped"
    quiet = now - _seconds(session.updated_at)
    if session.lifecycle in ("complete", "empty"):
        return "stopped" if session.origin is not None and _has_ended(session.origin, quiet) else "waiting"
    return "working" if session.lifecycle == "interrupted" and quiet < WORKING_SECONDS else "stopped"


def _has_ended(origin: t.SessionOrigin, quiet: float) -> bool:
    """Return whether the agent of a session waits for no person: a program gave its prompts, or it has ended."""
    is_subagent = origin.path is not None and "/subagents/" in origin.path
    return origin.gone or origin.automated or is_subagent or quiet >= WAITING_SECONDS


def _seconds(timestamp: str) -> float:
    try:
        return datetime.fromisoformat(timestamp).timestamp()
    except ValueError:
        return 0.0
