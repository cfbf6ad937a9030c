"""Real images, and blocks that hold them."""

import base64
import struct
import zlib
from typing import Any


def png(width: int, height: int, *, seed: int = 0) -> bytes:
    """A gray picture that any viewer opens, different for each seed, and not smaller after compression."""
    rows = b"".join(
        b"\0" + bytes((x * x + 31 * y * x + 7 * y + seed) % 256 for x in range(width)) for y in range(height)
    )
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(rows, 0)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )


def image_block(data: bytes, mime_type: str = "image/png") -> dict[str, Any]:
    """An image in the form that pi and oh-my-pi have in a `content`."""
    return {"type": "image", "mimeType": mime_type, "data": base64.b64encode(data).decode()}
