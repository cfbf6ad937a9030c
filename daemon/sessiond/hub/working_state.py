"""Builds the protocol's `WorkingState` from a session's state and header."""

from sessiond.hub.hub import Hub
from sessiond.hub.session.live import LiveSession
from sessiond.protocol import types as t
from sessiond.session.state.updates import Point


async def working_state(hub: Hub, live: LiveSession, point: Point) -> t.WorkingState:
    """Return the working state at a point of a session."""
    state, header = point.state, live.tree.header
    created_at, parent = (header.timestamp, header.parent_session) if header is not None else ("", None)
    parent_id, forks = await hub.lineage.of(live.session_id, parent)
    return t.WorkingState(
        session_id=live.session_id, plan=state.plan,
        key_decisions=[
            t.Decision(decision=decision.decision, rationale=decision.rationale, timestamp=decision.timestamp)
            for decision in state.decisions
        ],
        latest_artifacts=dict(state.artifacts), tokens_used=state.tokens_used, turn_count=state.turn_count,
        tags=list(state.tags),
        metrics=t.StateMetrics(
            decision_count=state.decision_count, total_tokens=state.total_tokens,
            task_count=state.task_count,
        ),
        model=point.model, agent_name=state.agent_name, parent_session_id=parent_id, fork_count=forks,
        pruned=state.pruned, last_pruned_at=state.last_pruned_at, created_at=created_at,
        updated_at=state.updated_at or created_at,
    )  # fmt: skip
