"""Decompresses files that an agent compressed (`.zst`), up to a limit."""

import io
from collections.abc import Iterator
from typing import BinaryIO, Final

from sessiond.error_text import TemplatedError

SUFFIX: Final = ".zst"
_CHUNK: Final = 1 << 20
_MAX_WINDOW: Final = 128 << 20
"""Bytes of memory that a frame may claim. The program `zstd` has the same limit by default."""
TOO_LARGE: Final = "its content has more than {limit:,} bytes, which is what fits here now"
_CUT: Final = "its compressed data ends in the middle of a line"


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
    content = b"".join(chunks(io.BytesIO(data), limit))
    if not content or not content.endswith(b"\n"):
        raise BadFrame(_CUT)
    return content


def decompress(file: BinaryIO, target: BinaryIO, limit: int | None) -> None:
    """Write the content of all frames into a file. Raises what `decompressed` raises, and `OSError`."""
    last = b""
    for last in chunks(file, limit):
        target.write(last)
    target.flush()
    if not last.endswith(b"\n"):
        raise BadFrame(_CUT)


def chunks(file: BinaryIO, limit: int | None) -> Iterator[bytes]:
    """Yield the content of all frames in pieces, of which the last may end in the middle of a line.

    Args:
        file: The compressed bytes.
        limit: The largest number of bytes that is returned; None for no limit.

    Raises:
        BadFrame: A frame is damaged, or the content is larger than `limit`.
    """
    try:
        import zstandard
    except ImportError:
        raise BadFrame("it is compressed, and the package zstandard is not installed") from None
    size = 0
    reader = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(
        file, read_across_frames=True
    )
    try:
        while chunk := reader.read(_CHUNK):
            size += len(chunk)
            if limit is not None and size > limit:
                raise BadFrame(TOO_LARGE.format(limit=limit))
            yield chunk
    except zstandard.ZstdError as error:
        raise BadFrame(f"a compressed frame is damaged: {error}") from None
