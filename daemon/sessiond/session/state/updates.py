"""Updates of the working state, one line each, and the computation of the state from the lines of a path.

An update is an increment (`tokens: 300` more), not a new value. So concurrent updates by two clients lose nothing, and
a branch or a fork has exactly the state of its point. Lines of other programs may have any content; their invalid
parts are ignored.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Raw

from sessiond.session.context.settings import Settings, apply_rows
from sessiond.session.state.working_state import KEPT_DECISIONS, BranchState, PruningLimits, RecordedDecision
from sessiond.session.tree import entries, payloads, steps
from sessiond.session.tree.steps import Read, Steps
from sessiond.session.tree.tree import NONE, Tree

_Text = Annotated[str, Meta(min_length=1)]
_Number = Annotated[int, Meta(ge=-1_000_000_000, le=1_000_000_000)]
_DEFAULT_LIMITS: Final = PruningLimits()


class _Part(msgspec.Struct, kw_only=True, frozen=True, rename="camel", omit_defaults=True):
    """Base of the parts of an update."""


class Decided(_Part, frozen=True):
    """A decision; `timestamp` defaults to the time of the line."""

    decision: _Text
    rationale: str = ""
    timestamp: _Text | None = None


class RecordedArtifact(_Part, frozen=True):
    """An artifact: its name and its path."""

    name: _Text
    path: _Text


class RecordedLimits(_Part, frozen=True, omit_defaults=False):
    """The limits of a pruning. The line stores them, so that a change of configuration alters no earlier state."""

    max_decisions: Annotated[int, Meta(ge=1, le=KEPT_DECISIONS)] = _DEFAULT_LIMITS.max_decisions
    max_tokens: Annotated[int, Meta(ge=0)] = _DEFAULT_LIMITS.max_tokens


class Update(_Part, frozen=True):
    """The `data` of a `custom` entry `sessiond.state`; its parts are applied in this order.

    `compress` always prunes; `pruneAbove` prunes only if a limit is exceeded.
    """

    decision: Decided | None = None
    artifact: RecordedArtifact | None = None
    tokens: _Number | None = None
    turns: _Number | None = None
    plan: str | None = None  # an empty text removes the plan
    model: _Text | None = None
    agent_name: _Text | None = None
    compress: RecordedLimits | None = None
    prune_above: RecordedLimits | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """The state and the settings at a row, from which later rows are computed. Neither may be changed."""

    row: int
    state: BranchState
    settings: Settings

    @property
    def model(self) -> str | None:
        """The model of the last update that named one, or else the default model of the path."""
        return self.state.model or self.settings.models.get("default")


def state_at(tree: Tree, row: int, read: Read, base: Point | None = None) -> Steps[Point]:
    """Compute the state at a row.

    Tags are the last ones on this path, or those of the header. Lists of sessions show the last ones on any branch.

    Args:
        tree: The tree of the session.
        row: The row; `NONE` is the place before the first entry.
        read: Returns the entries of rows.
        base: A point that may be on the path; the computation then continues from it.

    """
    if tree.irregular:
        base = None  # parents may have changed since the point was computed
    if base is not None and base.row == row:
        return base
    rows = yield from steps.path(tree, row, below=NONE if base is None else base.row)
    if base is not None and rows and tree.parent(rows[0]) == base.row:
        state, settings = base.state.copy(), _copied(base.settings)
    else:
        tags = tree.header.tags if tree.header is not None else None
        state, settings = BranchState(tags=tuple(tags or ())), Settings()
    state_rows = tree.state_rows
    for batch in steps.batches(tree, [row for row in rows if row in state_rows]):
        for entry in read(batch):
            apply_entry(state, entry)
        yield
    yield from apply_rows(settings, tree, rows, read)
    return Point(row, state, settings)


def apply_entry(state: BranchState, entry: bytes) -> None:
    """Apply an entry with an update or with tags to a state."""
    line = payloads.part(_line, entry)
    if line is None:
        return
    if line.custom_type == entries.TAGS_TYPE:
        tags_data = payloads.part(_tags, line.data)
        if tags_data is not None:
            state.tags = tuple(tag for tag in tags_data.tags if isinstance(tag, str))
            state.updated_at = line.at or state.updated_at
    elif line.custom_type == entries.STATE_TYPE:
        update = payloads.part(_update, line.data) or _valid_parts(line.data)
        _apply(state, update, line.at)
        if update != _NOTHING:
            state.updated_at = line.at or state.updated_at


def _apply(state: BranchState, update: Update, at: str) -> None:
    if (decision := update.decision) is not None:
        state.add_decision(RecordedDecision(decision.decision, decision.rationale, decision.timestamp or at))
    if update.artifact is not None:
        state.add_artifact(update.artifact.name, update.artifact.path)
    if update.tokens is not None:
        state.update_tokens(update.tokens)
    if update.turns is not None:
        state.increment_turns(update.turns)
    if update.plan is not None:
        state.plan = update.plan or None
    state.model = update.model or state.model
    state.agent_name = update.agent_name or state.agent_name
    if (prune_limits := update.compress) is not None:
        state.compress(PruningLimits(prune_limits.max_decisions, prune_limits.max_tokens), at)
    if (prune_limits := update.prune_above) is not None:
        limits = PruningLimits(prune_limits.max_decisions, prune_limits.max_tokens)
        if state.should_prune(limits):
            state.compress(limits, at)


def sets_state(entry: bytes) -> bool:
    """Return whether a `custom` entry is an update of the working state."""
    line = payloads.part(_line, entry)
    return line is not None and line.custom_type == entries.STATE_TYPE


class _Line(msgspec.Struct, rename="camel"):
    custom_type: Any = None
    data: Raw = Raw(b"null")
    timestamp: Any = None

    @property
    def at(self) -> str:
        return self.timestamp if isinstance(self.timestamp, str) else ""


class _Tags(msgspec.Struct):
    tags: list[Any]


_line = msgspec.json.Decoder(_Line)
_tags = msgspec.json.Decoder(_Tags)
_update = msgspec.json.Decoder(Update)
_fields = msgspec.json.Decoder(dict[str, Raw])
_NOTHING: Final = Update()
_PART_DECODERS: Final = {
    part.encode_name: (part.name, msgspec.json.Decoder(part.type)) for part in msgspec.structs.fields(Update)
}
"""The attribute and the decoder of each part of an update."""


def _valid_parts(data: Raw) -> Update:
    """Return the valid parts of an update that has an invalid part."""
    found = {}
    for name, value in (payloads.part(_fields, data) or {}).items():
        if name in _PART_DECODERS:
            attribute, decoder = _PART_DECODERS[name]
            found[attribute] = payloads.part(decoder, value)
    return Update(**found)


def _copied(settings: Settings) -> Settings:
    return msgspec.structs.replace(
        settings, models=dict(settings.models), injected_ttsr_rules=list(settings.injected_ttsr_rules)
    )
