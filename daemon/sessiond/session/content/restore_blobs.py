"""Putting blobs back where they were taken out of an entry: `large.take_out`, the other way round.

What oh-my-pi took out of its own files is put back too. A reference whose blob is not to be had stays, as the
peers have it.
"""

import binascii
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw

from sessiond.session.content import blobs
from sessiond.session.tree import lines

Find: TypeAlias = Callable[[str], bytes | None]
"""The bytes of a blob by its hash, or None when there are none."""

_PREFIX: Final = blobs.PREFIX.encode()
_fields = msgspec.json.Decoder(dict[str, Raw]).decode
_items = msgspec.json.Decoder(list[Raw]).decode
_cuts = msgspec.json.Decoder(dict[str, str]).decode
_encode = msgspec.json.Encoder().encode


def names_blobs(entry: bytes) -> bool:
    """Whether an entry may have something to be put back: a quick look."""
    return _PREFIX in entry


def put_back(entry: bytes, find: Find) -> bytes:
    """The entry with the blobs that are found in their places, without `sessiondBlobs` if all texts were.

    Lone surrogates in such an entry become U+FFFD. Anything that is no entry is answered as it is.
    """
    if not names_blobs(entry):
        return entry
    try:
        return _whole(entry, find)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return _whole(lines.well_formed(entry), find)
    except (msgspec.DecodeError, RecursionError, lines.NotAnEntry):
        return entry


def put_back_images(entry: bytes, find: Find) -> bytes:
    """The entry with the images that are found in their places, and nothing else changed: cut texts stay cut.

    Lone surrogates in such an entry become U+FFFD. Anything that is no entry is answered as it is.
    """
    if not names_blobs(entry):
        return entry
    try:
        return _with_images(entry, find)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return _with_images(lines.well_formed(entry), find)
    except (msgspec.DecodeError, RecursionError, lines.NotAnEntry):
        return entry


def wanted(entry: bytes) -> list[str]:
    """The hashes of all that would be put back into an entry, as often as it would be."""
    found: list[str] = []

    def note(digest: str) -> None:
        found.append(digest)

    put_back(entry, note)
    return found


def cuts_of(entry: bytes, *, below: str = "") -> dict[str, str]:
    """What `sessiondBlobs` says: references of cut texts, by the pointers to what is left of them.

    Pointers that lead below `below` are answered as they are from there.
    """
    if _FIELD not in entry:
        return {}
    try:
        cuts = _cuts(_fields(entry).get(blobs.FIELD, b"{}"))
    except (msgspec.DecodeError, RecursionError):
        return {}
    return {_within(pointer, below): cut for pointer, cut in cuts.items()}


def put_back_into_message(message: bytes, cuts: dict[str, str], find: Find) -> bytes:
    """As `put_back`, for a message that came from an entry; `cuts` point into the message."""
    putting = _Putting({pointer: cut for pointer, cut in cuts.items() if blobs.referred(cut)}, find)
    try:
        changed = putting.value(Raw(message), "", "")
    except (msgspec.DecodeError, RecursionError):
        return message
    return message if changed is None else bytes(changed)


def _whole(entry: bytes, find: Find) -> bytes:
    fields = _fields(entry)
    try:
        cuts = _cuts(fields.get(blobs.FIELD, b"{}"))
    except msgspec.DecodeError:
        cuts = {}
    putting = _Putting({pointer: cut for pointer, cut in cuts.items() if blobs.referred(cut)}, find)
    changed = putting.members({name: value for name, value in fields.items() if name != blobs.FIELD}, "")
    if changed is None:
        return entry
    left = {pointer: cut for pointer, cut in cuts.items() if pointer not in putting.restored}
    if left:
        changed[blobs.FIELD] = Raw(_encode(left))
    return _encode(changed)


def _with_images(entry: bytes, find: Find) -> bytes:
    fields = _fields(entry)
    changed = _Putting({}, find).members(
        {name: value for name, value in fields.items() if name != blobs.FIELD}, ""
    )
    if changed is None:
        return entry
    if blobs.FIELD in fields:
        changed[blobs.FIELD] = fields[blobs.FIELD]
    return _encode(changed)


class _Putting:
    """One entry being put together; None stands for "as it was"."""

    def __init__(self, cuts: dict[str, str], find: Find) -> None:
        self.restored: set[str] = set()
        self._cuts = cuts
        self._find = find

    def members(self, fields: dict[str, Raw], pointer: str) -> dict[str, Raw] | None:
        """The members of an object."""
        changed: dict[str, Raw] = {}
        for name, value in fields.items():
            new = self.value(value, name, blobs.below(pointer, name))
            if new is not None:
                changed[name] = new
        return blobs.with_changes(fields, changed) if changed else None

    def value(self, value: Raw, key: str, pointer: str) -> Raw | None:
        """A value that stands in the member `key`, or in an array there."""
        first = bytes(memoryview(value)[:1])
        if first == b'"':
            return self._string(value, key, pointer)
        if first not in (b"{", b"[") or not (_PREFIX in bytes(value) or self._has_cut_below(pointer)):
            return None
        if first == b"[":
            return self._array(value, key, pointer)
        return self._object(value, key, pointer)

    def _has_cut_below(self, pointer: str) -> bool:
        return any(cut.startswith(f"{pointer}/") for cut in self._cuts)

    def _string(self, value: Raw, key: str, pointer: str) -> Raw | None:
        if key == "image_url" and (data := self._data(value)) is not None:
            return _as_text(data)
        cut = self._cuts.get(pointer)
        if cut is None:
            return None
        left = blobs.text_of(value) or ""
        if not left.endswith(blobs.NOTICE):
            return None
        data = self._find(blobs.referred(cut) or "")
        whole = None if data is None else _text(data)
        if whole is None or not whole.startswith(left.removesuffix(blobs.NOTICE)):
            return None
        self.restored.add(pointer)
        return Raw(_encode(whole))

    def _object(self, value: Raw, key: str, pointer: str) -> Raw | None:
        fields = _fields(value)
        image = blobs.image_field(fields, key)
        if image is None:
            changed = self.members(fields, pointer)
            return None if changed is None else Raw(_encode(changed))
        data = self._data(fields[image])
        if data is None:
            return None
        return Raw(_encode(fields | {image: Raw(b'"%b"' % binascii.b2a_base64(data, newline=False))}))

    def _array(self, value: Raw, key: str, pointer: str) -> Raw | None:
        items = _items(value)
        changed = {
            index: new
            for index, item in enumerate(items)
            if (new := self.value(item, key, f"{pointer}/{index}")) is not None
        }
        if not changed:
            return None
        return Raw(_encode([changed.get(index, item) for index, item in enumerate(items)]))

    def _data(self, value: Raw) -> bytes | None:
        if memoryview(value).nbytes != blobs.REFERENCE_BYTES + 2:
            return None
        digest = blobs.referred(blobs.text_of(value) or "")
        return None if digest is None else self._find(digest)


def _within(pointer: str, above: str) -> str:
    return pointer.removeprefix(above) if pointer.startswith(f"{above}/") else pointer


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _as_text(data: bytes) -> Raw | None:
    text = _text(data)
    return None if text is None else Raw(_encode(text))


_FIELD: Final = blobs.FIELD.encode()
