"""Handlers of the working state: read it, update it, begin a task.

An update without tags is passed to `live.append` before the handler first awaits, so its place among other appends is
that of its request. The result is the state at the line of the update; later lines do not affect it.
"""

import asyncio
from collections.abc import Awaitable, Coroutine, Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from sessiond import config
from sessiond.hub import working_state
from sessiond.hub.errors import IncompatibleParams
from sessiond.hub.session.batches import Outcome
from sessiond.hub.session.entry_placement import at_the_leaf
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import methods as m, types as t
from sessiond.server.connection.client import Client
from sessiond.server.connection.tickets import Effect
from sessiond.session.state.updates import Decided, RecordedArtifact, RecordedLimits, Update
from sessiond.session.state.working_state import PruningLimits, context_lines
from sessiond.session.tree import entries, marks
from sessiond.session.tree.command_ids import CommandRecord


def state(
    client: Client, live: LiveSession, params: t.StateGetParams
) -> Coroutine[Any, Any, t.StateGetResult]:
    """Return the working state at a leaf, from `live.derived.state_at`. Raises `EntryNotFound`."""
    row = live.row_at(params.leaf_id)
    leaf_id = live.tree.leaf_id if params.leaf_id is UNSET else params.leaf_id
    return _state(client, live, row, leaf_id)


async def _state(client: Client, live: LiveSession, row: int, leaf_id: str | None) -> t.StateGetResult:
    point = await live.derived.state_at(row)
    return t.StateGetResult(
        state=await working_state.working_state(client.hub, live, point),
        leaf_id=leaf_id,
        should_prune=point.state.should_prune(_limits(client.server.config.state, None)),
    )


def effect(params: t.StateUpdateParams) -> Effect:
    """Return the effect of an update. An update with tags may wait for other changes of tags before it is queued."""
    return "append" if params.tags is None else "change"


def update(
    client: Client, live: LiveSession, params: t.StateUpdateParams
) -> Coroutine[Any, Any, t.StateUpdateResult]:
    """Append the change with `live.append` and return the state at its line. Tags are a separate entry.

    Raises `IncompatibleParams` if the request changes nothing.
    """
    limits = _limits(client.server.config.state, params.limits)
    change = Update(
        decision=_decided(params.decision),
        artifact=None if (made := params.artifact) is None else RecordedArtifact(name=made.name, path=made.path),
        tokens=params.tokens, turns=params.turns, plan=params.plan, model=params.model,
        agent_name=params.agent_name, compress=_prune_limits(limits) if params.compress else None,
    )  # fmt: skip
    command = client.hub.commands.of(m.STATE_UPDATE, params, live.session_id)
    if params.tags is not None:
        tagged = _tagged(client, live, params.tags, change, params.id, command)
        return _updated(client, live, tagged, limits)
    if change == Update():
        raise IncompatibleParams("at least one change is required")
    return _updated(client, live, _recorded(client, live, [_draft(change, params.id)], command), limits)


def begin_task(
    client: Client, live: LiveSession, params: t.StateBeginTaskParams
) -> Coroutine[Any, Any, t.StateBeginTaskResult]:
    """Append an entry that counts a turn and records the decision, if any; return the context and the state."""
    limits = _limits(client.server.config.state, params.limits)
    change = Update(decision=_decided(params.decision), turns=1, prune_above=_prune_limits(limits))
    command = client.hub.commands.of(m.STATE_BEGIN_TASK, params, live.session_id)
    return _begun(client, live, _recorded(client, live, [_draft(change, params.id)], command))


async def _updated(
    client: Client, live: LiveSession, recorded: Awaitable[Outcome], limits: PruningLimits
) -> t.StateUpdateResult:
    outcome = await recorded
    record_id, row = _last(outcome)
    point = await live.derived.state_at(row)
    return t.StateUpdateResult(
        state=await working_state.working_state(client.hub, live, point), record_id=record_id,
        log_id=outcome.log_id, seq=row, should_prune=point.state.should_prune(limits),
        duplicate=outcome.prepared.duplicate,
    )  # fmt: skip


async def _begun(client: Client, live: LiveSession, recorded: Awaitable[Outcome]) -> t.StateBeginTaskResult:
    outcome = await recorded
    record_id, row = _last(outcome)
    before = await live.derived.state_at(live.tree.parent(row))
    point = await live.derived.state_at(row)
    return t.StateBeginTaskResult(
        session_id=live.session_id,
        context="\n".join(context_lines(live.session_id, point.state, point.model)),
        state=await working_state.working_state(client.hub, live, point), model=point.model, record_id=record_id,
        log_id=outcome.log_id, seq=row, pruned=point.state.pruned and not before.state.pruned,
        duplicate=outcome.prepared.duplicate,
    )  # fmt: skip


async def _tagged(
    client: Client, live: LiveSession, tags: Sequence[str], change: Update, entry_id: str | None,
    command: CommandRecord | None,
) -> Outcome:  # fmt: skip
    """Record tags and the other changes in one batch. Holds the lock that `session/tag` also uses."""
    alone = change == Update()
    tags_id = entry_id if alone or entry_id is None else f"{entry_id}-tags"
    drafts = [_custom(entries.TAGS_TYPE, {"tags": marks.normalized_tags(tags)}, tags_id)]
    if not alone:
        drafts.append(_draft(change, entry_id))
    async with live.settings_lock:
        return await _recorded(client, live, drafts, command)


def _recorded(
    client: Client, live: LiveSession, drafts: Sequence[bytes], command: CommandRecord | None
) -> asyncio.Future[Outcome]:
    """Append entries at the leaf with the durability `synced`."""
    client.hub.sessions.refuse_when_draining()
    outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    def done(answer: Outcome | Exception) -> None:
        if outcome.done():
            return  # the waiting task was canceled
        if isinstance(answer, Exception):
            outcome.set_exception(answer)
        else:
            outcome.set_result(answer)

    live.append(
        drafts, at_the_leaf(command), "synced", client.origin(None if command is None else command.id), done
    )
    return outcome


def _last(outcome: Outcome) -> tuple[str, int]:
    """Return the id and the row of the last line of a batch. The seq of a line is its row."""
    return outcome.prepared.ids[-1], outcome.seqs[-1]


def _draft(change: Update, entry_id: str | None) -> bytes:
    return _custom(entries.STATE_TYPE, change, entry_id)


def _custom(custom_type: str, data: object, entry_id: str | None) -> bytes:
    draft = {"type": "custom", "customType": custom_type, "data": data}
    return msgspec.json.encode(draft if entry_id is None else {**draft, "id": entry_id})


def _decided(decision: t.NewDecision | None) -> Decided | None:
    if decision is None:
        return None
    return Decided(decision=decision.decision, rationale=decision.rationale, timestamp=decision.timestamp)


def _limits(configured: config.StateConfig, requested: t.PruneLimits | None) -> PruningLimits:
    requested = requested or t.PruneLimits()
    return PruningLimits(
        configured.max_decisions if requested.max_decisions is None else requested.max_decisions,
        configured.max_tokens if requested.max_tokens is None else requested.max_tokens,
    )


def _prune_limits(limits: PruningLimits) -> RecordedLimits:
    return RecordedLimits(max_decisions=limits.max_decisions, max_tokens=limits.max_tokens)
