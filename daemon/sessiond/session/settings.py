"""The settings in force at the end of a path: models by role, thinking level, mode, rules, service tier.

They count over the whole path, also before a compaction (seed: oh-my-pi storage; fact: pi-omp §2.10).
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.session import payloads, steps
from sessiond.session.steps import Read, Steps
from sessiond.session.tree import ASSISTANT, KIND, Tree

_KINDS: Final = frozenset(
    KIND[name]
    for name in (
        "model_change",
        "thinking_level_change",
        "mode_change",
        "ttsr_injection",
        "service_tier_change",
    )
)


class Settings(msgspec.Struct, kw_only=True):
    """What a path has set. `models` is role -> "provider/model".

    `default_was_said`: no entry set the default model, it is that of the last assistant message.
    """

    default_was_said: bool = False
    models: dict[str, str] = msgspec.field(default_factory=dict)
    thinking_level: str = "off"
    configured_thinking_level: str | None = None
    mode: str = "none"
    mode_data: Raw | None = None
    injected_ttsr_rules: list[str] = msgspec.field(default_factory=list)
    service_tier: Raw | None = None


class _Change(msgspec.Struct, rename="camel"):
    type: str = ""
    model: Any = None
    role: Any = None
    provider: Any = None
    model_id: Any = None
    thinking_level: Any = None
    configured: Any = None
    mode: Any = None
    data: Raw | UnsetType = UNSET
    injected_rules: Any = None
    service_tier: Raw | UnsetType = UNSET


class _Speaker(msgspec.Struct):
    provider: str
    model: str


class _Turn(msgspec.Struct):
    message: _Speaker


_change = msgspec.json.Decoder(_Change)
_turn = msgspec.json.Decoder(_Turn)


def settings(tree: Tree, path: Sequence[int], read: Read) -> Steps[Settings]:
    """The settings after a path of rows."""
    answer = Settings(default_was_said=True)
    yield from take_settings(answer, tree, path, read)
    return answer


def take_settings(answer: Settings, tree: Tree, path: Sequence[int], read: Read) -> Steps[None]:
    """Take in what further rows of a path set."""
    rows: list[int] = []
    for start in range(0, len(path), steps.ROWS_A_STEP):
        rows += [row for row in path[start : start + steps.ROWS_A_STEP] if tree.kind(row) in _KINDS]
        yield
    for batch in steps.batches(tree, rows):
        for entry in read(batch):
            _take(answer, payloads.part(_change, entry) or _Change())
        yield
    if answer.default_was_said:
        speaker = yield from _last_speaker(tree, path, read)
        if speaker is not None:
            answer.models["default"] = f"{speaker.provider}/{speaker.model}"


def _take(answer: Settings, change: _Change) -> None:
    match change.type:
        case "model_change":
            model = _model(change)
            if model is not None:
                role = _text(change.role) or "default"
                answer.models[role] = model
                answer.default_was_said = answer.default_was_said and role != "default"
        case "thinking_level_change":
            level = _text(change.thinking_level)
            answer.thinking_level = level or "off"
            answer.configured_thinking_level = _text(change.configured) or level
        case "mode_change":
            answer.mode = _text(change.mode) or "none"
            answer.mode_data = _value(change.data)
        case "service_tier_change":
            answer.service_tier = _value(change.service_tier)
        case _:
            rules = change.injected_rules if isinstance(change.injected_rules, list) else []
            known = answer.injected_ttsr_rules
            known += [rule for rule in dict.fromkeys(map(_text, rules)) if rule and rule not in known]


def _model(change: _Change) -> str | None:
    """oh-my-pi says `provider/id` in one field, pi in two."""
    model, provider, model_id = _text(change.model), _text(change.provider), _text(change.model_id)
    if model is None and provider is not None and model_id is not None:
        return f"{provider}/{model_id}"
    return model


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _value(raw: Raw | UnsetType) -> Raw | None:
    return None if raw is UNSET or payloads.is_null(raw) else raw


def _last_speaker(tree: Tree, path: Sequence[int], read: Read) -> Steps[_Speaker | None]:
    """The newest assistant message that names its model: what sessions without a model change go by."""
    for looked_at, row in enumerate(reversed(path)):
        if tree.role(row) == ASSISTANT:
            turn = payloads.part(_turn, read([row])[0])
            if turn is not None:
                return turn.message
            yield
        elif looked_at % steps.ROWS_A_STEP == 0:
            yield
    return None
