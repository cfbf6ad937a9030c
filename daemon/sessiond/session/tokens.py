"""How many tokens messages take: what providers counted where that is known, an estimate for the rest.

The estimate is pi's, a quarter of the characters (fact: pi-omp §2.11); no tokenizer of a model is asked.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw

from sessiond.session import payloads
from sessiond.session.context import Context
from sessiond.session.steps import Read, Steps
from sessiond.session.tree import ASSISTANT, KIND, NONE, ROLE, Tree

IMAGE_CHARACTERS: Final = 4_800
"""What an image counts for, whatever its size."""

MOST_TOKENS: Final = 1_000_000_000
"""A usage beyond this is no count."""

_CHARACTERS_A_TOKEN: Final = 4
_MESSAGES_A_STEP: Final = 256
_BYTES_A_STEP: Final = 512 * 1024
_DISTRUSTED: Final = ("aborted", "error")
_RECOUNTS: Final = frozenset((KIND["compaction"], KIND["context_edit"], KIND["reset_boundary"]))
"""Kinds after which an older usage says nothing of the context any more."""
_NEVER_SYSTEM: Final = frozenset((ROLE["user"], ROLE["assistant"], ROLE["toolResult"]))


class Count(msgspec.Struct, frozen=True, gc=False):
    """Tokens of a context; `estimated` when no provider's count could be trusted for any part of it."""

    tokens: int
    estimated: bool


def count(tree: Tree, leaf_row: int, context: Context, read: Read) -> Steps[Count]:
    """The tokens of a context that was built for `leaf_row` of the same tree.

    The usage of the last answer on the path, if it can be trusted and nothing before it was compacted, edited
    or reset since; what came after it is estimated. Without such a usage all is estimated. Use it as

        context = await live.drive(build_context(tree, row, live.read_rows))
        counted = await live.drive(tokens.count(tree, row, context, live.read_rows))

    Only the messages behind the trusted answer are decoded, so in a session whose agent stores usage this
    costs microseconds at any depth.
    """
    answer, used_tokens = yield from _last_trusted(tree, leaf_row, read)
    total, since_yield = used_tokens, 0
    answer_id = None if answer == NONE else tree.id(answer)
    system_counted = False
    pairs = zip(reversed(context.messages), reversed(context.entry_ids), strict=True)
    for looked_at, (message, entry_id) in enumerate(pairs, 1):
        if entry_id == answer_id:
            break
        counts = True
        if answer == NONE and _may_be_system(tree, entry_id) and role(message) == "system":
            counts, system_counted = not system_counted, True  # only the newest one is in force
        total += estimate(message) if counts else 0
        since_yield += memoryview(message).nbytes
        if looked_at % _MESSAGES_A_STEP == 0 or since_yield > _BYTES_A_STEP:
            since_yield = 0
            yield
    return Count(total, estimated=answer == NONE)


def estimate(message: bytes | Raw) -> int:
    """About how many tokens an agent's message takes, as pi reckons: characters (UTF-16) / 4, rounded up.

    `message` is the JSON of one message, as `Context.messages` holds them. Counted are text, thinking, names and
    arguments of tool calls, a command and its output, summaries, and 1200 for an image. A message of an unknown
    role, or one that is none at all, takes 0. Never raises.
    """
    found = payloads.part(_message, message) or _loosely(message)
    characters_of = _CHARACTERS.get(found.role) if isinstance(found.role, str) else None
    return 0 if characters_of is None else math.ceil(characters_of(found) / _CHARACTERS_A_TOKEN)


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
    return total if 0 < total <= MOST_TOKENS else None


def role(message: bytes | Raw) -> object:
    """The role that a message says it has; None when it says none."""
    said = payloads.part(_head, message)
    return None if said is None else said.role


class _Block(msgspec.Struct, gc=False):
    type: Any = None
    text: Any = None
    thinking: Any = None
    name: Any = None
    arguments: Any = UNSET
    content: Any = None


class _Message(msgspec.Struct, rename="camel"):
    role: Any = None
    content: list[_Block] | str | None = None
    command: Any = None
    code: Any = None
    output: Any = None
    summary: Any = None
    files: Any = None
    sections: Any = None
    tools_added: Any = UNSET


class _Head(msgspec.Struct):
    role: Any = None


class _Answer(msgspec.Struct, rename="camel"):
    role: Any = None
    stop_reason: Any = None
    usage: Any = None


class _AnswerEntry(msgspec.Struct):
    message: Raw


def _as_javascript(number: str) -> int | float:
    """A number as JavaScript writes it back: 1.0 is 1."""
    value = float(number)
    return int(value) if value.is_integer() and abs(value) < 1e21 else value


_message = msgspec.json.Decoder(_Message, float_hook=_as_javascript)
_fields = msgspec.json.Decoder(dict[str, Any], float_hook=_as_javascript)
_head = msgspec.json.Decoder(_Head)
_answer = msgspec.json.Decoder(_Answer)
_answer_entry = msgspec.json.Decoder(_AnswerEntry)
_block_fields = frozenset(_Block.__struct_fields__)


def _loosely(message: bytes | Raw) -> _Message:
    """A message some of whose fields are of no type that they should have: those say nothing."""
    fields = payloads.part(_fields, message) or {}
    content = fields.get("content")
    if isinstance(content, list):
        content = [
            _Block(**{name: value for name, value in block.items() if name in _block_fields})
            for block in content
            if isinstance(block, dict)
        ]
    elif not isinstance(content, str):
        content = None
    return _Message(
        fields.get("role"), content, fields.get("command"), fields.get("code"), fields.get("output"),
        fields.get("summary"), fields.get("files"), fields.get("sections"), fields.get("toolsAdded", UNSET),
    )  # fmt: skip


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


def _of_content(message: _Message) -> int:
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


def _of_assistant(message: _Message) -> int:
    characters = 0
    for block in message.content if isinstance(message.content, list) else ():
        if block.type == "text":
            characters += _length(block.text)
        elif block.type == "thinking":
            characters += _length(block.thinking)
        elif block.type == "toolCall":
            characters += _length(block.name) + _length_as_json(block.arguments)
    return characters


def _of_system(message: _Message) -> int:
    sections = message.sections if isinstance(message.sections, dict) else {}
    named = sum(map(_length, sections.values()))
    return _of_content(message) + named + _length_as_json(message.tools_added)


def _of_files(message: _Message) -> int:
    files = message.files if isinstance(message.files, list) else []
    return sum(
        _length(file.get("content")) + (IMAGE_CHARACTERS if file.get("image") else 0)
        for file in files
        if isinstance(file, dict)
    )


_CHARACTERS: Final[dict[str, Callable[[_Message], int]]] = {
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


def _may_be_system(tree: Tree, entry_id: str) -> bool:
    row = tree.row(entry_id)
    return row is None or tree.role(row) not in _NEVER_SYSTEM


def _last_trusted(tree: Tree, leaf_row: int, read: Read) -> Steps[tuple[int, int]]:
    """The row of the last answer whose usage still holds, and its tokens; `NONE` and 0 without one."""
    seen: set[int] = set()
    row, walked = leaf_row, 0
    while row != NONE and row not in seen and tree.kind(row) not in _RECOUNTS:
        if tree.irregular:
            seen.add(row)
        if tree.role(row) == ASSISTANT:
            said = payloads.part(_answer_entry, read([row])[0])
            total = None if said is None else used(said.message)
            if total is not None:
                return row, total
            yield
        walked += 1
        if walked % _MESSAGES_A_STEP == 0:
            yield
        row = tree.parent(row)
    return NONE, 0
