"""Moving the leaf with a summary of what is left behind, which is asked for first. Until it is there, nothing moves.

Appends go on meanwhile. If one of them moves the leaf, the move is refused: the summary would not tell of all
that is left, and somebody is at work there.
"""

import msgspec
from msgspec import UNSET

from sessiond import config
from sessiond.hub import limits
from sessiond.hub.errors import LeafConflict
from sessiond.hub.jobs import Job, Jobs, Leave, Waiter, until_stored
from sessiond.hub.live import LiveSession, Outcome
from sessiond.hub.placing import Placement
from sessiond.hub.summarizer import Assignment
from sessiond.hub.summarizing import Summarizers, Summary
from sessiond.protocol import types as t
from sessiond.session.branching import BranchPreparation, prepare_branch
from sessiond.session.tree import NONE


class Branches:
    """All moves of a leaf that wait for a summary."""

    def __init__(self, configured: config.Compaction, summarizers: Summarizers, jobs: Jobs) -> None:
        self.configured = configured
        self._summarizers = summarizers
        self._jobs = jobs

    def branch(
        self, live: LiveSession, params: t.BranchParams, origin: t.Origin, asker: str, waiter: Waiter
    ) -> Leave:
        """Begin. Raises `EntryNotFound`, `LeafConflict`."""
        tree, target = live.tree, row_of(live, params.target_id)
        expected = params.expected_leaf
        if expected is not UNSET and expected != tree.pending_leaf_id:
            missing = tree.seq - max(row_of(live, expected), 0)
            raise LeafConflict(expected, tree.pending_leaf_id, seq=tree.seq, missing=missing)
        return self._jobs.begin(
            live, lambda job: self._with_asked(job, live, params, target, origin, asker)
        ).join(waiter)

    async def _with_asked(
        self, job: Job, live: LiveSession, params: t.BranchParams, target: int, origin: t.Origin, asker: str
    ) -> None:
        await until_stored(live, origin)
        tree, leaf = live.tree, live.tree.leaf
        leaf_id = tree.leaf_id
        settings = limits.in_force(self.configured, tree)
        room = settings.context_window - settings.reserve_tokens
        prepared = await live.drive(
            prepare_branch(tree, leaf, target, live.read_rows, room, params.instructions)
        )
        summary: Summary | None = None
        if prepared.prompt is not None:
            assignment = Assignment(
                session_id=live.session_id, purpose="branch", prompt=prepared.prompt,
                entry_ids=prepared.entries_to_summarize, models=(await live.context(leaf)).models,
                instructions=params.instructions,
            )  # fmt: skip
            summary = await self._summarizers.write(assignment, live, asker, job.tell)
        draft = _draft(params, prepared, summary)

        def result(outcome: Outcome) -> t.BranchResult:
            if summary is None:
                return moved(outcome, None, None)
            return moved(outcome, summary.said.summary, summary.by)

        placement = Placement(params.target_id, leaf_id)
        refusal = await job.append(live, draft, placement, origin, result)
        if refusal is not None:
            raise refusal


def row_of(live: LiveSession, entry_id: str | None) -> int:
    """The row of an entry, `NONE` for null. Raises `EntryNotFound`."""
    return NONE if entry_id is None else live.row(entry_id)


def moved(outcome: Outcome, summary: str | None, by: t.SummarizedBy | None) -> t.BranchResult:
    """What is told of a leaf that was moved."""
    return t.BranchResult(
        leaf_id=outcome.leaf_id, seq=outcome.seq,
        entry_id=None if summary is None else outcome.prepared.ids[0],
        previous_leaf_id=outcome.prepared.former_leaf, summary=summary, summarized_by=by,
    )  # fmt: skip


def leaf_move(target_id: str | None) -> dict[str, object]:
    """The draft of a move without words."""
    return {"type": "leaf", "targetId": target_id}


def branch_summary(target_id: str | None, summary: str) -> dict[str, object]:
    """The draft of a move that says what was left behind."""
    return {"type": "branch_summary", "fromId": target_id or "root", "summary": summary}


def _draft(params: t.BranchParams, prepared: BranchPreparation, summary: Summary | None) -> bytes:
    if summary is None:
        return msgspec.json.encode(leaf_move(params.target_id))
    draft = branch_summary(params.target_id, summary.said.summary)
    files = prepared.file_operations
    details = summary.said.details if params.details is UNSET else params.details
    if details is not UNSET:
        draft["details"] = details
    elif files.read or files.modified:
        draft["details"] = {"readFiles": files.read, "modifiedFiles": files.modified}
    if params.from_extension is not None:
        draft["fromExtension"] = params.from_extension
    return msgspec.json.encode(draft)
