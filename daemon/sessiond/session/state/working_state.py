"""The working state of a session: what an agent needs to continue without its history (decision 0022).

The operations are those of NOVA's `SessionState`, with these details:

- A state holds at most ten decisions; an eleventh replaces the oldest. So the limit of `should_prune` for decisions
  matters only below ten.
- A state is pruned automatically once; then `pruned` stays set. Tokens only increase, so otherwise every later task
  would prune again and remove all artifacts. A client can prune again by a request.

Three things differ from NOVA. A fork has the whole state of its point, whereas NOVA resets turns, metrics and
`pruned`. There is no default model; the model is the one in force on the path. `current_plan` is called `plan`.
"""

from dataclasses import dataclass, field, replace
from typing import Final

KEPT_DECISIONS: Final = 10
"""Limit of the decisions in a state."""


@dataclass(frozen=True, slots=True)
class PruningLimits:
    """The limits above which a state is pruned."""

    max_decisions: int = KEPT_DECISIONS
    max_tokens: int = 150_000


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """A decision and its rationale; `timestamp` is ISO 8601."""

    decision: str
    rationale: str
    timestamp: str


@dataclass(slots=True)
class BranchState:
    """The working state at one point of a tree. `artifacts` maps names to paths; their content is not stored."""

    plan: str | None = None
    decisions: list[RecordedDecision] = field(default_factory=list)
    artifacts: dict[str, str] = field(default_factory=dict)
    tokens_used: int = 0
    turn_count: int = 0
    tags: tuple[str, ...] = ()
    decision_count: int = 0  # since the last pruning
    total_tokens: int = 0
    task_count: int = 0
    model: str | None = None
    agent_name: str | None = None
    pruned: bool = False
    last_pruned_at: str | None = None
    updated_at: str | None = None

    def copy(self) -> "BranchState":
        """Return an independent copy."""
        return replace(self, decisions=list(self.decisions), artifacts=dict(self.artifacts))

    def add_decision(self, decision: RecordedDecision) -> None:
        """Add a decision; with more than ten, remove the oldest."""
        self.decisions.append(decision)
        self.decision_count += 1
        del self.decisions[:-KEPT_DECISIONS]

    def add_artifact(self, name: str, path: str) -> None:
        """Set the path of an artifact."""
        self.artifacts[name] = path

    def update_tokens(self, tokens_added: int) -> None:
        """Add tokens; a negative number counts as 0."""
        self.tokens_used += max(0, tokens_added)
        self.total_tokens += max(0, tokens_added)

    def increment_turns(self, count: int = 1) -> None:
        """Add turns; a negative number counts as 0. One call adds one task, regardless of `count`."""
        self.turn_count += max(0, count)
        self.task_count += 1

    def should_prune(self, limits: PruningLimits) -> bool:
        """Return whether a limit is exceeded; False once the state was pruned."""
        if self.pruned:
            return False
        return len(self.decisions) > limits.max_decisions or self.tokens_used > limits.max_tokens

    def compress(self, limits: PruningLimits, at: str) -> None:
        """Prune the state: keep the newest decisions, and remove all artifacts if the token limit is exceeded.

        Args:
            limits: The limits.
            at: The time of the pruning as ISO 8601.

        """
        del self.decisions[: -limits.max_decisions]
        if self.tokens_used > limits.max_tokens:
            self.artifacts.clear()
        self.decision_count = 0
        self.pruned = True
        self.last_pruned_at = at


def context_lines(session_id: str, state: BranchState, model: str | None) -> list[str]:
    """Return the lines of a system prompt that NOVA's `run_task` builds from a state."""
    lines = [f"Session ID: {session_id}"]
    if model is not None:
        lines.append(f"Model: {model}")
    lines.append(f"Turns: {state.turn_count}")
    if state.plan:
        lines.append(f"Plan: {state.plan}")
    if state.decisions:
        lines.append(f"Recent decision: {state.decisions[-1].decision}")
    return lines
