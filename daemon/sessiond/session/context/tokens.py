"""Counts the tokens of messages: the provider's count where there is one, an estimate for the rest.

The estimate is pi's, a quarter of the characters. No tokenizer of a model is used (decision 0017).
"""

import math
from array import array
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from sessiond.session.content.agent_message import AgentMessage, read_message
from sessiond.session.context import system_message
from sessiond.session.context.context import Context
from sessiond.session.tree import payloads
from sessiond.session.tree.steps import ROWS_A_STEP, Steps
from sessiond.session.tree.tree import ASSISTANT, KIND, NONE, Tree

IMAGE_CHARACTERS: Final = 4_800
"""What an image counts for, whatever its size."""

MAX_TOKENS: Final = 1_000_000_000
"""A usage beyond this is no count."""

_CHARACTERS_A_TOKEN: Final = 4
_MESSAGES_A_STEP: Final = 256
_BYTES_A_STEP: Final = 512 * 1024
_COST_OF_A_MESSAGE: Final = 2_048
"""What looking at a message costs beside its length, in bytes that could be read meanwhile."""
_UNKNOWN: Final = -1
_SYSTEM: Final = -2
"""Of a message's size: it is a change of the system message, which counts once."""
_DISTRUSTED: Final = ("aborted", "error")
_RECOUNTS: Final = frozenset((KIND["compaction"], KIND["context_edit"], KIND["reset_boundary"]))
"""Kinds after which an older usage says nothing of the context any more."""


class Count(msgspec.Struct, frozen=True, gc=False):
    """Tokens of a context; `estimated` when no provider's count could be trusted for any part of it."""

    tokens: int
    estimated: bool


def count(tree: Tree, leaf_row: int, context: Context) -> Steps[Count]:
    """The tokens of a context that was built for `leaf_row` of the same tree.

    The usage of the last answer on the path, if it can be trusted and nothing before it was compacted, edited
    or reset since; what came after it is estimated. Without such a usage all is estimated. Use it as

        context = await live.drive(build_context(tree, row, live.read_rows))
        counted = await live.drive(tokens.count(tree, row, context))

    Only the messages behind the trusted answer are decoded, so in a session whose agent stores usage this costs
    microseconds at any depth. Estimates are remembered in the context, and go on into `extend_context`.
    """
    answer, used_tokens = yield from _last_trusted(tree, leaf_row, context)
    messages, first = context.messages, answer + 1
    sizes = yield from _sizes(context, first)
    of_system = [messages[first + at] for at, size in enumerate(sizes) if size == _SYSTEM]
    in_force = system_message.in_force(of_system)
    total = used_tokens + sum(sizes) - _SYSTEM * len(of_system)
    return Count(total if in_force is None else total + estimate(in_force), estimated=answer < 0)


def estimate(message: bytes | Raw) -> int:
    """About how many tokens an agent's message takes, as pi reckons: characters (UTF-16) / 4, rounded up.

    `message` is the JSON of one message, as `Context.messages` holds them. Counted are text, thinking, names and
    arguments of tool calls, a command and its output, summaries, and 1200 for an image. A message of an unknown
    role, or one that is none at all, takes 0. Never raises.
    """
    return estimate_of(read_message(message))


def estimate_of(message: AgentMessage) -> int:
    """As `estimate`, of a message that was read already."""
    characters_of = _CHARACTERS.get(message.role) if isinstance(message.role, str) else None
    return 0 if characters_of is None else math.ceil(characters_of(message) / _CHARACTERS_A_TOKEN)


def used(message: bytes | Raw) -> int | None:
    """The tokens of the whole context up to and with an answer, as its provider counted them.

    None for a message that is no answer, for one that failed or was aborted, and without a usage above zero.
    """
    said = payloads.part(_answer, message)
    if said is None or said.role != "assistant" or said.stop_reason in _DISTRUSTED:
        return None
    usage = said.usage
    if not isinstance(usage, dict):
        return None
    parts = (usage.get(name) for name in ("input", "output", "cacheRead", "cacheWrite"))
    total = _whole(usage.get("totalTokens")) or sum(map(_whole, parts))
    return total if 0 < total <= MAX_TOKENS else None


def role(message: bytes | Raw) -> object:
    """The role that a message says it has; None when it says none."""
    said = payloads.part(_head, message)
    return None if said is None else said.role


class _Head(msgspec.Struct):
    role: Any = None


class _Answer(msgspec.Struct, rename="camel"):
    role: Any = None
    stop_reason: Any = None
    usage: Any = None


_head = msgspec.json.Decoder(_Head)
_answer = msgspec.json.Decoder(_Answer)


def _length(value: object) -> int:
    """The length that JavaScript gives a text: in UTF-16 code units."""
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
    named = sum(map(_length, sections.values()))
    return _of_content(message) + named + _length_as_json(message.tools_added)


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
    # What oh-my-pi has besides; pi does not know these.
    "developer": _of_content,
    "hookMessage": _of_content,
    "pythonExecution": lambda message: _length(message.code) + _length(message.output),
    "fileMention": _of_files,
}


def _whole(value: object) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0


def _sizes(context: Context, first: int) -> Steps["array[int]"]:
    """The estimates of a context's messages from one on."""
    messages, sizes = context.messages, context.sizes
    sizes.extend(array("i", [_UNKNOWN]) * (len(messages) - len(sizes)))
    looked_at = 0
    for at in range(first, len(messages)) if _UNKNOWN in sizes[first:] else ():
        if sizes[at] == _UNKNOWN:
            message = messages[at]
            sizes[at] = _SYSTEM if role(message) == "system" else estimate(message)
            looked_at += memoryview(message).nbytes + _COST_OF_A_MESSAGE
        if looked_at > _BYTES_A_STEP:
            looked_at = 0
            yield
    return sizes[first:]


def _last_trusted(tree: Tree, leaf_row: int, context: Context) -> Steps[tuple[int, int]]:
    """The place of the last answer whose usage still holds, and its tokens; -1 and 0 without one."""
    entry_ids, fresh = context.entry_ids, range(len(context.messages) - 1, context.uncounted - 1, -1)
    for looked_at, at in enumerate(fresh, 1):
        row = tree.row(entry_ids[at])
        if row is not None and tree.role(row) == ASSISTANT:
            total = used(context.messages[at])
            if total is not None:
                if (yield from _stands(tree, leaf_row, row)):
                    return at, total
                break
        if looked_at % _MESSAGES_A_STEP == 0:
            yield
    context.uncounted = len(context.messages)
    return -1, 0


def _stands(tree: Tree, leaf_row: int, row: int) -> Steps[bool]:
    """Whether nothing between a row and the leaf below it changes what was counted there."""
    seen: set[int] = set()
    below, walked = leaf_row, 0
    while below not in (row, NONE) and below not in seen:
        if tree.kind(below) in _RECOUNTS:
            return False
        if tree.irregular:
            seen.add(below)
        below = tree.parent(below)
        walked += 1
        if walked % ROWS_A_STEP == 0:
            yield
    return below == row
