"""Moves the leaf after a summary of the abandoned branch was written.

Appends are accepted while the summary is being written. If one of them moves the leaf, the request fails with
`LeafConflict`, because the summary would not cover the whole branch.
"""

from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET

from sessiond import config
from sessiond.hub.errors import LeafConflict
from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.entry_placement import Placement
from sessiond.hub.session.live import LiveSession
from sessiond.hub.summaries import limits
from sessiond.hub.summaries.jobs import Job, Jobs, StopWaiting, Waiter, until_stored
from sessiond.hub.summaries.repeats import Repeats
from sessiond.hub.summaries.requesting import AttributedSummary, Summarizers
from sessiond.hub.summaries.summarizer import Assignment
from sessiond.protocol import types as t
from sessiond.session.compaction.branching import BranchPreparation, prepare_branch
from sessiond.session.tree.command_ids import CommandRecord, Recorded
from sessiond.session.tree.tree import NONE


class Branches:
    """Runs the `session/branch` requests that need a summary."""

    def __init__(self, configured: config.CompactionConfig, summarizers: Summarizers, jobs: Jobs) -> None:
        self.configured = configured
        self._summarizers = summarizers
        self._jobs = jobs
        self._repeats = Repeats(jobs)

    def branch(
        self, live: LiveSession, params: t.BranchParams, command: CommandRecord | None, origin: t.Origin,
        requester_id: str, waiter: Waiter,
    ) -> StopWaiting:  # fmt: skip
        """Start a job, or join the job of an earlier request with the same command.

        Args:
            live: The session.
            params: The request.
            command: The command of the request, if it has a `commandId`.
            origin: The origin of the new entry.
            requester_id: The id of the client that made the request. It receives the summary request first.
            waiter: Receives progress and the outcome.

        Returns:
            A function that stops waiting.

        Raises:
            EntryNotFound: The target or the expected leaf does not exist.
            LeafConflict: The leaf is not the expected one.
            CommandReused: The `commandId` belongs to another request.
        """
        stop_waiting = self._repeats.join(live, command, waiter, partial(_recorded, params.entry_id))
        if stop_waiting is not None:
            return stop_waiting
        tree, target = live.tree, row_of(live, params.entry_id)
        expected = params.expected_leaf_id
        if expected is not UNSET and expected != tree.leaf_id:
            missing = tree.seq - max(row_of(live, expected), 0)
            raise LeafConflict(expected, tree.leaf_id, log_id=live.log.log_id, seq=tree.seq, missing=missing)
        job = self._jobs.begin(
            live, lambda new: self._summarize_and_append(new, live, params, target, origin, requester_id)
        )
        return self._repeats.record_command(live, command, job).join(waiter)

    async def _summarize_and_append(
        self,
        job: Job,
        live: LiveSession,
        params: t.BranchParams,
        target: int,
        origin: t.Origin,
        requester_id: str,
    ) -> None:
        await until_stored(live, origin)
        tree, leaf = live.tree, live.tree.leaf
        leaf_id = tree.leaf_id
        settings = limits.in_force(self.configured, tree)
        max_tokens = settings.context_window - settings.reserve_tokens
        prepared = await live.drive(
            prepare_branch(tree, leaf, target, live.read_rows, max_tokens, params.instructions)
        )
        summary: AttributedSummary | None = None
        if prepared.prompt is not None:
            assignment = Assignment(
                session_id=live.session_id, purpose="branch", prompt=prepared.prompt,
                entry_ids=prepared.entry_ids_to_summarize, models=(await live.context(leaf)).models,
                instructions=params.instructions,
            )  # fmt: skip
            summary = await self._summarizers.write(assignment, live, requester_id, job.report_progress)
        draft = _draft(params, prepared, summary)
        job.answer = {} if summary is None else {"summarizedBy": summary.by}

        def result(outcome: Outcome) -> t.BranchResult:
            if summary is None:
                return moved(outcome, params.entry_id, None, None)
            return moved(outcome, params.entry_id, summary.result.summary, summary.by)

        placement = Placement(params.entry_id, leaf_id)
        refusal = await job.append(live, draft, placement, origin, result)
        if refusal is not None:
            raise refusal


def row_of(live: LiveSession, entry_id: str | None) -> int:
    """Return the row of an entry, or `NONE` if the id is None. Raises `EntryNotFound`."""
    return NONE if entry_id is None else live.row(entry_id)


def moved(
    outcome: Outcome, target_id: str | None, summary: str | None, by: t.SummarizedBy | None
) -> t.BranchResult:
    """Return the result of a move to `target_id`. If there is a summary, the leaf is the summary's entry."""
    record_id = outcome.prepared.ids[0]
    return t.BranchResult(
        record_id=record_id, leaf_id=target_id if summary is None else record_id,
        log_id=outcome.log_id, seq=outcome.seqs[0],
        previous_leaf_id=outcome.prepared.former_leaf, summary=summary, summarized_by=by,
        duplicate=outcome.prepared.duplicate,
    )  # fmt: skip


def _recorded(
    target_id: str | None, line: dict[str, Any], log_id: str, row: int, known: Recorded
) -> t.BranchResult:
    """Return the result for a repeated request, made from the line that the first one stored."""
    answer = known.mark.answer
    record_id = known.ids[0]
    return t.BranchResult(
        record_id=record_id, leaf_id=record_id if line.get("type") == "branch_summary" else target_id,
        log_id=log_id, seq=row,
        previous_leaf_id=answer.get("previousLeafId"), summary=line.get("summary"),
        summarized_by=answer.get("summarizedBy"), duplicate=True,
    )  # fmt: skip


def leaf_move(target_id: str | None) -> dict[str, object]:
    """Return the draft of a move without a summary."""
    return {"type": "leaf", "targetId": target_id}


def branch_summary(target_id: str | None, summary: str) -> dict[str, object]:
    """Return the draft of a move with a summary of the abandoned branch."""
    return {"type": "branch_summary", "fromId": target_id or "root", "summary": summary}


def _draft(params: t.BranchParams, prepared: BranchPreparation, summary: AttributedSummary | None) -> bytes:
    if summary is None:
        return msgspec.json.encode(leaf_move(params.entry_id))
    draft = branch_summary(params.entry_id, summary.result.summary)
    files = prepared.file_operations
    details = summary.result.details if params.details is UNSET else params.details
    if details is not UNSET:
        draft["details"] = details
    elif files.read or files.modified:
        draft["details"] = {"readFiles": files.read, "modifiedFiles": files.modified}
    if params.from_extension is not None:
        draft["fromExtension"] = params.from_extension
    return msgspec.json.encode(draft)
