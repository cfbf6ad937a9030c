"""Counts messages, tool calls, tokens and cost of entries, as the agents recorded them.

Spent tokens are recorded in many places: the usage of answers, tool results, compactions and branch summaries, `usage`
entries of pi, `model_usage` entries of oh-my-pi, and the details of oh-my-pi's task tool. Each counts once (decision
0017).
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.session.state.token_counts import Cost, Tokens, cost_of, tokens_of
from sessiond.session.tree import payloads, steps
from sessiond.session.tree.codes import ROLES
from sessiond.session.tree.steps import Read, Steps
from sessiond.session.tree.tree import ASSISTANT, KIND, MESSAGE, NONE, ROLE, USER, Tree

_COMPACTION: Final = KIND["compaction"]
_BRANCH_SUMMARY: Final = KIND["branch_summary"]
_COUNTED_KINDS: Final = frozenset((MESSAGE, _COMPACTION, _BRANCH_SUMMARY, KIND["usage"], KIND["model_usage"]))
_TOOL_RESULT: Final = ROLE["toolResult"]
_TASK_TOOL: Final = "task"
_NAME_CHARACTERS: Final = 200


@dataclass(slots=True)
class Share:
    """The assistant messages, tokens and cost of one model."""

    messages: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    cost: Cost = field(default_factory=Cost)


@dataclass(slots=True)
class Tally:
    """The counts of some entries.

    Attributes:
        entries: The number of entries.
        messages: The number of messages by role.
        tool_calls: The number of tool calls.
        tool_errors: The number of tool results that are errors.
        tools: The number of calls by tool name.
        compactions: The number of compactions.
        branch_summaries: The number of branch summaries.
        tokens: The tokens of all usages.
        cost: The cost of all usages.
        models: The share of each model by "provider/model"; None for usages without a model.
        first: The row of the first entry that was counted, or `NONE`.
        last: The row of the last entry that was counted, or `NONE`.
        rows: For a whole tree, the number of rows that were read, the header included.

    """

    entries: int = 0
    messages: dict[str, int] = field(default_factory=dict)
    tool_calls: int = 0
    tool_errors: int = 0
    tools: dict[str, int] = field(default_factory=dict)
    compactions: int = 0
    branch_summaries: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    cost: Cost = field(default_factory=Cost)
    models: dict[str | None, Share] = field(default_factory=dict)
    first: int = NONE
    last: int = NONE
    rows: int = 1

    def copy(self) -> "Tally":
        """Return an independent copy."""
        return deepcopy(self)


def tally_tree(tally: Tally, tree: Tree, read: Read) -> Steps[None]:
    """Count the committed rows that are new. Several callers may do so at the same time."""
    while tally.rows < tree.committed:
        batch = next(steps.batches(tree, range(tally.rows, tree.committed)))
        count_rows(tally, tree, [row for row in batch if tree.is_entry(row)], read)
        tally.rows = batch[-1] + 1
        yield


def tally_rows(tally: Tally, tree: Tree, rows: Sequence[int], read: Read) -> Steps[None]:
    """Count further rows of a path."""
    for batch in steps.batches(tree, rows):
        count_rows(tally, tree, batch, read)
        yield


def times(tally: Tally, read: Read) -> tuple[str | None, str | None]:
    """Return the timestamps of the first and the last entry of a tally."""
    if tally.first == NONE:
        return None, None
    first, last = (payloads.part(_time, entry) for entry in read([tally.first, tally.last]))
    return (first.text if first is not None else None), (last.text if last is not None else None)


def count_rows(tally: Tally, tree: Tree, rows: Sequence[int], read: Read) -> None:
    """Count rows. Only entries with more to count than their kind are read."""
    counted = [row for row in rows if tree.kind(row) in _COUNTED_KINDS and tree.role(row) != USER]
    if rows:
        tally.entries += len(rows)
        tally.first = rows[0] if tally.first == NONE else tally.first
        tally.last = rows[-1]
    prompts = sum(tree.role(row) == USER for row in rows)
    if prompts:
        _count(tally.messages, ROLES[USER], prompts)
    for row, entry in zip(counted, read(counted), strict=True):
        kind = tree.kind(row)
        if kind == MESSAGE:
            _count_message(tally, tree.role(row), entry)
        else:
            tally.compactions += kind == _COMPACTION
            tally.branch_summaries += kind == _BRANCH_SUMMARY
            spending = payloads.part(_spending, entry)
            if spending is not None:
                _add_usage(tally, _model(spending.provider, spending.model), spending.usage)


def _count_message(tally: Tally, role: int, entry: bytes) -> None:
    entry_data = payloads.part(_entry, entry)
    if entry_data is None or not isinstance(entry_data.message.role, str):
        return
    message = entry_data.message
    _count(tally.messages, message.role)
    if role == ASSISTANT:
        model_id = message.response_model if isinstance(message.response_model, str) else message.model
        model = _model(message.provider, model_id)
        _share(tally, model).messages += 1
        _add_usage(tally, model, message.usage)
        if message.content is not UNSET and b"toolCall" in bytes(message.content):
            for name in _calls(message.content):
                tally.tool_calls += 1
                _count(tally.tools, name)
    elif role == _TOOL_RESULT:
        tally.tool_errors += message.is_error is True
        if isinstance(message.usage, dict):
            _add_usage(tally, None, message.usage)
        elif message.tool_name == _TASK_TOOL and message.details is not UNSET:
            details = payloads.part(_details, message.details)
            _add_usage(tally, None, None if details is None else details.usage)


def _add_usage(tally: Tally, model: str | None, usage: Any) -> None:
    if not isinstance(usage, dict):
        return
    tokens, cost = tokens_of(usage), cost_of(usage.get("cost"))
    if tokens == _NO_TOKENS and cost == _NO_COST:
        return
    share = _share(tally, model)
    for target in (tally, share):
        target.tokens.add(tokens)
        target.cost.add(cost)


def _share(tally: Tally, model: str | None) -> Share:
    share = tally.models.get(model)
    if share is None:
        share = tally.models[model] = Share()
    return share


def _count(counts: dict[str, int], name: str, amount: int = 1) -> None:
    name = name[:_NAME_CHARACTERS]
    counts[name] = counts.get(name, 0) + amount


def _model(provider: Any, model: Any) -> str | None:
    """Return `provider/model`, or the part that is present; None without both."""
    recorded = [word for word in (provider, model) if isinstance(word, str) and word]
    return "/".join(recorded)[:_NAME_CHARACTERS] if recorded else None


def _calls(content: Raw) -> list[str]:
    """Return the names of the tools that an assistant message calls; "" for a call without a name."""
    blocks = payloads.part(_blocks, content)
    if blocks is None:  # an item is not a valid block
        items = payloads.part(_any_blocks, content) or []
        blocks = [_Block(item.get("type"), item.get("name")) for item in items if isinstance(item, dict)]
    return [block.name if isinstance(block.name, str) else "" for block in blocks if block.type == "toolCall"]


class _Block(msgspec.Struct, gc=False):
    type: Any = None
    name: Any = None


class _Message(msgspec.Struct, rename="camel", gc=False):
    role: Any = None
    content: Raw | UnsetType = UNSET
    provider: Any = None
    model: Any = None
    response_model: Any = None
    usage: Any = None
    is_error: Any = None
    tool_name: Any = None
    details: Raw | UnsetType = UNSET


class _Entry(msgspec.Struct, gc=False):
    message: _Message


class _Spending(msgspec.Struct):
    provider: Any = None
    model: Any = None
    usage: Any = None


class _Details(msgspec.Struct):
    usage: Any = None


class _Time(msgspec.Struct):
    timestamp: Any = None

    @property
    def text(self) -> str | None:
        return self.timestamp if isinstance(self.timestamp, str) else None


_NO_TOKENS: Final = Tokens()
_NO_COST: Final = Cost()
_entry = msgspec.json.Decoder(_Entry)
_spending = msgspec.json.Decoder(_Spending)
_details = msgspec.json.Decoder(_Details)
_time = msgspec.json.Decoder(_Time)
_blocks = msgspec.json.Decoder(list[_Block])
_any_blocks = msgspec.json.Decoder(list[Any])
