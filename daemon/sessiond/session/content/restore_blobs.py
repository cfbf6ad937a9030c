"""Restores blobs into the places of an entry from which `extract_blobs.extract` moved them.

Blobs that oh-my-pi extracted from its own files are restored too. If a blob is missing, its reference stays, as in the
peers.
"""

import binascii
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw

from sessiond.session.content import blobs
from sessiond.session.tree import lines

Find: TypeAlias = Callable[[str], bytes | None]
"""Returns the bytes of the blob with a hash, or None if it is missing."""

_PREFIX: Final = blobs.PREFIX.encode()
_PIECE: Final = 256 * 1024  # characters
_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_items = msgspec.json.Decoder(list[Raw]).decode
_truncations = msgspec.json.Decoder(dict[str, str]).decode
_encode = msgspec.json.Encoder().encode


def may_refer_to_blobs(entry: bytes) -> bool:
    """Return whether an entry may refer to blobs: a fast check."""
    return entry.find(_PREFIX) >= 0  # `in` takes longer: it first tries to make a number of the prefix


def restore(entry: bytes, find: Find) -> bytes:
    """Return an entry with its blobs restored.

    If all truncated texts were restored, `sessiondBlobs` is removed. Lone surrogates in an entry with references
    become U+FFFD. Anything that is not an entry is returned unchanged.

    Args:
        entry: The entry.
        find: Returns the bytes of a blob.

    """
    return _restored(entry, find, _whole)


def restore_images(entry: bytes, find: Find) -> bytes:
    """Return an entry with its images restored and nothing else changed: truncated texts stay truncated.

    Lone surrogates in an entry with references become U+FFFD. Anything that is not an entry is returned unchanged.

    Args:
        entry: The entry.
        find: Returns the bytes of a blob.

    """
    return _restored(entry, find, _with_images)


def needed_blobs(entry: bytes) -> list[str]:
    """Return the hashes of all blobs that restoring an entry needs, with repetitions."""
    found: list[str] = []

    def record(digest: str) -> None:
        found.append(digest)

    restore(entry, record)
    return found


def truncations_of(entry: bytes, *, below: str = "") -> dict[str, str]:
    """Return the references of truncated texts in `sessiondBlobs`, by the JSON pointers to those texts.

    Args:
        entry: The entry.
        below: A pointer; it is removed from the start of pointers that lead below it.

    """
    if _FIELD not in entry:
        return {}
    try:
        truncations = _truncations(_fields(entry).get(blobs.FIELD, b"{}"))
    except (msgspec.DecodeError, RecursionError):
        return {}
    return {_relative_pointer(pointer, below): reference for pointer, reference in truncations.items()}


def restore_message(message: bytes, truncations: dict[str, str], find: Find) -> bytes:
    """Restore blobs into a message that was taken from an entry, as `restore` does.

    Args:
        message: The message as JSON.
        truncations: The references of truncated texts, by JSON pointers into the message.
        find: Returns the bytes of a blob.

    """
    restoration = _Restoration(
        {pointer: reference for pointer, reference in truncations.items() if blobs.reference_hash(reference)},
        find,
    )
    try:
        changed = restoration.value(Raw(message), "", "")
    except (msgspec.DecodeError, RecursionError):
        return message
    return message if changed is None else bytes(changed)


def _restored(entry: bytes, find: Find, restore: Callable[[bytes, Find], bytes]) -> bytes:
    """Return what `restore` makes of an entry, or of its well-formed text; the entry if both cannot be decoded."""
    if not may_refer_to_blobs(entry):
        return entry
    try:
        return restore(entry, find)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return restore(lines.well_formed(entry), find)
    except (msgspec.DecodeError, RecursionError, lines.NotAnEntry):
        return entry


def _whole(entry: bytes, find: Find) -> bytes:
    fields = _fields(entry)
    try:
        truncations = _truncations(fields.get(blobs.FIELD, b"{}"))
    except msgspec.DecodeError:
        truncations = {}
    restoration = _Restoration(
        {pointer: reference for pointer, reference in truncations.items() if blobs.reference_hash(reference)},
        find,
    )
    changed = restoration.members({name: value for name, value in fields.items() if name != blobs.FIELD}, "")
    if changed is None:
        return entry
    missing = {
        pointer: reference
        for pointer, reference in truncations.items()
        if pointer not in restoration.restored
    }
    if missing:
        changed[blobs.FIELD] = Raw(_encode(missing))
    return _object(changed)


def _with_images(entry: bytes, find: Find) -> bytes:
    fields = _fields(entry)
    changed = _Restoration({}, find).members(
        {name: value for name, value in fields.items() if name != blobs.FIELD}, ""
    )
    if changed is None:
        return entry
    if blobs.FIELD in fields:
        changed[blobs.FIELD] = fields[blobs.FIELD]
    return _object(changed)


class _Restoration:
    """The restoration of one entry; None as a result means "unchanged"."""

    def __init__(self, truncations: dict[str, str], find: Find) -> None:
        self.restored: set[str] = set()
        self._truncations = truncations
        self._find = find

    def members(self, fields: dict[str, Raw], pointer: str) -> dict[str, Raw] | None:
        """Return the changed members of an object, or None."""
        changed: dict[str, Raw] = {}
        for name, value in fields.items():
            new_value = self.value(value, name, blobs.below(pointer, name))
            if new_value is not None:
                changed[name] = new_value
        return blobs.with_changes(fields, changed) if changed else None

    def value(self, value: Raw, key: str, pointer: str) -> Raw | None:
        """Return the changed value of the member `key`, or of an array in it; None if it is unchanged."""
        first_byte = bytes(memoryview(value)[:1])
        if first_byte == b'"':
            return self._string(value, key, pointer)
        if first_byte not in (b"{", b"[") or not (
            _PREFIX in bytes(value) or self._has_truncation_below(pointer)
        ):
            return None
        if first_byte == b"[":
            return self._array(value, key, pointer)
        return self._object(value, key, pointer)

    def _has_truncation_below(self, pointer: str) -> bool:
        return any(reference.startswith(f"{pointer}/") for reference in self._truncations)

    def _string(self, value: Raw, key: str, pointer: str) -> Raw | None:
        if key == "image_url" and (data := self._data(value)) is not None:
            return _as_text(data)
        reference = self._truncations.get(pointer)
        if reference is None:
            return None
        current = blobs.text_of(value) or ""
        if not current.endswith(blobs.NOTICE):
            return None
        data = self._find(blobs.reference_hash(reference) or "")
        full_text = None if data is None else _text(data)
        if full_text is None or not full_text.startswith(current.removesuffix(blobs.NOTICE)):
            return None
        self.restored.add(pointer)
        return Raw(_string(full_text))

    def _object(self, value: Raw, key: str, pointer: str) -> Raw | None:
        fields = _fields(value)
        image = blobs.image_field(fields, key)
        data = None if image is None else self._data(fields[image])
        if image is None or data is None:  # the data of an image of many megabytes is a text that was cut
            changed = self.members(fields, pointer)
            return None if changed is None else Raw(_object(changed))
        return Raw(_object(fields | {image: Raw(b'"%b"' % binascii.b2a_base64(data, newline=False))}))

    def _array(self, value: Raw, key: str, pointer: str) -> Raw | None:
        items = _items(value)
        changed = {
            index: new_value
            for index, item in enumerate(items)
            if (new_value := self.value(item, key, f"{pointer}/{index}")) is not None
        }
        if not changed:
            return None
        return Raw(b"[%b]" % b",".join(changed.get(index, item) for index, item in enumerate(items)))

    def _data(self, value: Raw) -> bytes | None:
        if memoryview(value).nbytes != blobs.REFERENCE_BYTES + 2:
            return None
        digest = blobs.reference_hash(blobs.text_of(value) or "")
        return None if digest is None else self._find(digest)


def _relative_pointer(pointer: str, prefix: str) -> str:
    return pointer.removeprefix(prefix) if pointer.startswith(f"{prefix}/") else pointer


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _as_text(data: bytes) -> Raw | None:
    text = _text(data)
    return None if text is None else Raw(_string(text))


def _object(members: dict[str, Raw]) -> bytes:
    """Return an object. The encoder of msgspec would end the process if there were no memory for a large one."""
    parts: list[bytes | Raw] = []
    for name, value in members.items():
        parts += (b"," if parts else b"{", _encode(name), b":", value)
    return b"".join([*parts, b"}"]) if parts else b"{}"


def _string(text: str) -> bytes:
    """Return a string, for which the same holds."""
    pieces = [_encode(text[start : start + _PIECE])[1:-1] for start in range(0, len(text), _PIECE)]
    return b'"%b"' % b"".join(pieces)


_FIELD: Final = blobs.FIELD.encode()
