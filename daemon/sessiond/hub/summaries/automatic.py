"""Automatic compaction: after an answer it is looked whether the session is full; subscribers are told, once.

Where somebody can write a summary, the session is compacted. A summarizer that fails is left alone for a while,
longer each time (decision 0019). Where nobody wants it, it costs an append nothing; else the look comes afterwards.
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
LONGEST_PAUSE: Final = 3_600.0
"""Seconds for which a session is left alone after a failure; each further failure doubles them."""

_DAEMON: Final = t.Origin(kind="daemon")
_COMPACTION: Final = KIND["compaction"]
_MOVES: Final = frozenset((LEAF, KIND["branch_summary"]))
_NEAR: Final = 1_000
"""Rows between a leaf and the last answer; behind more than these nothing was said for long."""


@dataclass(slots=True)
class _Watch:
    """What is known of a session that the daemon looks after."""

    choice: dict[str, Any] | None = None  # what the session had chosen when it was looked at
    look: asyncio.Task[None] | None = None
    again: bool = False  # lines have come since the look began
    told: int = NONE  # the leaf for which subscribers know that the session is full
    failures: int = 0
    quiet_until: float = 0.0
    compacted: bool = False  # and not yet seen to have helped


class AutoCompaction:
    """Follows all sessions, and looks after those that want it."""

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
        """Look no more."""
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
        # What a provider has counted may have been edited or reset since.
        context = await live.context(leaf)
        counted = await live.drive(tokens.count(tree, leaf, context))
        if not is_full(counted.tokens, window):
            return
        summarizer = self._summarizers.first(live)
        if not await live.drive(_still_full(tree, watch.told, leaf)):
            note = t.CompactionNeededNote(
                session_id=live.session_id, leaf_id=tree.id(leaf) or "", tokens=counted.tokens,
                context_window=settings.context_window, reserve_tokens=settings.reserve_tokens,
                summarizer=summarizer,
            )  # fmt: skip
            live.subscribers.tell(m.COMPACTION_NEEDED, note)
        watch.told = leaf
        if watch.compacted:
            watch.compacted = False
            self._failed(watch)  # what is full by other things than messages stays full
        if summarizer is not None:
            self._compact(live, watch)

    def _compact(self, live: LiveSession, watch: _Watch) -> None:
        if self._closed or self._compactions.under_way(live) or time.monotonic() < watch.quiet_until:
            return
        request = Request(t.CompactParams(session_id=live.session_id), _DAEMON)
        self._compactions.compact(live, request, _ByItself(self, live, watch))

    def ended(self, live: LiveSession, watch: _Watch, outcome: t.Wire | Exception) -> None:
        """A compaction of ours is done."""
        match outcome:
            case t.CompactResult():
                watch.failures, watch.compacted = 0, True
            case LeafConflict():
                return  # the next answer shows whether it is full there
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
    """The daemon as the one that waits."""

    def __init__(self, auto: AutoCompaction, live: LiveSession, watch: _Watch) -> None:
        self._auto, self._live, self._watch = auto, live, watch

    def told(self, step: t.Progress) -> None:
        """Nobody looks on."""

    def done(self, outcome: t.Wire | Exception) -> None:
        self._auto.ended(self._live, self._watch, outcome)


class _Answer(msgspec.Struct):
    message: Raw


_answer = msgspec.json.Decoder(_Answer)


def _used(live: LiveSession, leaf: int) -> int | None:
    """The tokens that a provider counted for the last answer above a leaf; None before there is one."""
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
    """Whether a leaf only goes on from where subscribers were told that the session is full."""
    row = leaf
    for walked in range(len(tree)):
        if row in (told, NONE) or tree.kind(row) == _COMPACTION:
            break
        row = tree.parent(row)
        if walked % ROWS_A_STEP == 0:
            yield
    return row == told and told != NONE
