"""Compacts sessions: finds the cut, requests the summary, and appends the compaction.

At most one summary is requested for a session at a time; a second request joins the first. Appends are accepted
while the summary is being written: `commit` finds the leaf to append at.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond import config
from sessiond.hub.errors import IncompatibleParams, LeafConflict, NothingToCompact, Overloaded, WouldBreakTree
from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.entry_placement import Placement
from sessiond.hub.session.live import LiveSession
from sessiond.hub.summaries import limits
from sessiond.hub.summaries.commit import CompactionCommits, commit_now
from sessiond.hub.summaries.jobs import Job, Jobs, Result, StopWaiting, Waiter, until_stored
from sessiond.hub.summaries.repeats import Repeats
from sessiond.hub.summaries.requesting import Summarizers
from sessiond.hub.summaries.summarizer import Assignment
from sessiond.protocol import types as t
from sessiond.session.compaction import preparation, safety
from sessiond.session.compaction.preparation import CompactionLimits, Preparation
from sessiond.session.context import system_message, tokens
from sessiond.session.context.context import Context
from sessiond.session.tree.command_ids import CommandRecord, Recorded
from sessiond.session.tree.steps import ROWS_A_STEP, Steps
from sessiond.session.tree.tree import KIND, NONE, Tree
from sessiond.store.base import Store

_COMPACTION: Final = KIND["compaction"]
_MESSAGES_A_STEP: Final = 256
_WORK: Final = "compaction"
"""The name of the work that a daemon reserves."""


@dataclass(frozen=True, slots=True)
class Request:
    """A compaction request. `requester_id` is the id of the client; None for an automatic compaction."""

    params: t.CompactParams
    origin: t.Origin
    requester_id: str | None = None
    command: CommandRecord | None = None


class Compactions:
    """All compactions of this process. `files` reports them to the other daemons on the same store."""

    def __init__(
        self, files: Store, configured: config.CompactionConfig, summarizers: Summarizers, jobs: Jobs
    ) -> None:
        self._files = files
        self.configured = configured
        self._summarizers = summarizers
        self._jobs = jobs
        self._commits = CompactionCommits()
        self._repeats = Repeats(jobs)
        self._jobs_by_session: dict[LiveSession, Job] = {}

    def prepare(
        self, live: LiveSession, params: t.PrepareCompactionParams
    ) -> tuple[Steps[Preparation], t.CompactionSettings]:
        """Return the steps that prepare a compaction without making it, and the settings that they use.

        Raises `EntryNotFound` and `IncompatibleParams`.
        """
        settings = limits.in_force(self.configured, live.tree, params.settings)
        row = live.row_at(params.leaf_id)
        return _preparation_steps(live, row, settings, params.instructions), settings

    def compact(self, live: LiveSession, request: Request, waiter: Waiter) -> StopWaiting:
        """Start a compaction, or join the one in progress.

        Returns:
            A function that stops waiting.

        Raises:
            IncompatibleParams: The params contradict each other, or the settings leave nothing to compact.
            LeafConflict: The leaf is not the expected one.
            EntryNotFound: The expected leaf does not exist.
            CommandReused: The `commandId` belongs to another request.
        """
        command = request.command
        stop_waiting = self._repeats.join(live, command, waiter, _recorded)
        if stop_waiting is not None:
            return stop_waiting
        settings = limits.in_force(self.configured, live.tree, request.params.settings)
        _require_leaf(live, request.params.expected_leaf_id)
        if request.params.summary is not None:
            job = self._jobs.begin(live, lambda new: _append_given(new, live, request, settings))
            return self._repeats.record_command(live, command, job).join(waiter)
        if request.params.first_kept_entry_id is not None:
            raise IncompatibleParams(
                "firstKeptEntryId requires summary; without a summary the daemon chooses the cut"
            )
        known = self._jobs_by_session.get(live)
        # A line that is being written cannot record a further command.
        if known is not None and known.open and not (command is not None and known.writing):
            return self._repeats.record_command(live, command, known).join(waiter)
        job = self._jobs.begin(live, lambda new: self._summarize_and_append(new, live, request, settings))
        self._jobs_by_session[live] = job
        job.when_ended(partial(self._forget, live, job))
        return self._repeats.record_command(live, command, job).join(waiter)

    def _forget(self, live: LiveSession, job: Job) -> None:
        if self._jobs_by_session.get(live) is job:
            del self._jobs_by_session[live]

    def in_progress(self, live: LiveSession) -> bool:
        """Return whether a compaction with a requested summary is in progress for a session."""
        return live in self._jobs_by_session

    def grew(self, live: LiveSession) -> None:
        """Retry a compaction that waits for a tool result: the session has new lines."""
        self._commits.grew(live)

    async def _summarize_and_append(
        self, job: Job, live: LiveSession, request: Request, settings: t.CompactionSettings
    ) -> None:
        """Request the summary, then append the compaction. Of all daemons on a store, only one does so at a time.

        Raises `Overloaded` if another daemon compacts the session.
        """
        ref = live.log.ref
        if not live.ephemeral and not await self._files.claim(ref, _WORK):
            raise Overloaded("another daemon compacts this session")
        try:
            await self._summarize(job, live, request, settings)
        finally:
            if not live.ephemeral:
                await self._files.end_claim(ref, _WORK)

    async def _summarize(
        self, job: Job, live: LiveSession, request: Request, settings: t.CompactionSettings
    ) -> None:
        await until_stored(live, request.origin)
        # If a tool call has no result yet, the compaction is prepared for the row before the call.
        row = safety.last_settled(live.tree, live.tree.leaf, live.read)
        prepared = await _prepare(live, row, settings, request.params.instructions)
        _require_something_to_compact(prepared)
        assignment = Assignment(
            session_id=live.session_id, purpose="compaction", prompt=prepared.prompt or "",
            entry_ids=prepared.entry_ids_to_summarize, models=(await live.context(row)).models,
            instructions=request.params.instructions,
        )  # fmt: skip
        summary = await self._summarizers.write(assignment, live, request.requester_id, job.report_progress)
        draft, result = _compaction(job, request.params, summary.result, summary.by, prepared)
        await self._commits.commit(job, live, row, draft, request.origin, result)


async def _append_given(
    job: Job, live: LiveSession, request: Request, settings: t.CompactionSettings
) -> None:
    """Append a compaction whose summary is in the request."""
    await until_stored(live, request.origin)
    params, row = request.params, live.tree.leaf
    summary_result = t.SummarizeResult(
        summary=params.summary or "", short_summary=params.short_summary, preserve_data=params.preserve_data
    )
    if params.first_kept_entry_id is None:
        prepared = await _prepare(live, row, settings, None)
        if prepared.reason == "nothingToSummarize":
            prepared = await _prepare_short(live, row, settings)
        _require_something_to_compact(prepared)
    else:
        prepared = await _prepare_at_cut(live, row, params.first_kept_entry_id)
    draft, result = _compaction(job, params, summary_result, "given", prepared)
    if params.first_kept_entry_id is None and params.expected_leaf_id is UNSET:
        refusal: Exception | None = await commit_now(job, live, row, draft, request.origin, result)
    else:
        placement = Placement(expected_leaf_id=params.expected_leaf_id)
        refusal = await job.append(live, draft, placement, request.origin, result)
    if refusal is not None:
        raise refusal


async def _prepare(
    live: LiveSession, row: int, settings: t.CompactionSettings, instructions: str | None
) -> Preparation:
    return await live.drive(_preparation_steps(live, row, settings, instructions))


async def _prepare_short(live: LiveSession, row: int, settings: t.CompactionSettings) -> Preparation:
    """Prepare a compaction of a session that is shorter than the kept part: it keeps the last turn, or only its end."""
    prepared = await _prepare(live, row, msgspec.structs.replace(settings, keep_recent_tokens=1), None)
    turn = prepared.turn_prefix_ids
    if turn and len(turn) < len(prepared.entry_ids_to_summarize):
        return await _prepare_at_cut(live, row, turn[0])
    return prepared


def _preparation_steps(
    live: LiveSession, row: int, settings: t.CompactionSettings, instructions: str | None
) -> Steps[Preparation]:
    chosen = CompactionLimits(settings.context_window, settings.reserve_tokens, settings.keep_recent_tokens)
    return preparation.prepare(live.tree, row, live.read_rows, chosen, instructions)


async def _prepare_at_cut(live: LiveSession, row: int, first_kept: str) -> Preparation:
    """Prepare a compaction at the client's cut. The append checks later whether the cut is valid."""
    context = await live.context(row)
    counted = await live.drive(tokens.count(live.tree, row, context))
    in_force, kept = await live.drive(_measure_kept(live.tree, row, live.row(first_kept), context))
    return Preparation(
        context.leaf_id, False, counted.tokens, kept, first_kept_entry_id=first_kept, system_message=in_force
    )


def _measure_kept(tree: Tree, leaf: int, kept: int, context: Context) -> Steps[tuple[Raw | None, int]]:
    """Return the system message in force, and the estimated tokens of it and of the messages from `kept` to `leaf`.

    The system message is returned because the entries after a cut do not include it.
    """
    ids: set[str | None] = set()
    row = leaf
    for visited in range(len(tree)):
        if row == NONE:
            break
        if tree.kind(row) != _COMPACTION:  # the new summary replaces the summary of an older compaction
            ids.add(tree.id(row))
        if row == kept:
            break
        row = tree.parent(row)
        if visited % ROWS_A_STEP == 0:
            yield
    total, changes = 0, list[Raw]()
    for at, (message, entry_id) in enumerate(zip(context.messages, context.entry_ids, strict=True)):
        if tokens.role(message) == "system":
            changes.append(message)
        elif entry_id in ids:
            total += tokens.estimate(message)
        if at % _MESSAGES_A_STEP == 0:
            yield
    in_force = system_message.in_force(changes)
    return in_force, total + (0 if in_force is None else tokens.estimate(in_force))


def _compaction(
    job: Job,
    params: t.CompactParams,
    summary_result: t.SummarizeResult,
    by: t.SummarizedBy,
    prepared: Preparation,
) -> tuple[bytes, Result]:
    """Return the draft of a compaction, and the function that makes the result once it is stored.

    Values of the request take precedence over those of the summarizer.
    """
    tokens_before = prepared.tokens_before if params.tokens_before is None else params.tokens_before
    fields: dict[str, object] = {
        "type": "compaction", "summary": summary_result.summary, "firstKeptEntryId": prepared.first_kept_entry_id,
        "tokensBefore": tokens_before, "shortSummary": params.short_summary or summary_result.short_summary,
        "fromExtension": params.from_extension, "systemMessage": prepared.system_message,
    }  # fmt: skip
    details = summary_result.details if params.details is UNSET else params.details
    files = prepared.file_operations
    if details is UNSET and (files.read or files.modified):
        fields["details"] = {"readFiles": files.read, "modifiedFiles": files.modified}
    fields = {name: value for name, value in fields.items() if value is not None}
    if details is not UNSET:
        fields["details"] = details
    preserved = summary_result.preserve_data if params.preserve_data is UNSET else params.preserve_data
    if preserved is not UNSET:
        fields["preserveData"] = preserved
    summary_tokens = tokens.estimate(
        msgspec.json.encode({"role": "compactionSummary", "summary": summary_result.summary})
    )

    tokens_after = prepared.tokens_after + summary_tokens
    job.answer = {"summarizedBy": by, "tokensAfter": tokens_after}

    def result(outcome: Outcome) -> t.CompactResult:
        return t.CompactResult(
            record_id=outcome.prepared.ids[0], log_id=outcome.log_id, seq=outcome.seqs[0],
            leaf_id=outcome.leaf_id, previous_leaf_id=outcome.prepared.former_leaf, summary=summary_result.summary,
            summarized_by=by, first_kept_entry_id=prepared.first_kept_entry_id or "", tokens_before=tokens_before,
            tokens_after=tokens_after,
        )  # fmt: skip

    return msgspec.json.encode(fields), result


def _recorded(line: dict[str, Any], log_id: str, row: int, known: Recorded) -> t.CompactResult:
    """Return the result for a repeated request, made from the line that the first one stored."""
    answer = known.mark.answer
    return t.CompactResult(
        record_id=known.ids[0], log_id=log_id, seq=row, leaf_id=known.ids[0],
        previous_leaf_id=answer.get("previousLeafId"),
        summary=line.get("summary", ""), summarized_by=answer.get("summarizedBy", "given"),
        first_kept_entry_id=line.get("firstKeptEntryId", ""), tokens_before=line.get("tokensBefore", 0),
        tokens_after=answer.get("tokensAfter", 0), duplicate=True,
    )  # fmt: skip


def _require_leaf(live: LiveSession, expected: str | UnsetType | None) -> None:
    leaf, last = live.tree.leaf_id, live.tree.seq
    if expected is not UNSET and expected != leaf:
        row = 0 if expected is None else live.row(expected)
        raise LeafConflict(expected, leaf, log_id=live.log.log_id, seq=last, missing=last - row)


def _require_something_to_compact(prepared: Preparation) -> None:
    match prepared.reason:
        case "alreadyCompacted":
            raise NothingToCompact("no message was added since the last compaction")
        case "nothingToSummarize":
            raise NothingToCompact("no message precedes the kept part")
        case "callsUnanswered":
            raise WouldBreakTree(prepared.leaf_id, "noToolSplit", "a tool call has no result yet")
