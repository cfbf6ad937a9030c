"""The working state of a session: what an agent needs to continue without its history (decision 0022).

The operations are those of NOVA's `SessionState`, with these details:

- A state holds at most ten decisions; an eleventh replaces the oldest. So the limit of `should_prune` for decisions
  matters only below ten.
- A state prunes by itself once: `pruned` stays set. Tokens only grow, so every further task would prune again and
  leave no artifact. A client can prune again by a request.

Three things differ from NOVA. A fork has the whole state of its point, where NOVA resets turns, metrics and `pruned`.
There is no default model; the model is the one in force on the path. `current_plan` is called `plan`.
"""

from dataclasses import dataclass, field, replace
from typing import Final

KEPT_DECISIONS: Final = 10


@dataclass(frozen=True, slots=True)
class PruningLimits:
    """Above which a state is pruned."""

    max_decisions: int = KEPT_DECISIONS
    max_tokens: int = 150_000


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """What was decided and why; `timestamp` as ISO 8601."""

    decision: str
    rationale: str
    timestamp: str


@dataclass(slots=True)
class BranchState:
    """The essentials at one point of a tree. `artifacts` is name -> path; never what lies there."""

    plan: str | None = None
    decisions: list[RecordedDecision] = field(default_factory=list)
    artifacts: dict[str, str] = field(default_factory=dict)
    tokens_used: int = 0
    turn_count: int = 0
    tags: tuple[str, ...] = ()
    decision_count: int = 0  # since it was pruned
    total_tokens: int = 0
    task_count: int = 0
    model: str | None = None
    agent_name: str | None = None
    pruned: bool = False
    last_pruned_at: str | None = None
    updated_at: str | None = None

    def copy(self) -> "BranchState":
        """A state of its own that begins as this one is."""
        return replace(self, decisions=list(self.decisions), artifacts=dict(self.artifacts))

    def add_decision(self, decision: RecordedDecision) -> None:
        """Remember a decision, and forget the oldest of more than ten."""
        self.decisions.append(decision)
        self.decision_count += 1
        del self.decisions[:-KEPT_DECISIONS]

    def add_artifact(self, name: str, path: str) -> None:
        """Remember where something lies."""
        self.artifacts[name] = path

    def update_tokens(self, tokens_added: int) -> None:
        """Count tokens; less than none are none."""
        self.tokens_used += max(0, tokens_added)
        self.total_tokens += max(0, tokens_added)

    def increment_turns(self, count: int = 1) -> None:
        """Count turns; less than none are none. However many, they are one task."""
        self.turn_count += max(0, count)
        self.task_count += 1

    def should_prune(self, limits: PruningLimits) -> bool:
        """Whether a limit is passed; never once it was pruned."""
        if self.pruned:
            return False
        return len(self.decisions) > limits.max_decisions or self.tokens_used > limits.max_tokens

    def compress(self, limits: PruningLimits, at: str) -> None:
        """Prune: keep the newest decisions, and above the limit of tokens no artifact."""
        del self.decisions[: -limits.max_decisions]
        if self.tokens_used > limits.max_tokens:
            self.artifacts.clear()
        self.decision_count = 0
        self.pruned = True
        self.last_pruned_at = at


def context_lines(session_id: str, state: BranchState, model: str | None) -> list[str]:
    """The few lines of a system prompt that NOVA's `run_task` makes of a state."""
    lines = [f"Session ID: {session_id}"]
    if model is not None:
        lines.append(f"Model: {model}")
    lines.append(f"Turns: {state.turn_count}")
    if state.plan:
        lines.append(f"Plan: {state.plan}")
    if state.decisions:
        lines.append(f"Recent decision: {state.decisions[-1].decision}")
    return lines
