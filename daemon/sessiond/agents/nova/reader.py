"""Reads NOVA: one JSON object with the working state of a session (`SessionState.to_dict`), and no conversation.

It becomes updates that lead to the same state. If the state has changed since the last import, the updates become a
separate path, because NOVA stores the state and not its changes (decision 0023). The project is the folder that has
the folder `.nova` with the file.
"""

from typing import Any, Final

import msgspec

from sessiond.agents.formats import Dialect
from sessiond.session.content import fields
from sessiond.session.dialects.import_builder import ImportBuilder, Imported
from sessiond.session.dialects.source import Source, SourceLine
from sessiond.session.state.working_state import KEPT_DECISIONS
from sessiond.session.tree import entries

NAME: Final = "nova"

_KNOWN: Final = frozenset((
    "session_id", "created_at", "last_updated", "model", "agent_name", "current_plan", "key_decisions",
    "latest_artifacts", "tokens_used", "turn_count", "tags", "metrics", "fork_parent_id", "pruned",
    "last_pruned_at",
))  # fmt: skip
_METRICS: Final = frozenset(("decision_count", "total_tokens", "task_count"))
_MAX_TASKS: Final = 1_000
_MAX_TOKENS: Final = 1_000_000_000
_ALL_TOKENS: Final = {"maxDecisions": KEPT_DECISIONS, "maxTokens": _MAX_TOKENS}
"""A pruning that removes no artifacts."""


def detect_object(value: object) -> bool:
    """Return whether a whole file is a state of NOVA.

    `session_id`, `model` and `last_updated` are also in the session files of other agents (Hermes). NOVA always writes
    its decisions and artifacts, and never a conversation.
    """
    if not isinstance(value, dict) or fields.text(value.get("session_id")) is None or "messages" in value:
        return False
    return isinstance(value.get("key_decisions"), list) or isinstance(value.get("latest_artifacts"), dict)


def read(source: Source) -> Imported:
    """Read the session of a state."""
    builder = ImportBuilder(NAME, source)
    builder.is_state = True
    line = SourceLine(1, source.data.strip(), _decoded(source.data), "it is not JSON")
    if not line.value:
        builder.preserve_unreadable(line)
        return builder.finish()
    state = line.value
    builder.source_id = fields.text(state.get("session_id")) or builder.source_id
    builder.parent_source = fields.text(state.get("fork_parent_id"))
    builder.cwd = _project(fields.as_text(source.beside.get("sourcePath")))
    tags = sorted(tag for tag in fields.items(state.get("tags")) if isinstance(tag, str))
    began = builder.time_of(state.get("created_at"))
    ended = fields.time(state.get("last_updated")) or began
    updates, inexpressible = _updates(state)
    name = f"{NAME}-{fields.digest(fields.dumps(state).decode())}"
    above: str | None = None
    if tags:
        above = builder.add(
            line,
            f"{name}-tags",
            None,
            "custom",
            {"customType": entries.TAGS_TYPE, "data": {"tags": tags}},
            at=began,
        )
    for number, update in enumerate(updates, 1):
        at = update.pop("at", None) or (ended if number == len(updates) else began)
        payload = {"customType": entries.STATE_TYPE, "data": update}
        above = builder.add(line, f"{name}-{number}", above, "custom", payload, at=at)
    builder.leaf = above
    builder.count("state")
    inexpressible += [name for name in state if name not in _KNOWN and state[name] not in (None, 0)]
    for kind in inexpressible:
        builder.report.add_problem(
            1, f"{kind} cannot be expressed by updates; the object is preserved unchanged"
        )
    if inexpressible:
        builder.preserve(line, "state", "it has more than updates can express")
    return builder.finish()


def _project(path: str) -> str:
    """Return the folder above `.nova` for the path of a file below it; "" for another path."""
    project, found, _ = path.rpartition("/.nova/")
    return project if found else ""


def _decoded(data: bytes) -> dict[str, Any]:
    try:
        return fields.mapping(msgspec.json.decode(data))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _updates(state: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return updates that lead to a state, and names of the parts of the state that updates cannot express."""
    inexpressible: list[str] = []
    decisions = [_decision(decision) for decision in fields.items(state.get("key_decisions"))]
    valid = [decision for decision in decisions if decision is not None]
    if len(valid) < len(decisions):
        inexpressible.append("a decision without text")
    metrics = fields.mapping(state.get("metrics"))
    counted = _whole(metrics.get("decision_count", len(valid)))
    since = min(counted, len(valid)) if state.get("pruned") is True else len(valid)
    if counted != since or len(valid) > KEPT_DECISIONS:
        inexpressible.append("metrics.decision_count")
    before, after = valid[: len(valid) - since], valid[len(valid) - since :]
    updates: list[dict[str, Any]] = [{"decision": decision} for decision in before]
    if state.get("pruned") is True:
        updates.append({"compress": _ALL_TOKENS, "at": fields.time(state.get("last_pruned_at"))})
    updates += [{"decision": decision} for decision in after] or [{}]
    inexpressible += _spread(state, metrics, updates)
    inexpressible += [f"metrics.{name}" for name in metrics if name not in _METRICS and metrics[name]]
    updates[-1] |= _named_values(state)
    return [update for update in updates if update], inexpressible


def _spread(state: dict[str, Any], metrics: dict[str, Any], updates: list[dict[str, Any]]) -> list[str]:
    """Distribute artifacts, turns and tokens over the updates, from the last one. An update has at most one of each.

    Returns:
        The names of values that updates cannot express.
    """
    inexpressible: list[str] = []
    artifacts = [(name, path) for name, path in fields.mapping(state.get("latest_artifacts")).items() if name]
    turns = _whole(state.get("turn_count"))
    tasks = _whole(metrics.get("task_count", turns))
    if tasks > _MAX_TASKS or (turns and not tasks):
        inexpressible.append("metrics.task_count")
        tasks = min(max(tasks, 1), _MAX_TASKS)
    updates += [{} for _ in range(max(len(artifacts), tasks) - len(updates))]
    for update, (name, path) in zip(reversed(updates), artifacts, strict=False):
        if fields.text(path) is None:
            inexpressible.append(f"the artifact {name:.40}")
        else:
            update["artifact"] = {"name": name, "path": path}
    for number, update in zip(range(tasks), reversed(updates), strict=False):
        update["turns"] = turns if number == 0 else 0
    tokens = _whole(state.get("tokens_used"))
    if tokens:
        updates[-1]["tokens"] = min(tokens, _MAX_TOKENS)
    if tokens > _MAX_TOKENS or _whole(metrics.get("total_tokens", tokens)) != tokens:
        inexpressible.append("metrics.total_tokens")
    return inexpressible


def _named_values(state: dict[str, Any]) -> dict[str, Any]:
    values = {
        "plan": fields.text(state.get("current_plan")), "model": fields.text(state.get("model")),
        "agentName": fields.text(state.get("agent_name")),
    }  # fmt: skip
    return {name: value for name, value in values.items() if value is not None}


def _decision(value: object) -> dict[str, Any] | None:
    found = fields.mapping(value)
    decision = fields.text(found.get("decision"))
    if decision is None:
        return None
    made = {"decision": decision, "rationale": fields.as_text(found.get("rationale"))}
    at = fields.time(found.get("timestamp"))
    return made if at is None else {**made, "timestamp": at}


def _whole(value: object) -> int:
    return max(0, int(fields.number(value)))


DIALECT: Final = Dialect(NAME, "NOVA states", lambda _first: False, read, detect_object, adds_text=False)
