"""Working state: what an agent needs to continue a task without its history (decision 0022)."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from sessiond.protocol.types.shared import CommandId, EntryId, Params, SessionId, Tag, Tokens, Wire


class Decision(Wire, frozen=True):
    """One decision and its rationale."""

    decision: str  # the decision
    rationale: str  # its reason; empty if none was given
    timestamp: str  # ISO 8601


class NewDecision(Params, frozen=True):
    """A decision to record. Without `timestamp`, the present time is used."""

    decision: Annotated[str, Meta(min_length=1)]  # the decision
    rationale: str = ""  # its reason
    timestamp: Annotated[str, Meta(min_length=1, max_length=64)] | None = None  # ISO 8601


class Artifact(Params, frozen=True):
    """The path of an artifact. The content is not stored."""

    name: Annotated[str, Meta(min_length=1, max_length=1_000)]  # replaces an artifact of the same name
    path: Annotated[str, Meta(min_length=1, max_length=10_000)]  # the path, which is not checked


class StateMetrics(Wire, frozen=True):
    """Counters of the working state."""

    decision_count: int  # number of decisions since the last pruning
    total_tokens: int  # number of counted tokens
    task_count: int  # number of counted turns


class WorkingState(Wire, frozen=True):
    """The essentials of a session at one point of its tree: references, not content."""

    session_id: str  # the session's full id
    plan: str | None  # the plan, if there is one
    key_decisions: Annotated[list[Decision], Meta(max_length=10)]  # the last decisions, oldest first
    latest_artifacts: dict[str, str]  # name -> path
    tokens_used: int  # number of counted tokens
    turn_count: int  # number of counted turns
    tags: list[str]  # the tags on the path; `session/list` uses the last tags of all branches
    metrics: StateMetrics  # further counters
    model: str | None  # the last model of an update, else the path's default model
    agent_name: str | None  # the last agent name of an update
    parent_session_id: (
        str | None
    )  # the session that it was made from; null if there is none or it is not known
    fork_count: int  # sessions that name this one as their parent
    pruned: bool  # whether the state was pruned
    last_pruned_at: str | None  # the time of the last pruning: ISO 8601, UTC
    created_at: str  # the time of the session's creation: ISO 8601, UTC
    updated_at: str  # the time of the last update, or else `createdAt`


class PruneLimits(Params, frozen=True):
    """Limits above which the state is pruned. Omitted limits are those of the configuration."""

    max_decisions: Annotated[int, Meta(ge=1, le=10)] | None = None  # maximum number of decisions
    max_tokens: Tokens | None = None  # maximum number of counted tokens


class StateGetParams(Params, frozen=True):
    """Return the working state at `leafId` (default: the session's leaf): all updates along the path, folded."""

    session_id: SessionId  # the session's full id
    leaf_id: EntryId | UnsetType | None = UNSET  # the end of the path; default: the session's leaf


class StateGetResult(Wire, frozen=True):
    """The state, and whether NOVA's rule would prune it."""

    state: WorkingState  # the state at the end of the path
    leaf_id: str | None  # the end of the path; null for before the first entry
    should_prune: bool  # whether the next task prunes the state


class StateUpdateParams(Params, frozen=True):
    """Record changes of the working state as one line of the log. Numbers are added; other values replace.

    `tags` replace those of the session, as with `session/tag`, in a line of their own before it. With an `id`, which
    becomes the id of the line, a client may resend the request at any time; it takes effect once.
    """

    session_id: SessionId  # the session's full id
    id: EntryId | None = None  # the id of the new entry; the request takes effect once
    decision: NewDecision | None = None  # a decision to record
    artifact: Artifact | None = None  # an artifact to record
    tokens: Tokens | None = None  # tokens to add to the count
    turns: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None  # turns to add to the count
    plan: Annotated[str, Meta(max_length=10_000)] | None = None  # the plan; an empty one removes it
    tags: Annotated[list[Tag], Meta(max_length=100)] | None = None  # the new tags of the session
    model: Annotated[str, Meta(min_length=1, max_length=200)] | None = None  # the model in use
    agent_name: Annotated[str, Meta(min_length=1, max_length=200)] | None = None  # the name of the agent
    compress: bool = False  # prune now, regardless of the limits
    limits: PruneLimits | None = None  # limits above which the state is pruned
    command_id: CommandId | None = None  # repeats take effect once


class StateUpdateResult(Wire, frozen=True):
    """The state directly after this change, and the line that recorded it."""

    state: WorkingState  # the state after the change
    record_id: str  # the id of the line that recorded the change
    log_id: str  # the log of `seq`
    seq: int  # the seq of that line
    should_prune: bool  # whether the next task prunes the state
    duplicate: bool = False  # an earlier request took effect


class StateBeginTaskParams(Params, frozen=True):
    """Begin a task: count a turn, record a decision if one is given, and prune if a limit is exceeded.

    All of this is one line. With an `id`, which becomes the id of the line, a client may resend the request.
    """

    session_id: SessionId  # the session's full id
    id: EntryId | None = None  # the id of the new entry; the request takes effect once
    decision: NewDecision | None = None  # a decision to record
    limits: PruneLimits | None = None  # limits above which the state is pruned
    command_id: CommandId | None = None  # repeats take effect once


class StateBeginTaskResult(Wire, frozen=True):
    """The data with which an agent begins a task. `context` is a few lines for its system prompt."""

    session_id: str  # the session's full id
    context: str  # lines for the system prompt: plan, decisions, artifacts
    state: WorkingState  # the state after the change
    model: str | None  # the model of the state
    record_id: str  # the id of the line that recorded the change
    log_id: str  # the log of `seq`
    seq: int  # the seq of that line
    pruned: bool  # whether this task pruned the state
    duplicate: bool = False  # an earlier request took effect
