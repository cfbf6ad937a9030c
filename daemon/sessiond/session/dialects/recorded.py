"""Joins the entries of an agent's own files with those that were recorded of the same session while it ran.

`sessiond acp` records a conversation as it happens, and the same conversation is in the files of the agent. Ids tell
only some of the pairs: a prompt has no id while it runs. So the two are compared by their content: the text
of a user or an answer, the id of a tool call, the id of the call that a result answers. Entries that say what was
recorded are left out, and the others are placed below the recorded ones (decision 0049).

The tokens of a turn count once: those that were recorded, else those of the agent's file, as `model_usage` entries.
"""

import re
from collections import Counter
from collections.abc import Container, Iterator, Set
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any, Final, NamedTuple

import msgspec

from sessiond.session.content import fields
from sessiond.session.dialects import imported_log
from sessiond.session.dialects.import_builder import Imported, ImportedEntry
from sessiond.session.state.recorded_usage import usage_of_entry
from sessiond.session.tree import lines
from sessiond.session.tree.codes import KIND, USER
from sessiond.session.tree.steps import Read
from sessiond.session.tree.tree import Tree

RECORDED_TYPE: Final = "sessiond.recorded"
"""`customType` of the entry of a session that is recorded: {by}."""
_END: Final = b'"customType":"sessiond.acpTurn"'
_PROMPT: Final = b'"acp":{"turn":'
_ANSWER: Final = b'"api":"acp"'
_ROWS_AT_ONCE: Final = 100
_MESSAGE: Final = KIND["message"]
_USAGE: Final = "model_usage"
_OF_FILE: Final = "usage-"
"""The beginning of the ids of entries with the tokens of omitted messages."""
_CUSTOM: Final = KIND["custom"]
_SPACE: Final = re.compile(r"\s+")

Said = tuple[str, str]
"""One part of a message: its kind, and its text or the id of a call."""


def recorded_id(dialect: str, source_id: str) -> str:
    """Return the id of the `sessiond.recorded` entry of a session of an agent."""
    return f"recorded-{fields.digest(dialect, source_id)}"


def is_recorded(tree: Tree, imported: Imported) -> bool:
    """Return whether a session of an agent was recorded while it ran."""
    return tree.any_row(recorded_id(imported.dialect, imported.source_id)) is not None


def has_open_turn(tree: Tree, read: Read) -> bool:
    """Return whether the last recorded prompt has no end yet."""
    for row in reversed(range(1, len(tree))):
        if tree.kind(row) not in (_CUSTOM, _MESSAGE):
            continue
        line = read([row])[0]
        if tree.kind(row) == _CUSTOM and _END in line:
            return False
        if tree.role(row) == USER and _PROMPT in line:
            return True
    return False


def joined(imported: Imported, tree: Tree, read: Read) -> Imported:
    """Return an import without the entries that were also recorded; the others have recorded parents.

    Args:
        imported: The result of reading the agent's file.
        tree: The session.
        read: Returns its entries by row.
    """
    last = imported.conversation_count + 1
    theirs = [(entry.id, said) for entry in imported.entries[1:last] for said in _said(entry.line)]
    of_source = {entry.id for entry in imported.entries}
    recorded = list(_recorded(tree, read, of_source))
    ours = _alike(
        [(entry.id, said) for entry in recorded for said in entry.said], {pair[1] for pair in theirs}
    )
    matching = SequenceMatcher(None, [pair[1] for pair in theirs], [pair[1] for pair in ours], autojunk=False)
    found: dict[str, list[str]] = {}
    for block in matching.get_matching_blocks():
        for offset in range(block.size):
            found.setdefault(theirs[block.a + offset][0], []).append(ours[block.b + offset][0])
    count = Counter(pair[0] for pair in theirs)
    # The last recorded entry by the id of each entry that was recorded completely.
    names = {
        entry_id: same[-1]
        for entry_id, same in found.items()
        if len(same) == count[entry_id] and tree.any_row(entry_id) is None
    }
    counted = {entry.id for entry in recorded if entry.is_counted}
    same_ids = {entry.id for entry in recorded if entry.id in of_source}
    conversation = list(_conversation(imported.entries[1:last], names, same_ids, counted, tree))
    kept = [
        imported.entries[0],
        *conversation,
        *(imported_log.below(entry, names) for entry in imported.entries[last:]),
    ]
    leaf = None if imported.leaf is None else names.get(imported.leaf, imported.leaf)
    return replace(imported, entries=kept, leaf=leaf, conversation_count=len(conversation))


def _conversation(
    entries: list[ImportedEntry],
    names: dict[str, str],
    same_ids: Container[str],
    counted: Container[str],
    tree: Tree,
) -> Iterator[ImportedEntry]:
    """Yield the entries of a conversation that were not recorded, and the tokens of recorded turns without any.

    Args:
        entries: The entries of the file.
        names: The recorded entries by the ids of entries with equal content. Those of recorded tokens are added.
        same_ids: The recorded entries that have the ids of those of the file.
        counted: The recorded entries of turns whose tokens were recorded.
        tree: The session.
    """
    place: str | None = None  # the last recorded entry, if the last message of the file was recorded
    for entry in entries:
        if entry.id in names or entry.id in same_ids:
            place = names.get(entry.id, entry.id)
            if entry.id in same_ids:
                yield imported_log.below(entry, names)
            if place not in counted and (usage := _usage_of(entry, place)) is not None:
                yield usage
        elif (
            entry.type == _USAGE and place is not None and place in counted and tree.any_row(entry.id) is None
        ):
            names[entry.id] = names.get(entry.parent_id or "", entry.parent_id or place)
        else:
            if entry.type == "message":
                place = None
            yield imported_log.below(entry, names)


def _usage_of(imported: ImportedEntry, parent_id: str) -> ImportedEntry | None:
    """Return the tokens of a message as a separate entry; None if it has none."""
    if imported.role != "assistant":
        return None
    entry = _decoded(imported.line)
    message = fields.mapping(entry.get("message"))
    usage = fields.mapping(message.get("usage"))
    if not any(fields.number(usage.get(name)) for name in ("input", "output", "cacheRead", "cacheWrite")):
        return None
    entry_id = f"{_OF_FILE}{fields.digest(imported.id)}"
    keys = {"requestKey": entry.get("requestKey"), "responseId": message.get("responseId")}
    made = {
        "type": _USAGE, "id": entry_id, "parentId": parent_id, "timestamp": entry.get("timestamp"),
        "purpose": "turn", "provider": message.get("provider"), "model": message.get("model"), "usage": usage,
        **{name: key for name, key in keys.items() if key is not None},
    }  # fmt: skip
    return ImportedEntry(entry_id, parent_id, _USAGE, msgspec.json.encode(made))


def _alike(ours: list[tuple[str, Said]], theirs: Set[Said]) -> list[tuple[str, Said]]:
    """Return what was recorded, an answer without what an adapter put in front of it: it names no other message."""
    texts = sorted((text for kind, text in theirs if kind == "assistant"), key=len, reverse=True)
    found = []
    for entry_id, said in ours:
        if said[0] == "assistant" and said not in theirs:
            said = said[0], next((text for text in texts if said[1].endswith(text)), said[1])
        found.append((entry_id, said))
    return found


class _Recorded(NamedTuple):
    """A recorded message: its id, its parts, and whether the tokens of its turn were recorded."""

    id: str
    said: list[Said]
    is_counted: bool


def _recorded(tree: Tree, read: Read, of_source: Container[str]) -> Iterator[_Recorded]:
    """Yield the recorded messages in log order, without those that were read from the file."""
    turn: list[tuple[str, list[Said]]] = []
    is_counted = False
    rows = [row for row in range(1, len(tree)) if tree.kind(row) in (_MESSAGE, KIND[_USAGE])]
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        for row, line in zip(some, read(some), strict=True):
            entry_id = tree.id(row)
            if entry_id is None or entry_id.startswith(_OF_FILE):
                continue
            if entry_id in of_source and _ANSWER not in line and _PROMPT not in line:
                continue
            if tree.role(row) == USER:
                yield from (_Recorded(*parts, is_counted) for parts in turn)
                turn, is_counted = [], False
            if tree.kind(row) == _MESSAGE:
                turn.append((entry_id, list(_said(line))))
            is_counted = is_counted or usage_of_entry(line) is not None
    yield from (_Recorded(*parts, is_counted) for parts in turn)


def _said(line: bytes) -> Iterator[Said]:
    """Yield the parts of a message. Thoughts are left out, because some agents do not keep them."""
    message = fields.mapping(_decoded(line).get("message"))
    role = fields.as_text(message.get("role"))
    if role == "toolResult":
        yield "result", fields.as_text(message.get("toolCallId"))
        return
    content = message.get("content")
    blocks: list[Any] = (
        [{"type": "text", "text": content}] if isinstance(content, str) else fields.items(content)
    )
    texts: list[str] = []
    for block in map(fields.mapping, blocks):
        if block.get("type") == "toolCall":
            yield from _text(role, texts)
            texts = []
            yield "call", fields.as_text(block.get("id"))
        elif block.get("type") == "text":
            texts.append(fields.as_text(block.get("text")))
    yield from _text(role, texts)


def _text(role: str, texts: list[str]) -> Iterator[Said]:
    text = _SPACE.sub(" ", "".join(texts)).strip()
    if text:
        yield role, text


def _decoded(line: bytes) -> dict[str, Any]:
    try:
        return lines.loads(line)
    except lines.NotAnEntry:
        return {}
