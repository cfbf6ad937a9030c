"""How entries name blobs, and where in an entry bytes may stand that belong into one.

A reference is `blob:sha256:<hash>`. Images are named where their data stood, as oh-my-pi has it; texts that
were cut are named in the entry's field `sessiondBlobs`, by JSON pointers (RFC 6901) to what is left of them.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Raw

PREFIX: Final = "blob:sha256:"
REFERENCE_BYTES: Final = len(PREFIX) + 64
FIELD: Final = "sessiondBlobs"
NOTICE: Final = "\n\n[Session persistence truncated large content]"
"""How a text ends that was cut (decision 0014)."""

_REFERENCE: Final = re.compile(rb"blob:sha256:([0-9a-f]{64})(?![0-9a-f])")
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_IMAGES: Final = ("content", "images", "frames")

_text = msgspec.json.Decoder(str).decode


def hash_of(data: bytes) -> str:
    """The name of these bytes: their SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def is_hash(text: str) -> bool:
    """Whether this can be the name of a blob; nothing else may become part of a path."""
    return _HASH.fullmatch(text) is not None


def named(data: bytes) -> list[str]:
    """The hashes of all references in some bytes, in order, as often as they are there."""
    if _PREFIX not in data:
        return []
    return [found.decode() for found in _REFERENCE.findall(data)]


def referred(text: str) -> str | None:
    """The hash in a text that is a reference and nothing else, or None."""
    digest = text.removeprefix(PREFIX)
    return digest if digest != text and is_hash(digest) else None


def image_field(fields: Mapping[str, Raw], key: str) -> str | None:
    """Which field of an object holds base64 that belongs into a blob; `key` is where the object stands.

    Those of oh-my-pi: image blocks of a `content`, images of `images` and `frames`, and generated ones.
    """
    if key in _IMAGES and _is_text(fields.get("data")) and _is_image(fields, key):
        return "data"
    if _is_text(fields.get("result")) and text_of(fields.get("type")) == "image_generation_call":
        return "result"
    return None


def text_of(value: Raw | None) -> str | None:
    """A value that is a text, or None."""
    return _text(value) if _is_text(value) and value is not None else None


def below(pointer: str, key: str) -> str:
    """The JSON pointer to a member of what `pointer` points to."""
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"


def with_changes(fields: Mapping[str, Raw], changed: Mapping[str, Raw]) -> dict[str, Raw]:
    """The members of an object, some of them changed; a `lineCount` counts the lines of a new `content`."""
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
