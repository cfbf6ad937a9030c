"""Returns the message that one entry adds to a context: copied from its line, edited, or made from a summary.

A message without an edit is not encoded again. Null or missing content is read as empty, as in pi. Edits are the
`context_edit` entries of pi (decision 0015).
"""

from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.session.context import summaries
from sessiond.session.tree import lines, payloads

Edit: TypeAlias = Raw | UnsetType | None
"""The new content; None if the entry is omitted; UNSET if it is not edited."""

_OF_BLOCKS: Final = ("user", "assistant", "toolResult")
_EDITABLE: Final = (*_OF_BLOCKS, "custom")


class RawMessage(NamedTuple):
    """A message and its role."""

    role: object
    body: Raw


class _Head(msgspec.Struct, gc=False):
    role: Any = None
    content: Raw | UnsetType = UNSET


class _HeadEntry(msgspec.Struct, gc=False):
    message: _Head


class _BodyEntry(msgspec.Struct, gc=False):
    message: Raw


class _EditEntry(msgspec.Struct, rename="camel"):
    target_id: str
    replacement: dict[str, Raw] | None


_head = msgspec.json.Decoder(_HeadEntry)
_body = msgspec.json.Decoder(_BodyEntry)
_edit = msgspec.json.Decoder(_EditEntry)


def of_message(entry: bytes, edit: Edit = UNSET) -> RawMessage | None:
    """Return the message of a `message` entry; None if it has none or an edit omits it."""
    try:
        head, body = _head.decode(entry).message, _body.decode(entry).message
    except (msgspec.DecodeError, RecursionError):
        found = _decode_leniently(entry)
        if found is None:
            return None
        head, body = found
    if edit is UNSET:
        missing = head.content is UNSET or payloads.is_null(head.content)
        return RawMessage(head.role, _with_empty_content(body, head.role) if missing else body)
    return None if edit is None else RawMessage(head.role, _edited(body, head.role, edit))


def of_custom_message(entry: bytes, edit: Edit = UNSET) -> RawMessage | None:
    """Return the message of a `custom_message` entry; None if an edit omits it."""
    if edit is None:
        return None
    body = summaries.custom_message(entry)
    return RawMessage("custom", body if edit is UNSET else _edited(body, "custom", edit))


def of_branch_summary(entry: bytes, edit: Edit = UNSET) -> RawMessage | None:
    """Return the message of a `branch_summary` entry; an edit can omit it but not change it."""
    body = None if edit is None else summaries.branch_message(entry)
    return None if body is None else RawMessage("branchSummary", body)


def edit_of(entry: bytes) -> tuple[str, Raw | None] | None:
    """Return the target and new content of a `context_edit` entry; None if the entry is invalid.

    New content None means that the target is omitted.
    """
    edit = payloads.part(_edit, entry)
    if edit is None:
        return None
    if edit.replacement is None:
        return edit.target_id, None
    content = edit.replacement.get("content")
    return None if content is None else (edit.target_id, content)


def _edited(body: Raw, role: object, content: Raw) -> Raw:
    if role not in _EDITABLE:
        return body
    if role in ("assistant", "toolResult") and bytes(content).startswith(b'"'):
        content = Raw(msgspec.json.encode([{"type": "text", "text": content}]))
    return payloads.with_field(body, "content", content)


def _with_empty_content(body: Raw, role: object) -> Raw:
    if role == "system":
        return payloads.with_field(body, "content", "")
    if role in _OF_BLOCKS:
        return payloads.with_field(body, "content", [])
    return body


def _decode_leniently(entry: bytes) -> tuple[_Head, Raw] | None:
    """Return the message of an entry with lone surrogates; they are preserved as escapes."""
    try:
        message = lines.loads(entry).get("message")
        if not isinstance(message, dict):
            return None
        body = Raw(lines.dumps(message))
    except (lines.NotAnEntry, RecursionError):
        return None
    content = UNSET if message.get("content") is None else body
    return _Head(message.get("role"), content), body
