"""Appending a compaction whose summary took its time: where the session stands by now, or not at all.

It goes to the present leaf, if that lies below the entry it was prepared for and nobody has compacted meanwhile;
while a tool is at work it waits until that has answered.
"""

import asyncio
from typing import Final

from sessiond.hub.errors import LeafConflict, NothingToCompact, WouldBreakTree
from sessiond.hub.session.entry_placement import Placement
from sessiond.hub.session.live import LiveSession
from sessiond.hub.summaries.jobs import Job, Result, until_stored
from sessiond.protocol import types as t
from sessiond.session.tree.steps import ROWS_A_STEP, Steps
from sessiond.session.tree.tree import KIND, NONE, Tree

SAFE_MOMENT_SECONDS: Final = 30 * 60.0
"""How long a summary that is there waits for the results of tools."""
ATTEMPTS: Final = 100
"""How often the leaf may move just when the compaction is to be written."""

_COMPACTION: Final = KIND["compaction"]


class Landings:
    """Those that wait for a safe moment, and who tells them that one may have come."""

    def __init__(self) -> None:
        self._moved: dict[LiveSession, asyncio.Event] = {}

    def grew(self, live: LiveSession) -> None:
        """Lines have come."""
        if self._moved and (moved := self._moved.get(live)) is not None:
            moved.set()

    async def land(
        self, job: Job, live: LiveSession, prepared_row: int, draft: bytes, origin: t.Origin, result: Result
    ) -> None:
        """Append it; whoever waits for the job is told. One at a time for each session.

        Raises `LeafConflict` when the leaf went elsewhere, `NothingToCompact` after another compaction,
        `WouldBreakTree` when no safe moment came.
        """
        deadline = asyncio.get_running_loop().time() + SAFE_MOMENT_SECONDS
        moved = self._moved[live] = asyncio.Event()
        try:
            while (refusal := await land_now(job, live, prepared_row, draft, origin, result)) is not None:
                job.tell(t.Progress(kind="report", message="The summary waits for the result of a tool"))
                try:
                    async with asyncio.timeout_at(deadline):
                        await moved.wait()
                except TimeoutError:
                    raise refusal from None
                moved.clear()
        finally:
            if self._moved.get(live) is moved:
                del self._moved[live]


async def land_now(
    job: Job, live: LiveSession, prepared_row: int, draft: bytes, origin: t.Origin, result: Result
) -> WouldBreakTree | None:
    """Append a compaction at the present leaf; whoever waits for the job is told, unless it would part a call.

    Raises `LeafConflict` when the leaf went elsewhere, `NothingToCompact` after another compaction.
    """
    refusal: LeafConflict | WouldBreakTree | None = None
    for _ in range(ATTEMPTS):
        leaf_id = live.tree.pending_leaf_id
        try:
            await live.drive(_check(live.tree, prepared_row, leaf_id))
        except (LeafConflict, NothingToCompact) as refused:
            if isinstance(refused, LeafConflict):
                refused.log_id = live.log.log_id
            await until_stored(live, origin)  # a refusal names only what can be read
            raise
        refusal = await job.append(live, draft, Placement(expected_leaf=leaf_id), origin, result)
        if not isinstance(refusal, LeafConflict):
            return refusal
    raise refusal or AssertionError("it was tried at least once")


def _check(tree: Tree, prepared_row: int, leaf_id: str | None) -> Steps[None]:
    """Refuse a leaf that is not below the prepared row, or is so behind another compaction."""
    row = tree.any_row(leaf_id or "")
    compacted = False
    for walked in range(len(tree)):
        if row is None or row in (NONE, prepared_row):
            break
        compacted = compacted or tree.kind(row) == _COMPACTION
        row = tree.parent(row)
        if walked % ROWS_A_STEP == 0:
            yield
    if row != prepared_row:
        last = len(tree) - 1
        raise LeafConflict(tree.id(prepared_row), leaf_id, seq=last, missing=last - prepared_row)
    if compacted:
        raise NothingToCompact("it was compacted while the summary was written")
