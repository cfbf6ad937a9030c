"""How a session stands at its leaf: whether the last turn came to its end, and which model had it.

The rules are those of oh-my-pi's picker (fact: pi-omp §2.15), told by the path instead of the end of the file, so
that a branch that was left does not count. A prompt that nobody has answered yet counts as interrupted.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, Literal, TypeAlias

from sessiond.session import preview
from sessiond.session.steps import Read
from sessiond.session.tree import ASSISTANT, KIND, NONE, ROLE, USER, Tree

Lifecycle: TypeAlias = Literal["complete", "interrupted", "aborted", "error", "empty"]

_MODEL_CHANGE: Final = KIND["model_change"]
_SPEAKING: Final = (USER, ASSISTANT, ROLE["toolResult"])
_CUT_OFF: Final = ("toolUse", "length")
_FARTHEST: Final = 10_000
"""Rows to go back from the leaf: behind more than so many that nobody said, a session counts as empty."""
_MOST_READ: Final = 16
"""Lines to read: no more when the last of them do not name a model."""


def standing(tree: Tree, read: Read) -> tuple[Lifecycle, str | None]:
    """The lifecycle of a session, and its model as `provider/id`. Reads one line, or a few more."""
    lifecycle: Lifecycle | None = None
    model: str | None = None
    entries = (preview.decoded(read([row])[0]) for row in _telling_rows(tree))
    for entry in islice(entries, _MOST_READ):
        message = entry.get("message")
        if isinstance(message, dict):
            lifecycle = lifecycle or _ended(message)
            model = model or _speaker(message)
        else:
            model = model or _chosen(entry)
        if lifecycle is not None and model is not None:
            break
    return lifecycle or "empty", model


def _telling_rows(tree: Tree) -> Iterator[int]:
    row, spoken = tree.leaf, False
    for _ in range(_FARTHEST):
        if row == NONE:
            return
        role = tree.role(row)
        if tree.kind(row) == _MODEL_CHANGE or role == ASSISTANT or (role and not spoken):
            spoken = spoken or role in _SPEAKING
            yield row
        row = tree.parent(row)


def _ended(message: dict[str, Any]) -> Lifecycle | None:
    """What it means that this message is the last; None when it says nothing about a turn."""
    match message.get("role"):
        case "assistant":
            return _turn(message)
        case "toolResult" | "user":
            return "interrupted"
    return None


def _turn(message: dict[str, Any]) -> Lifecycle:
    reason, content = message.get("stopReason"), message.get("content")
    if reason in ("aborted", "error"):
        return "aborted" if reason == "aborted" else "error"
    blocks = content if isinstance(content, list) else []
    calls = any(isinstance(block, dict) and block.get("type") == "toolCall" for block in blocks)
    return "interrupted" if calls or reason in _CUT_OFF else "complete"


def _chosen(entry: dict[str, Any]) -> str | None:
    if entry.get("role", "default") not in ("default", None):
        return None
    model = entry.get("model")
    return model if isinstance(model, str) and model else _named(entry.get("provider"), entry.get("modelId"))


def _speaker(message: dict[str, Any]) -> str | None:
    if message.get("role") != "assistant":
        return None
    return _named(message.get("provider"), message.get("model"))


def _named(provider: object, model: object) -> str | None:
    parts = [part for part in (provider, model) if isinstance(part, str) and part]
    return "/".join(parts) or None
