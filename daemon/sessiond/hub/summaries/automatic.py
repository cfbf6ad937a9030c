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
from sessiond.hub.errors import HubError, LeafConflict, NothingToCompact
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
_MOVES: Final = frozenset((LEAF, KIND["branch_summary"]))
_NEAR: Final = 1_000
"""Limit of rows between a leaf and the last assistant message. If there are more, the session is not checked."""


@dataclass(slots=True)
class _Watch:
    """The state of a session for which automatic compaction is enabled."""

    choice: dict[str, Any] | None = None  # the session's compaction settings when a check was last requested
    look: asyncio.Task[None] | None = None  # the check that is running
    again: bool = False  # a further check was requested
    told: int = NONE  # the leaf for which subscribers were notified
    failures: int = 0
    quiet_until: float = 0.0  # no compaction before this time, on the monotonic clock
    compacted: bool = False  # compacted, and no check since then has found the session below its limit


class AutoCompaction:
    """Compacts the sessions for which automatic compaction is enabled; called when a session grows."""

    def __init__(
        self, configured: config.CompactionConfig, compactions: Compactions, summarizers: Summarizers
    ) -> None:
        self.configured = configured
        self._compactions = compactions
        self._summarizers = summarizers
        self._watches: weakref.WeakKeyDictionary[LiveSession, _Watch] = weakref.WeakKeyDictionary()
        self._looks: set[asyncio.Task[None]] = set()
        self._closed = False

    def grew(self, live: LiveSession, first: int) -> None:
        self._compactions.grew(live)
        tree = live.tree
        if not limits.enabled(self.configured, tree) or self._closed:
            return
        watch = self._watches.setdefault(live, _Watch())
        rows = range(first, tree.committed)
        if any(tree.kind(row) in _MOVES for row in rows):
            watch.told = NONE
        if watch.choice is not tree.auto_compact or any(tree.role(row) == ASSISTANT for row in rows):
            watch.choice = tree.auto_compact
            self._look_soon(live, watch)

    async def close(self) -> None:
        """Cancel all checks and start no more."""
        self._closed = True
        looks = list(self._looks)
        for look in looks:
            look.cancel()
        await asyncio.gather(*looks, return_exceptions=True)

    def _look_soon(self, live: LiveSession, watch: _Watch) -> None:
        watch.again = True
        if watch.look is None:
            watch.look = asyncio.get_running_loop().create_task(self._look(live, watch))
            self._looks.add(watch.look)
            watch.look.add_done_callback(self._looked)

    def _looked(self, look: asyncio.Task[None]) -> None:
        self._looks.discard(look)
        if not look.cancelled() and look.exception() is not None:
            log.error("a look at a session failed", exc_info=look.exception())

    async def _look(self, live: LiveSession, watch: _Watch) -> None:
        try:
            while watch.again:
                watch.again = False
                await self._look_once(live, watch)
        except (HubError, StorageFailed, LogReplaced) as error:
            log.warning("session %s could not be looked at: %s", live.session_id, type(error).__name__)
        finally:
            watch.look = None

    async def _look_once(self, live: LiveSession, watch: _Watch) -> None:
        tree, leaf = live.tree, live.tree.leaf
        settings = limits.in_force(self.configured, tree)
        window = CompactionLimits(
            settings.context_window, settings.reserve_tokens, settings.keep_recent_tokens
        )
        used = _used(live, leaf)
        if used is None:
            return
        if not is_full(used, window):
            watch.compacted, watch.told = False, NONE
            return
        # The provider counted the context of its answer. It may have been edited or reset since.
        context = await live.context(leaf)
        counted = await live.drive(tokens.count(tree, leaf, context))
        if not is_full(counted.tokens, window):
            return
        summarizer = self._summarizers.first(live)
        if not await live.drive(_still_full(tree, watch.told, leaf)):
            note = t.ContextFilledNote(
                session_id=live.session_id, leaf_id=tree.id(leaf) or "", tokens=counted.tokens,
                context_window=settings.context_window, reserve_tokens=settings.reserve_tokens,
                summarizer=summarizer,
            )  # fmt: skip
            live.subscribers.notify(m.CONTEXT_FILLED, note)
        watch.told = leaf
        if watch.compacted:
            watch.compacted = False
            self._failed(
                watch
            )  # the compaction did not help: something other than messages fills the context
        if summarizer is not None:
            self._compact(live, watch)

    def _compact(self, live: LiveSession, watch: _Watch) -> None:
        if self._closed or self._compactions.under_way(live) or time.monotonic() < watch.quiet_until:
            return
        request = Request(t.CompactParams(session_id=live.session_id), _DAEMON)
        self._compactions.compact(live, request, _ByItself(self, live, watch))

    def ended(self, live: LiveSession, watch: _Watch, outcome: t.Wire | Exception) -> None:
        """Handle the outcome of an automatic compaction."""
        match outcome:
            case t.CompactResult():
                watch.failures, watch.compacted = 0, True
            case LeafConflict():
                return  # the next assistant message starts a check at the new leaf
            case NothingToCompact():
                watch.quiet_until = time.monotonic() + FIRST_PAUSE
            case Exception():
                self._failed(watch)
                log.warning(
                    "session %s was not compacted (%s); that is left alone for %d s",
                    live.session_id, type(outcome).__name__, watch.quiet_until - time.monotonic(),
                )  # fmt: skip

    @staticmethod
    def _failed(watch: _Watch) -> None:
        pause = min(FIRST_PAUSE * 2**watch.failures, LONGEST_PAUSE)
        watch.failures = min(watch.failures + 1, 16)
        watch.quiet_until = time.monotonic() + pause


class _ByItself:
    """Waits for an automatic compaction on behalf of the daemon."""

    def __init__(self, auto: AutoCompaction, live: LiveSession, watch: _Watch) -> None:
        self._auto, self._live, self._watch = auto, live, watch

    def told(self, step: t.Progress) -> None:
        """Ignore progress: no client asked."""

    def done(self, outcome: t.Wire | Exception) -> None:
        self._auto.ended(self._live, self._watch, outcome)


class _Answer(msgspec.Struct):
    message: Raw


_answer = msgspec.json.Decoder(_Answer)


def _used(live: LiveSession, leaf: int) -> int | None:
    """Return the tokens that the provider counted for the last assistant message on the path to a leaf.

    Returns None if there is none within `_NEAR` rows and since the last compaction.
    """
    tree, row = live.tree, leaf
    for _ in range(_NEAR):
        if row == NONE or tree.kind(row) == _COMPACTION:
            return None
        if tree.role(row) == ASSISTANT:
            said = payloads.part(_answer, live.read(row))
            return None if said is None else tokens.used(said.message)
        row = tree.parent(row)
    return None


def _still_full(tree: Tree, told: int, leaf: int) -> Steps[bool]:
    """Return whether a leaf descends from `told` without a compaction in between.

    `told` is the leaf for which subscribers were notified. If it is `NONE`, the result is False.
    """
    row = leaf
    for walked in range(len(tree)):
        if row in (told, NONE) or tree.kind(row) == _COMPACTION:
            break
        row = tree.parent(row)
        if walked % ROWS_A_STEP == 0:
            yield
    return row == told and told != NONE
