"""Automatic compaction: detects full sessions, notifies subscribers once and starts a compaction.

A session is checked after each assistant message. If a summarizer is available, the session is compacted. After a
failure the session is not compacted for a while; the pause doubles with each further failure (decision 0019). An
append never waits for a check. If automatic compaction is disabled for a session, its appends start no check.
"""

import asyncio
import logging
import time
import weakref
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import Raw

from sessiond import config
from sessiond.hub.errors import HubError, LeafConflict, NothingToCompact, Overloaded
from sessiond.hub.session.live import LiveSession
from sessiond.hub.summaries import limits
from sessiond.hub.summaries.compacting import Compactions, Request
from sessiond.hub.summaries.requesting import Summarizers
from sessiond.protocol import methods as m, types as t
from sessiond.session.compaction.preparation import CompactionLimits, is_full
from sessiond.session.context import tokens
from sessiond.session.tree import payloads
from sessiond.session.tree.steps import ROWS_A_STEP, Steps
from sessiond.session.tree.tree import ASSISTANT, KIND, LEAF, NONE, Tree
from sessiond.store.errors import LogReplaced, StorageFailed

log = logging.getLogger(__name__)

FIRST_PAUSE: Final = 60.0
"""Seconds without automatic compaction after the first failure. Each further failure doubles the pause."""
LONGEST_PAUSE: Final = 3_600.0
"""The longest pause, in seconds."""

_DAEMON: Final = t.Origin(kind="daemon")
_COMPACTION: Final = KIND["compaction"]
_LEAF_MOVES: Final = frozenset((LEAF, KIND["branch_summary"]))
_MAX_DISTANCE: Final = 1_000
"""Limit of rows between a leaf and the last assistant message. If there are more, the session is not checked."""


@dataclass(slots=True)
class _Watch:
    """The state of a session for which automatic compaction is enabled."""

    choice: dict[str, Any] | None = None  # the session's compaction settings when a check was last requested
    check: asyncio.Task[None] | None = None  # the check that is running
    recheck: bool = False  # a further check was requested
    notified_leaf: int = NONE  # the leaf for which subscribers were notified
    failures: int = 0
    paused_until: float = 0.0  # no compaction before this time, on the monotonic clock
    compacted: bool = False  # the session was compacted, and no later check has found it below its limit


class AutoCompaction:
    """Compacts the sessions for which automatic compaction is enabled; called when a session grows."""

    def __init__(
        self, configured: config.CompactionConfig, compactions: Compactions, summarizers: Summarizers
    ) -> None:
        self.configured = configured
        self._compactions = compactions
        self._summarizers = summarizers
        self._watches: weakref.WeakKeyDictionary[LiveSession, _Watch] = weakref.WeakKeyDictionary()
        self._checks: set[asyncio.Task[None]] = set()
        self._closed = False

    def grew(self, live: LiveSession, first: int) -> None:
        """Retry a waiting compaction, and schedule a check after an assistant message or a change of the settings."""
        self._compactions.grew(live)
        tree = live.tree
        if not limits.enabled(self.configured, tree) or self._closed:
            return
        watch = self._watches.setdefault(live, _Watch())
        rows = range(first, tree.committed)
        if any(tree.kind(row) in _LEAF_MOVES for row in rows):
            watch.notified_leaf = NONE
        if watch.choice is not tree.auto_compact or any(tree.role(row) == ASSISTANT for row in rows):
            watch.choice = tree.auto_compact
            self._schedule_check(live, watch)

    async def close(self) -> None:
        """Cancel all checks and start no more."""
        self._closed = True
        checks = list(self._checks)
        for check in checks:
            check.cancel()
        await asyncio.gather(*checks, return_exceptions=True)

    def _schedule_check(self, live: LiveSession, watch: _Watch) -> None:
        watch.recheck = True
        if watch.check is None:
            watch.check = asyncio.get_running_loop().create_task(self._check(live, watch))
            self._checks.add(watch.check)
            watch.check.add_done_callback(self._check_ended)

    def _check_ended(self, check: asyncio.Task[None]) -> None:
        self._checks.discard(check)
        if not check.cancelled() and check.exception() is not None:
            log.error("the check of a session failed", exc_info=check.exception())

    async def _check(self, live: LiveSession, watch: _Watch) -> None:
        try:
            while watch.recheck:
                watch.recheck = False
                await self._check_once(live, watch)
        except (HubError, StorageFailed, LogReplaced) as error:
            log.warning(
                "session %s could not be checked for compaction: %s", live.session_id, type(error).__name__
            )
        finally:
            watch.check = None

    async def _check_once(self, live: LiveSession, watch: _Watch) -> None:
        tree, leaf = live.tree, live.tree.leaf
        settings = limits.in_force(self.configured, tree)
        compaction_limits = CompactionLimits(
            settings.context_window, settings.reserve_tokens, settings.keep_recent_tokens
        )
        used_tokens = _used_tokens(live, leaf)
        if used_tokens is None:
            return
        if not is_full(used_tokens, compaction_limits):
            watch.compacted, watch.notified_leaf = False, NONE
            return
        # The provider counted the context of its answer. It may have been edited or reset since.
        context = await live.context(leaf)
        counted = await live.drive(tokens.count(tree, leaf, context))
        if not is_full(counted.tokens, compaction_limits):
            return
        summarizer = self._summarizers.first(live)
        if not await live.drive(_is_notified(tree, watch.notified_leaf, leaf)):
            note = t.ContextFilledNote(
                session_id=live.session_id, leaf_id=tree.id(leaf) or "", tokens=counted.tokens,
                context_window=settings.context_window, reserve_tokens=settings.reserve_tokens,
                summarizer=summarizer,
            )  # fmt: skip
            live.subscribers.notify(m.CONTEXT_FILLED, note)
        watch.notified_leaf = leaf
        if watch.compacted:
            watch.compacted = False
            self._failed(watch)  # the compaction had no effect: other data than messages fills the context
        if summarizer is not None:
            self._compact(live, watch)

    def _compact(self, live: LiveSession, watch: _Watch) -> None:
        if self._closed or self._compactions.in_progress(live) or time.monotonic() < watch.paused_until:
            return
        request = Request(t.CompactParams(session_id=live.session_id), _DAEMON)
        self._compactions.compact(live, request, _AutomaticWaiter(self, live, watch))

    def handle_outcome(self, live: LiveSession, watch: _Watch, outcome: t.Wire | Exception) -> None:
        """Handle the outcome of an automatic compaction."""
        match outcome:
            case t.CompactResult():
                watch.failures, watch.compacted = 0, True
            case LeafConflict() | Overloaded():
                return  # the next assistant message starts a check
            case NothingToCompact():
                watch.paused_until = time.monotonic() + FIRST_PAUSE
            case Exception():
                self._failed(watch)
                log.warning(
                    "session %s was not compacted (%s); the next attempt is in %d s or later",
                    live.session_id, type(outcome).__name__, watch.paused_until - time.monotonic(),
                )  # fmt: skip

    @staticmethod
    def _failed(watch: _Watch) -> None:
        pause = min(FIRST_PAUSE * 2**watch.failures, LONGEST_PAUSE)
        watch.failures = min(watch.failures + 1, 16)
        watch.paused_until = time.monotonic() + pause


class _AutomaticWaiter:
    """Waits for an automatic compaction on behalf of the daemon."""

    def __init__(self, auto: AutoCompaction, live: LiveSession, watch: _Watch) -> None:
        self._auto, self._live, self._watch = auto, live, watch

    def progress(self, step: t.Progress) -> None:
        """Ignore progress: no client made the request."""

    def done(self, outcome: t.Wire | Exception) -> None:
        self._auto.handle_outcome(self._live, self._watch, outcome)


class _MessageEntry(msgspec.Struct):
    message: Raw


_message_entry = msgspec.json.Decoder(_MessageEntry)


def _used_tokens(live: LiveSession, leaf: int) -> int | None:
    """Return the tokens that the provider counted for the last assistant message on the path to a leaf.

    Returns None if there is none within `_MAX_DISTANCE` rows and since the last compaction.
    """
    tree, row = live.tree, leaf
    for _ in range(_MAX_DISTANCE):
        if row == NONE or tree.kind(row) == _COMPACTION:
            return None
        if tree.role(row) == ASSISTANT:
            decoded = payloads.part(_message_entry, live.read(row))
            return None if decoded is None else tokens.used(decoded.message)
        row = tree.parent(row)
    return None


def _is_notified(tree: Tree, notified_leaf: int, leaf: int) -> Steps[bool]:
    """Return whether a leaf descends from `notified_leaf` without a compaction in between.

    `notified_leaf` is the leaf for which subscribers were notified. If it is `NONE`, the result is False.
    """
    row = leaf
    for visited in range(len(tree)):
        if row in (notified_leaf, NONE) or tree.kind(row) == _COMPACTION:
            break
        row = tree.parent(row)
        if visited % ROWS_A_STEP == 0:
            yield
    return row == notified_leaf and notified_leaf != NONE
