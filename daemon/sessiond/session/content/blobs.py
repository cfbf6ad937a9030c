"""The references of entries to blobs, and the places in an entry whose bytes belong in a blob.

A reference is `blob:sha256:<hash>`. A reference to an image replaces its data, as in oh-my-pi. References to truncated
texts are in the entry's field `sessiondBlobs`, by JSON pointers (RFC 6901) to the truncated texts.
"""

import re
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Raw

from sessiond.hashing import sha256_of

PREFIX: Final = "blob:sha256:"
REFERENCE_BYTES: Final = len(PREFIX) + 64
"""Length of a reference in bytes."""
FIELD: Final = "sessiondBlobs"
NOTICE: Final = "\n\n[Session persistence truncated large content]"
"""The end of a truncated text (decision 0014)."""

_REFERENCE: Final = re.compile(rb"blob:sha256:([0-9a-f]{64})(?![0-9a-f])")
_WHOLE: Final = re.compile(rb'(?<!\\)"blob:sha256:([0-9a-f]{64})"')
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_IMAGES: Final = ("content", "images", "frames")

_text = msgspec.json.Decoder(str).decode


def hash_of(data: bytes) -> str:
    """Return the hash that identifies a blob: the SHA-256 of its bytes in hexadecimal."""
    return sha256_of(data).hexdigest()


def is_hash(text: str) -> bool:
    """Return whether a text has the form of a blob's hash; no other text may become part of a path."""
    return _HASH.fullmatch(text) is not None


def referenced_hashes(data: bytes | bytearray) -> list[str]:
    """Return the hashes of all references in some bytes, in order, with repetitions."""
    if _PREFIX not in data:
        return []
    return [found.decode() for found in _REFERENCE.findall(data)]


def hashes_in_places(data: bytes | bytearray) -> list[str]:
    """Return the hashes of the references in JSON that are whole strings, as those in the places of blobs are.

    A reference that a text only mentions is left out: the quotes around it are escaped.
    """
    return [found.decode() for found in _WHOLE.findall(data)] if _PREFIX in data else []


def reference_hash(text: str) -> str | None:
    """Return the hash of a text that is exactly one reference, or None."""
    digest = text.removeprefix(PREFIX)
    return digest if digest != text and is_hash(digest) else None


def image_field(fields: Mapping[str, Raw], key: str) -> str | None:
    """Return the field of an object that holds base64 of an image that belongs in a blob, or None.

    The fields are those of oh-my-pi: image blocks of a `content`, images of `images` and `frames`, and generated
    images.

    Args:
        fields: The members of the object.
        key: The name of the member in which the object is.

    """
    if key in _IMAGES and _is_text(fields.get("data")) and _is_image(fields, key):
        return "data"
    if _is_text(fields.get("result")) and text_of(fields.get("type")) == "image_generation_call":
        return "result"
    return None


def text_of(value: Raw | None) -> str | None:
    """Return a string value, or None for any other value."""
    return _text(value) if _is_text(value) and value is not None else None


def below(pointer: str, key: str) -> str:
    """Return the JSON pointer to a member of the value at `pointer`."""
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"


def with_changes(fields: Mapping[str, Raw], changed: Mapping[str, Raw]) -> dict[str, Raw]:
    """Return the members of an object with some of them changed; `lineCount` is updated for a new `content`."""
    merged = {name: changed.get(name, value) for name, value in fields.items()}
    content = text_of(changed.get("content"))
    if content is not None and memoryview(fields.get("lineCount", b"-"))[0] in b"0123456789":
        merged["lineCount"] = Raw(str(content.count("\n") + 1).encode())
    return merged


def _is_image(fields: Mapping[str, Raw], key: str) -> bool:
    if text_of(fields.get("type")) == "image":
        return True
    mime_type = text_of(fields.get("mimeType")) or ""
    return key != "content" and mime_type.lower().startswith("image/")


def _is_text(value: Raw | None) -> bool:
    return value is not None and bytes(memoryview(value)[:1]) == b'"'


_PREFIX: Final = PREFIX.encode()
