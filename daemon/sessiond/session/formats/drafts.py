"""Converts items of an append in a provider's format to drafts in the agents' format. Each is encoded once."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw

from sessiond.session.context.summaries import milliseconds
from sessiond.session.formats import from_anthropic, from_google, from_openai, from_openai_responses
from sessiond.session.formats.build import Json, UnreadableMessage
from sessiond.session.formats.write import Provider
from sessiond.session.tree import entries

_READERS: Final[dict[Provider, Callable[[bytes | Raw], list[Json]]]] = {
    "openai": from_openai.read,
    "openai-responses": from_openai_responses.read,
    "anthropic": from_anthropic.read,
    "google": from_google.read,
}
_ITEM_TYPES: Final = {"openai-responses": from_openai_responses.ITEM_TYPES}
_PROVIDER_FIELDS: Final = ("role", "choices", "candidates", "parts")
"""Fields that only a provider's message or answer has, and no entry with a `message`."""


class _Envelope(msgspec.Struct, rename="camel"):
    type: Any = None
    id: Any = None
    timestamp: Any = None


_fields = msgspec.json.Decoder(dict[str, Raw])
_envelope = msgspec.json.Decoder(_Envelope)


def drafts(format: Provider, item: bytes | Raw) -> Sequence[bytes | Raw]:
    """Return the drafts of an item: a provider's message, bare or as the `message` of an entry, or any other draft.

    If a message becomes several, the first has the item's id. The others have that id with `-1`, `-2` and so on.

    Raises:
        UnreadableMessage: The message is not one of its format.
        msgspec.DecodeError: The item is not valid JSON, or not of the expected types.
        RecursionError: The item is nested too deeply.
    """
    fields = _fields.decode(item)
    envelope = _envelope.decode(item)
    if envelope.type not in (None, "message", *_ITEM_TYPES.get(format, ())):
        return [item]  # an entry of another type is the same in every format
    if "message" in fields and not any(name in fields for name in _PROVIDER_FIELDS):
        body = fields.pop("message")
        try:
            messages = _READERS[format](body)
        except (UnreadableMessage, msgspec.ValidationError) as error:
            raise UnreadableMessage(_with_entry_location(str(error))) from None
        return _entries(fields, envelope, messages)
    return _entries({}, _Envelope(), _READERS[format](item))


def _entries(fields: dict[str, Raw], envelope: _Envelope, messages: Sequence[Json]) -> list[bytes]:
    fields.pop("type", None)
    ids = _ids(envelope.id, len(messages))
    timestamp_ms = milliseconds(envelope.timestamp)
    encoded: list[bytes] = []
    for message, entry_id in zip(messages, ids, strict=True):
        if timestamp_ms is not None:
            message["timestamp"] = timestamp_ms
        if encoded:
            fields = {name: value for name, value in fields.items() if name == "timestamp"}
        id_field: Json = {} if entry_id is None else {"id": entry_id}
        encoded.append(msgspec.json.encode({"type": "message", **fields, **id_field, "message": message}))
    return encoded


def _ids(entry_id: object, count: int) -> Sequence[str | None]:
    if entry_id is None:
        return [None] * count
    ids = [f"{entry_id}-{number}" if number else str(entry_id) for number in range(count)]
    if not isinstance(entry_id, str) or not all(map(entries.valid_entry_id, ids)):
        suffix = " with the suffix of a further entry" if count > 1 else ""
        raise UnreadableMessage(f"its id{suffix} is not 1 to 64 characters of A-Z a-z 0-9 _ -", ".id")
    return ids


def _with_entry_location(reason: str) -> str:
    """Return an error text with its position in the message replaced by the position in the entry."""
    description, separator, location = reason.partition(" - at `$")
    return f"{description} - at `$.message{location}" if separator else f"{description} - at `$.message`"
