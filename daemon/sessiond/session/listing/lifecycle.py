"""The lifecycle of a session at its leaf, and its default model.

The rules for the lifecycle are those of oh-my-pi's session list, applied to the path instead of the end of the file,
so that an abandoned branch does not count. A prompt without an answer counts as interrupted (decision 0021).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from sessiond.session.content import preview
from sessiond.session.context.settings import Settings, apply_change, model_form, model_name
from sessiond.session.tree.steps import Read
from sessiond.session.tree.tree import ASSISTANT, KIND, NONE, ROLE, USER, Tree

Lifecycle: TypeAlias = Literal["complete", "interrupted", "aborted", "error", "empty"]

_MODEL_CHANGE: Final = KIND["model_change"]
_MESSAGE_ROLES: Final = (USER, ASSISTANT, ROLE["toolResult"])
_INCOMPLETE_REASONS: Final = ("toolUse", "length")
_MAX_ROWS: Final = 10_000
"""Rows to visit from the leaf upwards. If they have no message, the session counts as empty."""
_MAX_ENTRIES_READ: Final = 16
"""Limit of the entries that are read, even if no model was found."""


def lifecycle_and_model(tree: Tree, read: Read) -> tuple[Lifecycle, str | None]:
    """Return the lifecycle of a session, and its default model as `settings` defines it. Reads few entries."""
    path, count = _PathEnd(has_changes=tree.has_kind(_MODEL_CHANGE)), 0
    for row in _relevant_rows(tree):
        if tree.kind(row) == _MODEL_CHANGE:
            path.take_change(read([row])[0])
        elif path.needs_messages:
            path.take_message(read([row])[0])
        else:
            continue
        count += 1
        if count == _MAX_ENTRIES_READ or path.is_known:
            break
    return path.lifecycle or "empty", path.default_model(tree)


@dataclass
class _PathEnd:
    """The facts in the entries at the end of a path, which are taken from the leaf upwards."""

    has_changes: bool  # of models, anywhere in the session
    lifecycle: Lifecycle | None = None
    model: str | None = None  # of the last answer, if no change is after it
    changes: list[bytes] = field(default_factory=list)  # of models, the newest first
    is_settled: bool = False  # a change sets the default model, regardless of earlier entries

    @property
    def needs_messages(self) -> bool:
        return self.lifecycle is None or (self.model is None and not self.changes)

    @property
    def is_known(self) -> bool:
        is_model_known = self.is_settled or (not self.has_changes and self.model is not None)
        return self.lifecycle is not None and is_model_known

    def take_change(self, entry: bytes) -> None:
        form = model_form(entry)
        if form is not None:
            self.changes.append(entry)
        self.is_settled = self.is_settled or form in ("pi", "omp")

    def take_message(self, entry: bytes) -> None:
        message = preview.decoded(entry).get("message")
        if not isinstance(message, dict):
            return
        self.lifecycle = self.lifecycle or lifecycle_of(message)
        if self.model is None and not self.changes:
            self.model = _model_of(message)

    def default_model(self, tree: Tree) -> str | None:
        settings = Settings()
        for entry in reversed(self.changes):
            apply_change(settings, tree, entry)
        is_inferred = settings.default_is_inferred and self.model is not None
        return self.model if is_inferred else settings.models.get("default")


def _relevant_rows(tree: Tree) -> Iterator[int]:
    row, found_message = tree.leaf, False
    for _ in range(_MAX_ROWS):
        if row == NONE:
            return
        role = tree.role(row)
        if tree.kind(row) == _MODEL_CHANGE or role == ASSISTANT or (role and not found_message):
            found_message = found_message or role in _MESSAGE_ROLES
            yield row
        row = tree.parent(row)


def lifecycle_of(message: dict[str, Any]) -> Lifecycle | None:
    """Return the lifecycle if this message is the last; None for a message that belongs to no turn."""
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
    return "interrupted" if calls or reason in _INCOMPLETE_REASONS else "complete"


def _model_of(message: dict[str, Any]) -> str | None:
    return (
        model_name(message.get("provider"), message.get("model"))
        if message.get("role") == "assistant"
        else None
    )
