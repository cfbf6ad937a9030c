"""The settings in force at the end of a path: models by role, thinking level, mode, rules, service tier.

Settings apply over the whole path, including the part before a compaction. The rule for the default model is in
decision 0015.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.session.tree import payloads, steps
from sessiond.session.tree.steps import Read, Steps
from sessiond.session.tree.tree import ASSISTANT, KIND, Tree

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
    """The settings of a path.

    Attributes:
        default_is_inferred: The next assistant message that names a model changes the default model.
        follows_pi: The last `model_change` that only one program could have written was in pi's form.
        models: Model by role, as "provider/model", or "model" if no provider is named.
        thinking_level: The thinking level.
        configured_thinking_level: The level that the user chose, or None.
        mode: The agent's mode.
        mode_data: The data of the mode.
        injected_ttsr_rules: Names of the stream rules that were injected, without duplicates.
        service_tier: The service tier as stored, or None.

    """

    default_is_inferred: bool = True
    follows_pi: bool = False
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


class _AssistantMessage(msgspec.Struct):
    model: str
    provider: Any = None


class _Turn(msgspec.Struct):
    message: _AssistantMessage


_change = msgspec.json.Decoder(_Change)
_turn = msgspec.json.Decoder(_Turn)


def settings(tree: Tree, path: Sequence[int], read: Read) -> Steps[Settings]:
    """Return the settings at the end of a path."""
    target = Settings()
    yield from apply_rows(target, tree, path, read)
    return target


def apply_rows(target: Settings, tree: Tree, path: Sequence[int], read: Read) -> Steps[None]:
    """Apply further rows of a path to settings."""
    indexes: list[int] = []
    for start in range(0, len(path), steps.ROWS_A_STEP):
        end = min(start + steps.ROWS_A_STEP, len(path))
        indexes += [at for at in range(start, end) if tree.kind(path[at]) in _KINDS]
        yield
    last_default = processed = 0
    for batch in steps.batches(tree, [path[at] for at in indexes]):
        for entry in read(batch):
            if apply_change(target, tree, entry):
                last_default = indexes[processed]
            processed += 1
        yield
    if target.default_is_inferred:
        message = yield from _last_model_message(tree, path[last_default:], read)
        if message is not None:
            target.models["default"] = model_name(message.provider, message.model) or message.model


def apply_change(target: Settings, tree: Tree, entry: bytes) -> bool:
    """Apply one entry to settings; return whether it sets the default model."""
    change = payloads.part(_change, entry) or _Change()
    if change.type == "model_change":
        return _apply_model_change(target, tree, change)
    _apply_other_change(target, change)
    return False


def model_form(entry: bytes) -> str | None:
    """Return the form of a `model_change` of the default model: "pi", "omp" or "both"; None for any other entry."""
    change = payloads.part(_change, entry)
    if change is None or change.type != "model_change" or (_text(change.role) or "default") != "default":
        return None
    return _form(change)


def model_name(provider: object, model: object) -> str | None:
    """Return `provider/model`, or the model alone if there is no provider; None without a model."""
    name, provider_name = _text(model), _text(provider)
    return f"{provider_name}/{name}" if provider_name and name else name


def _form(change: _Change) -> str | None:
    has_pi_form = _text(change.model_id) is not None
    if _text(change.model) is not None:
        return "both" if has_pi_form else "omp"
    return "pi" if has_pi_form else None


def _apply_model_change(target: Settings, tree: Tree, change: _Change) -> bool:
    """Apply a `model_change` by the rule of the program whose form it has.

    In oh-my-pi, an assistant message never overrides a default that was chosen. In pi, the last change or message
    wins. An entry in both forms follows the last entry that had one form only, or oh-my-pi if there is none. In a file
    with a title slot, oh-my-pi's rule always applies.
    """
    form, role = _form(change), _text(change.role) or "default"
    name = _text(change.model) or model_name(change.provider, change.model_id)
    if form is None or name is None:
        return False
    target.models[role] = name
    if role != "default":
        return False
    if form != "both":
        target.follows_pi = form == "pi" and tree.slot_title is None
    target.default_is_inferred = target.follows_pi
    return True


def _apply_other_change(target: Settings, change: _Change) -> None:
    match change.type:
        case "thinking_level_change":
            level = _text(change.thinking_level)
            target.thinking_level = level or "off"
            target.configured_thinking_level = _text(change.configured) or level
        case "mode_change":
            target.mode = _text(change.mode) or "none"
            target.mode_data = _value(change.data)
        case "service_tier_change":
            target.service_tier = _value(change.service_tier)
        case _:
            rules = change.injected_rules if isinstance(change.injected_rules, list) else []
            injected = target.injected_ttsr_rules
            injected += [rule for rule in dict.fromkeys(map(_text, rules)) if rule and rule not in injected]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _value(raw: Raw | UnsetType) -> Raw | None:
    return None if raw is UNSET or payloads.is_null(raw) else raw


def _last_model_message(tree: Tree, path: Sequence[int], read: Read) -> Steps[_AssistantMessage | None]:
    """Return the newest assistant message that names its model. It sets the default model unless that is fixed."""
    for number, row in enumerate(reversed(path)):
        if tree.role(row) == ASSISTANT:
            turn = payloads.part(_turn, read([row])[0])
            if turn is not None:
                return turn.message
            yield
        elif number % steps.ROWS_A_STEP == 0:
            yield
    return None
