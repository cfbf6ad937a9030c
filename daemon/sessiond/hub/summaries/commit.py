"""Appends a finished compaction at the current leaf of the session.

The leaf may have moved while the summary was written. The compaction is appended if the current leaf descends from
the row that it was prepared for and the path between them has no other compaction. While a tool call has no result,
the compaction waits.
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
"""The time that a finished summary waits for the results of tool calls, in seconds."""
ATTEMPTS: Final = 100
"""Limit of appends that fail because the leaf has moved since it was read."""

_COMPACTION: Final = KIND["compaction"]


class CompactionCommits:
    """Appends compactions, and retries those that wait for a tool result when their session grows."""

    def __init__(self) -> None:
        self._moved: dict[LiveSession, asyncio.Event] = {}

    def grew(self, live: LiveSession) -> None:
        """Retry the waiting compaction of a session, which has new lines."""
        if self._moved and (moved := self._moved.get(live)) is not None:
            moved.set()

    async def commit(
        self, job: Job, live: LiveSession, prepared_row: int, draft: bytes, origin: t.Origin, result: Result
    ) -> None:
        """Append a compaction, and pass the result to the waiters of the job. One at a time for each session.

        Args:
            job: The job that appends.
            live: The session.
            prepared_row: The row that the compaction was prepared for.
            draft: The compaction.
            origin: The origin of the entry.
            result: Makes the result from the outcome of the append.

        Raises:
            LeafConflict: The leaf does not descend from `prepared_row`.
            NothingToCompact: The session was compacted in the meantime.
            WouldBreakTree: A tool call had no result for `SAFE_MOMENT_SECONDS`.
        """
        deadline = asyncio.get_running_loop().time() + SAFE_MOMENT_SECONDS
        moved = self._moved[live] = asyncio.Event()
        try:
            while (refusal := await commit_now(job, live, prepared_row, draft, origin, result)) is not None:
                job.report_progress(t.Progress(kind="report", message="The summary waits for a tool result"))
                try:
                    async with asyncio.timeout_at(deadline):
                        await moved.wait()
                except TimeoutError:
                    raise refusal from None
                moved.clear()
        finally:
            if self._moved.get(live) is moved:
                del self._moved[live]


async def commit_now(
    job: Job, live: LiveSession, prepared_row: int, draft: bytes, origin: t.Origin, result: Result
) -> WouldBreakTree | None:
    """Append a compaction at the current leaf, without waiting for tool results.

    Args: see `CompactionCommits.commit`.

    Returns:
        None after the append. If the compaction would separate a tool call from its result: the refusal, which is not
        passed to the waiters of the job.

    Raises:
        LeafConflict: The leaf does not descend from `prepared_row`.
        NothingToCompact: The session was compacted in the meantime.
    """
    refusal: LeafConflict | WouldBreakTree | None = None
    for _ in range(ATTEMPTS):
        leaf_id = live.tree.pending_leaf_id
        try:
            await live.drive(_check(live.tree, prepared_row, leaf_id))
        except (LeafConflict, NothingToCompact) as refused:
            if isinstance(refused, LeafConflict):
                refused.log_id = live.log.log_id
            await until_stored(live, origin)  # the error names only entries that are committed
            raise
        refusal = await job.append(live, draft, Placement(expected_leaf_id=leaf_id), origin, result)
        if not isinstance(refusal, LeafConflict):
            return refusal
    raise refusal or AssertionError("it was tried at least once")


def _check(tree: Tree, prepared_row: int, leaf_id: str | None) -> Steps[None]:
    """Raise unless a leaf descends from the prepared row without a compaction in between.

    Raises `LeafConflict` or `NothingToCompact`.
    """
    row = tree.any_row(leaf_id or "")
    compacted = False
    for visited in range(len(tree)):
        if row is None or row in (NONE, prepared_row):
            break
        compacted = compacted or tree.kind(row) == _COMPACTION
        row = tree.parent(row)
        if visited % ROWS_A_STEP == 0:
            yield
    if row != prepared_row:
        last = len(tree) - 1
        raise LeafConflict(tree.id(prepared_row), leaf_id, seq=last, missing=last - prepared_row)
    if compacted:
        raise NothingToCompact("it was compacted while the summary was written")
