"""Handlers that move the leaf: prepare, and branch with a given summary, a requested summary or none."""

from collections.abc import Coroutine
from typing import Any

from msgspec import UNSET

from sessiond.hub.errors import IncompatibleParams
from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.entry_placement import Placement
from sessiond.hub.session.live import LiveSession
from sessiond.hub.summaries.branching import branch_summary, leaf_move, moved, row_of
from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.deferred import Pending
from sessiond.server.connection.summary_waiters import SummaryWaiter
from sessiond.server.connection.tickets import Effect
from sessiond.server.handlers.compacting import files, refuse_too_large
from sessiond.server.handlers.writing import write
from sessiond.session.compaction.branching import BranchPreparation, prepare_branch
from sessiond.session.tree.steps import Steps


def prepare(
    _client: Client, live: LiveSession, params: t.PrepareBranchParams
) -> Coroutine[Any, Any, t.PrepareBranchResult]:
    """Return the steps of `prepare_branch` for a move of the leaf to `entryId`. Raises `EntryNotFound`."""
    leaf = live.row_at(params.leaf_id)
    target = row_of(live, params.entry_id)
    preparing = prepare_branch(
        live.tree, leaf, target, live.read_rows, params.max_tokens, params.instructions
    )
    return _prepared(live, preparing)


async def _prepared(live: LiveSession, preparing: Steps[BranchPreparation]) -> t.PrepareBranchResult:
    prepared = await live.drive(preparing)
    refuse_too_large(prepared.prompt)
    return t.PrepareBranchResult(
        entry_id=prepared.target_id, previous_leaf_id=prepared.previous_leaf_id,
        common_ancestor_id=prepared.common_ancestor_id,
        entry_ids_to_summarize=list(prepared.entry_ids_to_summarize),
        file_operations=files(prepared.file_operations), tokens=prepared.tokens, prompt=prepared.prompt,
        resume_at_id=prepared.resume_at_id, editor_text=prepared.editor_text,
    )  # fmt: skip


def effect(params: t.BranchParams) -> Effect:
    """Return the effect of a branch. Without a summary to wait for, the move is an append."""
    return "job" if params.summarize else "append"


def branch(client: Client, live: LiveSession, params: t.BranchParams) -> Pending:
    """Move the leaf: append a leaf entry or the given summary, or request a summary with `hub.branches.branch`.

    Raises:
        IncompatibleParams: The request has both `summary` and `summarize`.
        Overloaded: Too many requests of the client wait for a summary.
    """
    client.hub.sessions.refuse_when_draining()
    if params.summarize and params.summary is not None:
        raise IncompatibleParams("`summary` and `summarize` cannot be combined")
    command = client.hub.commands.of(m.BRANCH, params, live.session_id)
    if params.summarize:
        client.requests.refuse_more_waiting()
        waiting = SummaryWaiter(client, params.work_done_token, "Summarizing the previous branch")
        return waiting.wait(
            lambda: client.hub.branches.branch(
                live, params, command, client.origin(params.command_id), client.client_id, waiting
            )
        )
    if params.summary is None:
        draft = leaf_move(params.entry_id)
    else:
        draft = branch_summary(params.entry_id, params.summary)
        if params.details is not UNSET:
            draft["details"] = params.details
        if params.from_extension is not None:
            draft["fromExtension"] = params.from_extension

    def result(outcome: Outcome) -> t.BranchResult:
        return moved(outcome, params.entry_id, params.summary, None if params.summary is None else "given")

    placement = Placement(params.entry_id, params.expected_leaf_id, command=command)
    return write(client, live, draft, result, placement)
