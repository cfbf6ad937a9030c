"""Working state: what an agent needs to continue a task without its history (decision 0022)."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from sessiond.protocol.types.shared import CommandId, EntryId, Params, SessionId, Tokens, Wire


class Decision(Wire, frozen=True):
    """One decision and its rationale."""

    decision: str
    rationale: str
    timestamp: str  # ISO 8601


class NewDecision(Params, frozen=True):
    """A decision to record. Without `timestamp`, the present time is used."""

    decision: Annotated[str, Meta(min_length=1)]
    rationale: str = ""
    timestamp: Annotated[str, Meta(min_length=1, max_length=64)] | None = None


class Artifact(Params, frozen=True):
    """The path of an artifact. The content is not stored."""

    name: Annotated[str, Meta(min_length=1, max_length=1_000)]
    path: Annotated[str, Meta(min_length=1, max_length=10_000)]


class StateMetrics(Wire, frozen=True):
    """Counters of the working state."""

    decision_count: int  # since the last pruning
    total_tokens: int
    task_count: int  # number of counted turns


class WorkingState(Wire, frozen=True):
    """The essentials of a session at one point of its tree: references, not content."""

    session_id: str
    plan: str | None
    key_decisions: list[Decision]  # the last ten
    latest_artifacts: dict[str, str]  # name -> path
    tokens_used: int
    turn_count: int
    tags: list[str]  # the tags on the path; `session/list` uses the last tags of all branches
    metrics: StateMetrics
    model: str | None  # the last model of an update, else the path's default model
    agent_name: str | None
    fork_parent_id: str | None
    fork_count: int  # sessions that name this one as their parent
    pruned: bool
    last_pruned_at: str | None
    created_at: str
    updated_at: str


class PruneLimits(Params, frozen=True):
    """Limits above which the state is pruned. Omitted limits are those of the configuration."""

    max_decisions: Annotated[int, Meta(ge=1, le=10)] | None = None
    max_tokens: Tokens | None = None


class StateGetParams(Params, frozen=True):
    """Return the working state at `leafId` (default: the session's leaf): all updates along the path, folded."""

    session_id: SessionId  # the full id of the session
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf


class StateGetResult(Wire, frozen=True):
    """The state, and whether NOVA's rule would prune it."""

    state: WorkingState
    leaf_id: str | None
    should_prune: bool


class StateUpdateParams(Params, frozen=True):
    """Record changes of the working state as one line of the log. Numbers are added; other values replace.

    `tags` replace those of the session, as with `session/tag`, in a line of their own before it. With an `id`, which
    becomes the id of the line, a client may resend the request at any time; it takes effect once.
    """

    session_id: SessionId  # the full id of the session
    id: EntryId | None = None  # the id of the new entry; the request takes effect once
    decision: NewDecision | None = None  # a decision to record
    artifact: Artifact | None = None  # an artifact to record
    tokens: Tokens | None = None  # tokens to add to the count
    turns: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None  # turns to add to the count
    plan: Annotated[str, Meta(max_length=10_000)] | None = None  # the plan; an empty one removes it
    tags: list[str] | None = None  # the new tags of the session
    model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None  # the model in use
    agent_name: Annotated[str, Meta(min_length=1, max_length=200)] | None = None  # the name of the agent
    compress: bool = False  # prune now, regardless of the limits
    limits: PruneLimits | None = None  # limits above which the state is pruned
    command_id: CommandId | None = None  # requests with the same id take effect once


class StateUpdateResult(Wire, frozen=True):
    """The state directly after this change, and the line that recorded it."""

    state: WorkingState
    entry_id: str
    log_id: str
    seq: int
    should_prune: bool
    duplicate: bool = False  # an earlier request with this `commandId` took effect


class StateBeginTaskParams(Params, frozen=True):
    """Begin a task: count a turn, record a decision if one is given, and prune if a limit is exceeded.

    All of this is one line. With an `id`, which becomes the id of the line, a client may resend the request.
    """

    session_id: SessionId  # the full id of the session
    id: EntryId | None = None  # the id of the new entry; the request takes effect once
    decision: NewDecision | None = None  # a decision to record
    limits: PruneLimits | None = None  # limits above which the state is pruned
    command_id: CommandId | None = None  # requests with the same id take effect once


class StateBeginTaskResult(Wire, frozen=True):
    """The data with which an agent begins a task. `context` is a few lines for its system prompt."""

    session_id: str
    resume_from_session: str
    context: str
    state: WorkingState
    model: str | None
    entry_id: str
    log_id: str
    seq: int
    pruned: bool  # by this task
    duplicate: bool = False  # an earlier request with this `commandId` took effect
