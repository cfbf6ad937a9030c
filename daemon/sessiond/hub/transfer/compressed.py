"""Decompresses files that an agent compressed (`.zst`), up to a limit."""

import io
from typing import Final

from sessiond.error_text import TemplatedError

SUFFIX: Final = ".zst"
_CHUNK: Final = 1 << 20
_MAX_WINDOW: Final = 128 << 20
"""Bytes of memory that a frame may claim. The program `zstd` has the same limit by default."""


class BadFrame(TemplatedError):
    """Raised when compressed data cannot be read; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


def decompressed(data: bytes, limit: int | None) -> bytes:
    """Return the content of all frames.

    Args:
        data: The compressed bytes.
        limit: The largest number of bytes that is returned; None for no limit.

    Raises:
        BadFrame: A frame is damaged or cut off, or the content is larger than `limit`.
    """
    try:
        import zstandard
    except ImportError:
        raise BadFrame("it is compressed, and the package zstandard is not installed") from None
    found, size = [], 0
    reader = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(
        io.BytesIO(data), read_across_frames=True
    )
    try:
        while chunk := reader.read(_CHUNK):
            size += len(chunk)
            if limit is not None and size > limit:
                raise BadFrame(
                    f"its content has more than {limit:,} bytes, which is what the free memory allows"
                )
            found.append(chunk)
    except zstandard.ZstdError as error:
        raise BadFrame(f"a compressed frame is damaged: {error}") from None
    content = b"".join(found)
    if not content or not content.endswith(b"\n"):
        raise BadFrame("its compressed data ends in the middle of a line")
    return content
