"""Counts the tokens of messages: the provider's count where there is one, an estimate for the rest.

The estimate is pi's: a quarter of the characters. No tokenizer of a model is used (decision 0017).
"""

import math
from array import array
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from sessiond.session.content import stop_reasons
from sessiond.session.content.agent_message import AgentMessage, read_message
from sessiond.session.context import system_message
from sessiond.session.context.context import Context
from sessiond.session.tree import payloads
from sessiond.session.tree.steps import ROWS_A_STEP, Steps
from sessiond.session.tree.tree import ASSISTANT, KIND, NONE, Tree

IMAGE_CHARACTERS: Final = 4_800
"""Characters that an image counts as, regardless of its size."""

MAX_TOKENS: Final = 1_000_000_000
"""Limit of a plausible usage, in tokens; a greater usage is ignored."""

_CHARACTERS_A_TOKEN: Final = 4
_MESSAGES_A_STEP: Final = 256
"""Messages to visit in one step."""
_BYTES_A_STEP: Final = 512 * 1024
"""Bytes of messages to estimate in one step."""
_COST_OF_A_MESSAGE: Final = 2_048
"""Fixed cost of estimating a message, expressed in bytes."""
_UNKNOWN: Final = -1
"""Size of a message that has not been estimated."""
_SYSTEM: Final = -2
"""Size of a system message. All system messages together are counted once."""
_INVALIDATING_KINDS: Final = frozenset((KIND["compaction"], KIND["context_edit"], KIND["reset_boundary"]))
"""Kinds that invalidate the usage of earlier messages."""


class Count(msgspec.Struct, frozen=True, gc=False):
    """The tokens of a context; `estimated` is true if no part of it has a trusted count of the provider."""

    tokens: int
    estimated: bool


def count(tree: Tree, leaf_row: int, context: Context) -> Steps[Count]:
    """Count the tokens of a context that was built for `leaf_row` of the same tree.

    The count is the usage of the last assistant message on the path, plus an estimate for the messages after it. A
    usage is trusted if it is valid and no compaction, edit or reset follows it. Without a trusted usage, everything is
    estimated. Use it as

        context = await live.drive(build_context(tree, row, live.read_rows))
        counted = await live.drive(tokens.count(tree, row, context))

    Only the messages after the trusted usage are decoded, so in a session whose agent stores usage this takes
    microseconds at any depth. The context caches the estimates, and `extend_context` copies them.
    """
    trusted_index, used_tokens = yield from _last_trusted(tree, leaf_row, context)
    messages, first = context.messages, trusted_index + 1
    sizes = yield from _sizes(context, first)
    system_messages = [messages[first + at] for at, size in enumerate(sizes) if size == _SYSTEM]
    in_force = system_message.in_force(system_messages)
    total = used_tokens + sum(sizes) - _SYSTEM * len(system_messages)
    return Count(total if in_force is None else total + estimate(in_force), estimated=trusted_index < 0)


def estimate(message: bytes | Raw) -> int:
    """Estimate the tokens of a message as pi does: characters (UTF-16 code units) / 4, rounded up. Never raises.

    Text, thinking, names and arguments of tool calls, a command and its output, and summaries are counted. An image
    counts as 1200 tokens. A message with an unknown role, or an invalid one, counts as 0.

    Args:
        message: The JSON of one message, as in `Context.messages`.

    """
    return estimate_of(read_message(message))


def estimate_of(message: AgentMessage) -> int:
    """Estimate the tokens of a decoded message as `estimate` does."""
    characters_of = _CHARACTERS.get(message.role) if isinstance(message.role, str) else None
    return 0 if characters_of is None else math.ceil(characters_of(message) / _CHARACTERS_A_TOKEN)


def used(message: bytes | Raw) -> int | None:
    """Return the provider's count of the tokens of the whole context up to and including an assistant message.

    Returns:
        The tokens, or None for other messages, for one that failed or was aborted, and without a valid usage above
            zero.

    """
    decoded = payloads.part(_answer, message)
    if decoded is None or decoded.role != "assistant" or decoded.stop_reason in stop_reasons.FAILED:
        return None
    usage = decoded.usage
    if not isinstance(usage, dict):
        return None
    parts = (usage.get(name) for name in ("input", "output", "cacheRead", "cacheWrite"))
    total = _as_int(usage.get("totalTokens")) or sum(map(_as_int, parts))
    return total if 0 < total <= MAX_TOKENS else None


def role(message: bytes | Raw) -> object:
    """Return the role of a message, or None if it has none."""
    decoded = payloads.part(_head, message)
    return None if decoded is None else decoded.role


class _Head(msgspec.Struct):
    role: Any = None


class _Answer(msgspec.Struct, rename="camel"):
    role: Any = None
    stop_reason: Any = None
    usage: Any = None


_head = msgspec.json.Decoder(_Head)
_answer = msgspec.json.Decoder(_Answer)


def _length(value: object) -> int:
    """Return the length of a text in UTF-16 code units, as JavaScript counts it."""
    if not isinstance(value, str):
        return 0
    return len(value) if value.isascii() else len(value.encode("utf-16-le", "surrogatepass")) // 2


def _length_as_json(value: object) -> int:
    if value is UNSET:
        return 0
    try:
        return _length(msgspec.json.encode(value).decode())
    except (UnicodeEncodeError, RecursionError):
        return 0


def _of_content(message: AgentMessage) -> int:
    content = message.content
    if content is None or isinstance(content, str):
        return _length(content)
    characters = 0
    for block in content:
        if block.type == "text":
            characters += _length(block.text)
        elif block.type == "image":
            characters += IMAGE_CHARACTERS
    return characters


def _of_assistant(message: AgentMessage) -> int:
    characters = 0
    for block in message.blocks:
        if block.type == "text":
            characters += _length(block.text)
        elif block.type == "thinking":
            characters += _length(block.thinking)
        elif block.type == "toolCall":
            characters += _length(block.name) + _length_as_json(block.arguments)
    return characters


def _of_system(message: AgentMessage) -> int:
    sections = message.sections if isinstance(message.sections, dict) else {}
    section_length = sum(map(_length, sections.values()))
    return _of_content(message) + section_length + _length_as_json(message.tools_added)


def _of_files(message: AgentMessage) -> int:
    files = message.files if isinstance(message.files, list) else []
    return sum(
        _length(file.get("content")) + (IMAGE_CHARACTERS if file.get("image") else 0)
        for file in files
        if isinstance(file, dict)
    )


_CHARACTERS: Final[dict[str, Callable[[AgentMessage], int]]] = {
    "user": _of_content,
    "custom": _of_content,
    "toolResult": _of_content,
    "assistant": _of_assistant,
    "system": _of_system,
    "bashExecution": lambda message: _length(message.command) + _length(message.output),
    "branchSummary": lambda message: _length(message.summary),
    "compactionSummary": lambda message: _length(message.summary),
    # Roles of oh-my-pi that pi does not have.
    "developer": _of_content,
    "hookMessage": _of_content,
    "pythonExecution": lambda message: _length(message.code) + _length(message.output),
    "fileMention": _of_files,
}


def _as_int(value: object) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0


def _sizes(context: Context, first: int) -> Steps["array[int]"]:
    """Return the estimates of a context's messages from an index on."""
    messages, sizes = context.messages, context.sizes
    sizes.extend(array("i", [_UNKNOWN]) * (len(messages) - len(sizes)))
    visited = 0
    for at in range(first, len(messages)) if _UNKNOWN in sizes[first:] else ():
        if sizes[at] == _UNKNOWN:
            message = messages[at]
            sizes[at] = _SYSTEM if role(message) == "system" else estimate(message)
            visited += memoryview(message).nbytes + _COST_OF_A_MESSAGE
        if visited > _BYTES_A_STEP:
            visited = 0
            yield
    return sizes[first:]


def _last_trusted(tree: Tree, leaf_row: int, context: Context) -> Steps[tuple[int, int]]:
    """Return the index and tokens of the last message with a trusted usage; -1 and 0 if there is none."""
    entry_ids, unchecked = context.entry_ids, range(len(context.messages) - 1, context.uncounted - 1, -1)
    for visited, at in enumerate(unchecked, 1):
        row = tree.row(entry_ids[at])
        if row is not None and tree.role(row) == ASSISTANT:
            total = used(context.messages[at])
            if total is not None:
                if (yield from _is_still_valid(tree, leaf_row, row)):
                    return at, total
                break
        if visited % _MESSAGES_A_STEP == 0:
            yield
    context.uncounted = len(context.messages)
    return -1, 0


def _is_still_valid(tree: Tree, leaf_row: int, row: int) -> Steps[bool]:
    """Return whether no entry between a row and the leaf below it invalidates the row's usage."""
    seen: set[int] = set()
    below, visited = leaf_row, 0
    while below not in (row, NONE) and below not in seen:
        if tree.kind(below) in _INVALIDATING_KINDS:
            return False
        if tree.irregular:
            seen.add(below)
        below = tree.parent(below)
        visited += 1
        if visited % ROWS_A_STEP == 0:
            yield
    return below == row
