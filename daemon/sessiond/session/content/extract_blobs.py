"""Moves large content of a draft into blobs: images and long texts; transient fields are dropped.

The limits are those of oh-my-pi, so that it finds the content in these files that it would have written itself. Unlike
oh-my-pi, sessiond stores the whole text of a truncated string in a blob (decision 0014). Unchanged members have the
same bytes. The same draft gives the same bytes, so that a retry is recognized.
"""

import binascii
from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from sessiond.session.content import blobs

MAX_CHARS: Final = 500_000
"""Limit of a text in UTF-16 code units, as the peers count. A longer text is truncated to it, including the notice."""
MIN_IMAGE_CHARS: Final = 1_024
"""Characters of base64 from which an image is moved into a blob."""
MAX_DEPTH: Final = 64
"""Limit of the nesting depth that is searched. It limits the cost of a draft; deeper values are unchanged."""

_TRANSIENT: Final = ("partialJson", "jsonlEvents")
_SIGNATURES: Final = ("thinkingSignature", "textSignature", "thoughtSignature")
_SIGNED_BLOCKS: Final = {
    "thinking": "thinkingSignature", "text": "textSignature", "toolCall": "thoughtSignature",
    "redactedThinking": "data", "reasoning": "encrypted_content", "anthropicServerTool": "block",
}  # fmt: skip
"""Types of blocks whose bytes a provider verifies, and the field that marks such a block."""

_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_items = msgspec.json.Decoder(list[Raw]).decode
_references = msgspec.json.Decoder(dict[str, str]).decode
_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


class ExtractedBlobs(NamedTuple):
    """The draft to store, and the blobs that were extracted from it, by hash."""

    draft: bytes
    blobs: dict[str, bytes]


def may_need_extraction(draft: bytes, *, images: bool = True) -> bool:
    """Return whether a draft may have to be changed: a fast check that may be true for a draft that need not be."""
    if len(draft) >= MIN_IMAGE_CHARS and (len(draft) > MAX_CHARS or (images and draft.find(b'"image') >= 0)):
        return True
    return _has_transient(draft)


def extract(draft: bytes, *, images: bool = True) -> ExtractedBlobs:
    """Return a draft without its large content. A draft that is not a JSON object is returned unchanged.

    Args:
        draft: The draft as JSON.
        images: If false, images of any size stay in the draft.

    """
    extraction = _Extraction(drops_transient=_has_transient(draft), images=images)
    try:
        fields = _fields(draft)
        existing = _references(fields.pop(blobs.FIELD, Raw(b"{}")))
        changed = extraction.members(fields, "", 0)
    except (msgspec.DecodeError, RecursionError):
        return ExtractedBlobs(draft, {})
    if changed is None:
        return ExtractedBlobs(draft, {})
    if truncations := existing | extraction.truncations:
        changed[blobs.FIELD] = Raw(_encode(truncations))
    return ExtractedBlobs(_encode(changed), extraction.blobs)


class _Extraction:
    """The extraction from one draft; None as a result means "unchanged"."""

    def __init__(self, *, drops_transient: bool, images: bool) -> None:
        self.blobs: dict[str, bytes] = {}
        self.truncations: dict[str, str] = {}
        self._drops_transient = drops_transient
        self._images = images

    def members(self, fields: dict[str, Raw], pointer: str, depth: int) -> dict[str, Raw] | None:
        """Return the changed members of an object, or None."""
        changed: dict[str, Raw] = {}
        for name, value in fields.items():
            if name not in _TRANSIENT:
                new_value = self._value(value, name, blobs.below(pointer, name), depth)
                if new_value is not None:
                    changed[name] = new_value
        remaining = {name: value for name, value in fields.items() if name not in _TRANSIENT}
        return blobs.with_changes(remaining, changed) if changed or len(remaining) < len(fields) else None

    def _value(self, value: Raw, key: str, pointer: str, depth: int) -> Raw | None:
        data = memoryview(value)
        if (len(data) < MIN_IMAGE_CHARS and not self._drops_transient) or depth == MAX_DEPTH:
            return None
        match data[:1].tobytes():
            case b'"':
                return self._string(value, key, pointer)
            case b"{":
                return self._object(value, key, pointer, depth)
            case b"[":
                return self._array(value, key, pointer, depth)
        return None

    def _string(self, value: Raw, key: str, pointer: str) -> Raw | None:
        size = memoryview(value).nbytes - 2  # in bytes; a character has one or more
        if (
            key == "image_url"
            and size >= MIN_IMAGE_CHARS
            and bytes(memoryview(value)[:12]) == b'"data:image/'
        ):
            return self._reference_to(_text(value).encode()) if self._images else None
        if size <= MAX_CHARS or key in _SIGNATURES:
            return None
        text = _text(value)
        truncated = _truncated(text)
        if truncated is None:
            return None
        self.truncations[pointer] = blobs.PREFIX + self._store(text.encode())
        return Raw(_encode(truncated))

    def _object(self, value: Raw, key: str, pointer: str, depth: int) -> Raw | None:
        fields = _fields(value)
        image = blobs.image_field(fields, key)
        if image is not None:
            data = _decode_base64(_text(fields[image])) if self._images else None
            if data is None:
                return None
            return Raw(_encode(fields | {image: self._reference_to(data)}))
        if _is_signed(fields, key):
            return None
        changed = self.members(fields, pointer, depth + 1)
        return None if changed is None else Raw(_encode(changed))

    def _array(self, value: Raw, key: str, pointer: str, depth: int) -> Raw | None:
        items = _items(value)
        changed = {
            index: new_value
            for index, item in enumerate(items)
            if (new_value := self._value(item, key, f"{pointer}/{index}", depth + 1)) is not None
        }
        if not changed:
            return None
        return Raw(_encode([changed.get(index, item) for index, item in enumerate(items)]))

    def _reference_to(self, data: bytes) -> Raw:
        return Raw(_encode(blobs.PREFIX + self._store(data)))

    def _store(self, data: bytes) -> str:
        digest = blobs.hash_of(data)
        self.blobs[digest] = data
        return digest


def _has_transient(draft: bytes) -> bool:
    # Searching for a rare letter first costs a hundredth of searching for the word.
    return (draft.find(b"J") >= 0 and draft.find(b"partialJson") >= 0) or (
        draft.find(b"E") >= 0 and draft.find(b"jsonlEvents") >= 0
    )


def _truncated(text: str) -> str | None:
    """Return a text truncated to the limit, with the notice, and not within a surrogate pair; None if it fits."""
    max_units = MAX_CHARS - len(blobs.NOTICE)
    if text.isascii():
        return text[:max_units] + blobs.NOTICE if len(text) > MAX_CHARS else None
    units = text.encode("utf-16-le")
    if len(units) <= 2 * MAX_CHARS:
        return None
    return units[: 2 * max_units].decode("utf-16-le", "ignore") + blobs.NOTICE


def _decode_base64(text: str) -> bytes | None:
    """Return the bytes of base64 text, or None if it is too short, invalid or not canonical."""
    if len(text) < MIN_IMAGE_CHARS:
        return None
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError):
        return None
    return data if binascii.b2a_base64(data, newline=False).decode() == text else None


def _is_signed(fields: dict[str, Raw], key: str) -> bool:
    kind = blobs.text_of(fields.get("type"))
    if kind == "anthropicCompaction" or (key == "anthropicCompaction" and "content" in fields):
        return True
    signature = fields.get(_SIGNED_BLOCKS.get(kind or "", ""))
    return signature is not None and bytes(memoryview(signature)[:5]) not in (b'""', b"null")
