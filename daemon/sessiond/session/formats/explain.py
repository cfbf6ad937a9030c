"""Explains why each entry of a path is in the context of its leaf, or not: one row for each entry, root first."""

from collections import defaultdict
from typing import Any, Final

import msgspec

from sessiond.session.context import messages, tokens
from sessiond.session.context.context import Context, Selection, select
from sessiond.session.formats.provider_messages import ProviderMessages
from sessiond.session.formats.reasons import REASONS, Fate
from sessiond.session.formats.write import SEPARATE_PROMPT
from sessiond.session.tree import payloads, steps
from sessiond.session.tree.steps import Read, Steps
from sessiond.session.tree.tree import KIND, NONE, Tree

_MESSAGE_KINDS: Final = frozenset((KIND["message"], KIND["custom_message"], KIND["branch_summary"]))
_COMPACTION: Final = KIND["compaction"]
_BRANCH_SUMMARY: Final = KIND["branch_summary"]
_SETTINGS: Final = frozenset(
    KIND[name]
    for name in (
        "model_change", "thinking_level_change", "mode_change", "ttsr_injection", "service_tier_change"
    )
)  # fmt: skip


class ExplainedEntry(msgspec.Struct, frozen=True):
    """The outcome for one entry.

    `reason` is one of `REASONS` and `message` its sentence. `tokens` is an estimate. `message_index` is the number
    of the message that contains the entry's text, or None.
    """

    entry_id: str
    type: str
    role: str | None
    fate: Fate
    reason: str
    message: str
    tokens: int
    message_index: int | None


class _Head(msgspec.Struct):
    type: Any = None
    message: Any = None


_head = msgspec.json.Decoder(_Head)


def explain(
    tree: Tree,
    leaf_row: int,
    context: Context,
    read: Read,
    converted: ProviderMessages | None,
    prompt_id: str | None,
) -> Steps[list[ExplainedEntry]]:
    """Return a row for every entry of the path to `leaf_row`.

    Args:
        tree: The tree of the session.
        leaf_row: The row of the leaf.
        context: The context of this leaf.
        read: Reads the lines of rows.
        converted: The context in a provider's format, or None for the agents' own format.
        prompt_id: The id of the entry with the system prompt that is not among the messages, or None.
    """
    if leaf_row == NONE:
        return []
    path = yield from steps.path(tree, leaf_row)
    selection = yield from select(tree, path, read)
    explainer = _Explainer(tree, context, selection, converted, prompt_id)
    yield from explainer.begin()
    for batch in steps.batches(tree, selection.edits):
        explainer.edits.update(edit[0] for edit in map(messages.edit_of, read(batch)) if edit is not None)
        yield
    rows: list[ExplainedEntry] = []
    for batch in steps.batches(tree, path):
        rows += [explainer.row(row, entry) for row, entry in zip(batch, read(batch), strict=True)]
        yield
    return rows


class _Explainer:
    """The state from which the rows of a context are explained."""

    def __init__(
        self,
        tree: Tree,
        context: Context,
        selection: Selection,
        converted: ProviderMessages | None,
        prompt_id: str | None,
    ) -> None:
        self.edits: set[str] = set()
        self._tree = tree
        self._context = context
        self._messages = context.messages
        self._selection = selection
        self._converted = converted
        self._prompt_id = prompt_id
        self._kept: set[int] = set()
        self._selected: set[int] = set()
        self._message_numbers: dict[str, list[int]] = defaultdict(list)

    def begin(self) -> Steps[None]:
        """Compute which rows may have messages, and the message numbers of each entry."""
        selection, entry_ids = self._selection, self._context.entry_ids
        self._kept.update(selection.kept)
        yield
        self._selected = self._kept.union(selection.rest)
        yield
        for start in range(0, len(entry_ids), steps.ROWS_A_STEP):
            for number, entry_id in enumerate(entry_ids[start : start + steps.ROWS_A_STEP], start):
                self._message_numbers[entry_id].append(number)
            yield

    def row(self, row: int, entry: bytes) -> ExplainedEntry:
        """Return the row of one entry of the path."""
        entry_id = self._tree.id(row) or ""
        head = payloads.part(_head, entry) or _Head()
        role = head.message.get("role") if isinstance(head.message, dict) else None
        numbers = self._message_numbers.get(entry_id, [])
        reason, index = self._reason(row, entry_id, role), numbers[-1] if numbers else None
        if self._converted is not None:
            if numbers:
                reason, index = _in_format(self._converted, numbers[-1], reason)
            elif reason == "systemPrompt":
                index = self._converted.message_indexes.get(SEPARATE_PROMPT)
        fate, message = REASONS[reason]
        token_count = (
            sum(tokens.estimate(self._messages[number]) for number in numbers) if fate != "out" else 0
        )
        return ExplainedEntry(
            entry_id, head.type if isinstance(head.type, str) else "", role if isinstance(role, str) else None,
            fate, reason, message, token_count, index,
        )  # fmt: skip

    def _reason(self, row: int, entry_id: str, role: object) -> str:
        """Return why an entry is in the context of the agents' own format, or not."""
        kind, selection = self._tree.kind(row), self._selection
        if entry_id in self._message_numbers:
            if kind == _COMPACTION:
                return "compaction"
            if entry_id in self.edits and kind != _BRANCH_SUMMARY:
                return "edited"
            return "keptByCompaction" if row in self._kept else "asStored"
        if kind in _SETTINGS:
            return "settings"
        if kind not in _MESSAGE_KINDS and kind != _COMPACTION:
            return "systemPrompt" if entry_id == self._prompt_id else "notForModel"
        if row in self._selected or row == selection.compaction:
            return self._reason_without_message(row, entry_id, role)
        if selection.compaction == NONE:
            return "reset"
        return "olderCompaction" if kind == _COMPACTION else "compactedAway"

    def _reason_without_message(self, row: int, entry_id: str, role: object) -> str:
        """Return why an entry has no message although its position is in the context."""
        if entry_id in self.edits:
            return "editedOut"
        if row in self._kept and role == "system":
            return "systemReplaced"
        return "emptySummary" if self._tree.kind(row) == _BRANCH_SUMMARY else "notAMessage"


def _in_format(converted: ProviderMessages, number: int, reason: str) -> tuple[str, int | None]:
    """Return reason and message number after the conversion to a provider's format."""
    format_reason = converted.reasons.get(number)
    if number not in converted.message_indexes:
        return (
            format_reason if format_reason is not None and REASONS[format_reason][0] == "out" else "empty"
        ), None
    if format_reason is not None and reason != "compaction":
        reason = format_reason
    return reason, converted.message_indexes[number]
