"""Parses and checks drafts, independently of their place in a tree.

Bodies are stored as sent. Only model changes are completed, so that both pi and oh-my-pi can read them.
"""

from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from sessiond.hub.errors import InvalidEntry, TooLarge
from sessiond.session.tree import entries, marks
from sessiond.session.tree.steps import Steps

MAX_ENTRY_BYTES: Final = 48 * 1024 * 1024
"""The limit of one entry in bytes: it must fit into a frame when it is read."""

_head = msgspec.json.Decoder(entries.DraftHead).decode
_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_message = msgspec.json.Decoder(entries.MessageHead).decode
_encode = msgspec.json.Encoder().encode
_MESSAGE: Final = Raw(b'"message"')
_PLAIN_MESSAGE: Final = entries.DraftHead(type="message")
_KNOWN = frozenset(entries.TYPES)
_UNREADABLE: Final = (RecursionError, KeyError, msgspec.DecodeError)


class _NewMessage(msgspec.Struct, tag_field="type", tag="message", forbid_unknown_fields=True, gc=False):
    """The most common draft."""

    message: Raw


_new_message = msgspec.json.Decoder(_NewMessage).decode


class Draft(msgspec.Struct, frozen=True, gc=False):
    """A parsed draft: `fields` has all its members, `target` is the target id of a leaf or label entry."""

    index: int
    type: str
    id: str | None
    parent_id: str | UnsetType | None
    timestamp: str | None
    role: str | None
    target: str | None
    fields: dict[str, Raw]
    sets_no_property: bool
    """Whether it certainly changes no fact of its session: see `session.marks`."""


def read_draft(index: int, raw: bytes) -> Draft:
    """Parse the draft in a JSON object. Raises `InvalidEntry`, `TooLarge`.

    Args:
        index: The position of the draft in its batch, for errors.
        raw: The JSON object.
    """
    refuse_too_large(index, raw)
    try:
        if b"\n" in raw:
            raw = _on_one_line(raw)
        fields = _fields(raw)
        return _draft(index, raw, fields, _plain_message(fields) or _head(raw))
    except _UNREADABLE as error:
        raise _refusal(index, error) from None


class NewMessage(msgspec.Struct, frozen=True, gc=False):
    """The draft of a new message without other members."""

    body: bytes
    role: str


def read_new_message(raw: bytes) -> NewMessage | None:
    """Return the message, if a draft has only the members `type` and `message`. None for any other draft."""
    try:
        body = bytes(_new_message(raw).message)
        # `in` would first try to make a number of the newline, which costs as much as the decoding.
        return None if body.find(b"\n") >= 0 else NewMessage(body, _message(body).role)
    except _UNREADABLE:
        return None


def read_in_steps(index: int, raw: bytes) -> Steps[Draft]:
    """Parse a draft as `read_draft` does, in steps. Each step reads the whole draft once."""
    refuse_too_large(index, raw)
    try:
        if b"\n" in raw:
            raw = _on_one_line(raw)
            yield
        fields = _fields(raw)
        yield
        head = _plain_message(fields) or _head(raw)
        yield
        return _draft(index, raw, fields, head)
    except _UNREADABLE as error:
        raise _refusal(index, error) from None


def _on_one_line(raw: bytes) -> bytes:
    return msgspec.json.format(raw, indent=-1)


def _draft(index: int, raw: bytes, fields: dict[str, Raw], head: entries.DraftHead) -> Draft:
    role = target = None
    sets_no_property = False
    if head.type == "message":
        role = _message(fields["message"]).role
    elif head.type in _KNOWN:
        payload = entries.decode_payload(raw)
        target, sets_no_property = _take_known(payload, fields), marks.sets_no_property(payload)
    entry_id = _entry_id(index, head)
    timestamp = None if head.timestamp is UNSET else head.timestamp
    return Draft(
        index, head.type, entry_id, head.parent_id, timestamp, role, target, fields, sets_no_property
    )


def _refusal(index: int, error: Exception) -> InvalidEntry:
    match error:
        case RecursionError():
            return InvalidEntry(index, "it is nested too deeply")
        case KeyError():
            return InvalidEntry(index, "it is a message without `message`")
        case _:
            return InvalidEntry(index, str(error))


def refuse_too_large(index: int, raw: bytes) -> None:
    """Raise `TooLarge` for a draft that does not fit into a frame when it is read."""
    if len(raw) > MAX_ENTRY_BYTES:
        raise TooLarge(f"entry {index} of the batch", len(raw), MAX_ENTRY_BYTES)


def _entry_id(index: int, head: entries.DraftHead) -> str | None:
    """Return the id that the client gave, if any. Raises `InvalidEntry` for an invalid id or type."""
    if head.type == "session":
        raise InvalidEntry(index, "`session` is the type of the header; `session/create` writes that")
    if not head.type:
        raise InvalidEntry(index, "its type is empty - at `$.type`")
    if head.id is UNSET or head.id is None:
        return None
    if not entries.valid_entry_id(head.id):
        raise InvalidEntry(index, "its id is not 1 to 64 characters of A-Z a-z 0-9 _ - - at `$.id`")
    return head.id


def _plain_message(fields: dict[str, Raw]) -> entries.DraftHead | None:
    """Return the head of the most common draft without a second parse; None for other drafts."""
    is_plain = len(fields) == 2 and "message" in fields and fields.get("type") == _MESSAGE
    return _PLAIN_MESSAGE if is_plain else None


def _take_known(payload: entries.AnyPayload, fields: dict[str, Raw]) -> str | None:
    """Complete a model change in `fields`. Returns the target id of a leaf or label entry, else None."""
    match payload:
        case entries.LeafEntry(target_id=target) | entries.LabelEntry(target_id=target):
            return target
        case entries.ModelChangeEntry(model=str(model), provider=None, model_id=None) if "/" in model:
            provider, _, model_id = model.partition("/")
            fields["provider"], fields["modelId"] = Raw(_encode(provider)), Raw(_encode(model_id))
        case entries.ModelChangeEntry(model=str(model), provider=None, model_id=None) if model:
            fields["modelId"] = Raw(_encode(model))
        case entries.ModelChangeEntry(model=None, provider=provider, model_id=str(model_id)) if model_id:
            fields["model"] = Raw(_encode(f"{provider}/{model_id}" if provider else model_id))
    return None
