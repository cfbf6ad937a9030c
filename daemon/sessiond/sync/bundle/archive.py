"""The container of a bundle: a tar archive in a frame of Zstandard, between two small frames.

The first names the format. The last has the SHA-256 of all bytes before it. Other programs ignore both:
`zstd -dc FILE | tar -x` unpacks it. No name in the archive becomes part of a path here: members are found in a table.
"""

import hashlib
import tarfile
from dataclasses import dataclass
from typing import BinaryIO, Final

from sessiond import human
from sessiond.sync.bundle.errors import (
    DamagedBundleError,
    NewerBundleError,
    NotABundleError,
    OversizedBundleError,
)
from sessiond.sync.bundle.recognition import FIRST_BYTES, MARK, SKIPPABLE, is_plain_bundle

FORMAT: Final = 1
"""The number of the format. It changes when older versions cannot read what newer ones write."""
TIMES_ITS_SIZE: Final = 200
"""The content may have this many times the size of the file. Sessions are compressed to a third to a twentieth."""
ALWAYS_ALLOWED: Final = 256 * 1024 * 1024
"""Bytes of content that any bundle may have."""
MAX_MEMBERS: Final = 5_000_000

_BLOCK: Final = 512
_CHUNK: Final = 1 << 20
_MAX_WINDOW: Final = 128 << 20
_TRAILER_BYTES: Final = 8 + hashlib.sha256().digest_size
_LEVEL: Final = 6


def _frame(content: bytes) -> bytes:
    return SKIPPABLE + len(content).to_bytes(4, "little") + content


@dataclass(frozen=True, slots=True)
class Extent:
    """The place of a member in the unpacked archive, in bytes."""

    start: int
    size: int


class ArchiveWriter:
    """Writes a container, member by member.

    Attributes:
        sizes_and_hashes: The size and the SHA-256 of each member so far.
    """

    def __init__(self, file: BinaryIO) -> None:
        import zstandard

        self.sizes_and_hashes: dict[str, tuple[int, str]] = {}
        self._hashing = _HashingFile(file)
        self._hashing.write(_frame(MARK + b"%d\n" % FORMAT))
        self._stream = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True).compressobj()

    def add(self, name: str, data: bytes) -> None:
        """Add a member. Its name is ASCII and has at most 100 characters."""
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(data), 0o600
        header = info.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")
        for part in (header, data, bytes(-len(data) % _BLOCK)):
            self._hashing.write(self._stream.compress(part))
        self.sizes_and_hashes[name] = len(data), hashlib.sha256(data).hexdigest()

    def close(self) -> None:
        """Write the end of the container."""
        self._hashing.write(self._stream.compress(bytes(2 * _BLOCK)) + self._stream.flush())
        self._hashing.write(_frame(self._hashing.digest()))


class _HashingFile:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._sum = hashlib.sha256()

    def write(self, data: bytes) -> None:
        self._sum.update(data)
        self._file.write(data)

    def digest(self) -> bytes:
        return self._sum.digest()


def unpack(file: BinaryIO, path: str, spool: BinaryIO, *, is_limited: bool) -> dict[str, Extent]:
    """Decompress a container and return its members, after comparing its SHA-256.

    Args:
        file: The container.
        path: Its name, for messages.
        spool: An empty file that receives the archive.
        is_limited: Whether an archive much larger than `file` is refused.

    Raises:
        NotABundleError: It is something else.
        NewerBundleError: It has another format.
        DamagedBundleError: It was changed or cut off, or it is no archive.
        OversizedBundleError: It is larger than the limit.
        OSError: A file cannot be read or written.
    """
    first = file.read(FIRST_BYTES)
    if not is_plain_bundle(first):
        raise NotABundleError(path)
    start = 8 + int.from_bytes(first[4:8], "little")
    found = first[8 + len(MARK) : start].decode("ascii", "replace").strip()
    if found != str(FORMAT):
        raise NewerBundleError(path, found, FORMAT)
    size = file.seek(0, 2)
    _compare_hash(file, path, size)
    limit = max(ALWAYS_ALLOWED, TIMES_ITS_SIZE * size) if is_limited else None
    file.seek(start)
    _decompress(file, path, spool, limit)
    return _members(spool, path)


def _compare_hash(file: BinaryIO, path: str, size: int) -> None:
    file.seek(0)
    digest, left = hashlib.sha256(), size - _TRAILER_BYTES
    while left > 0 and (chunk := file.read(min(left, _CHUNK))):
        digest.update(chunk)
        left -= len(chunk)
    if left or file.read() != _frame(digest.digest()):
        raise DamagedBundleError(path, "it was changed or cut off")


def _decompress(file: BinaryIO, path: str, spool: BinaryIO, limit: int | None) -> None:
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(file, closefd=False)
    size = 0
    try:
        while chunk := reader.read(_CHUNK):
            size += len(chunk)
            if limit is not None and size > limit:
                raise OversizedBundleError(path, human.size(limit))
            spool.write(chunk)
    except zstandard.ZstdError as error:
        raise DamagedBundleError(path, f"its compressed frame is invalid ({error})") from None


def _members(spool: BinaryIO, path: str) -> dict[str, Extent]:
    """Return the members of an archive of plain files.

    The module tarfile reads each header alone, since some of its versions do not end on a hostile archive.
    """
    found: dict[str, Extent] = {}
    size, place = spool.seek(0, 2), 0
    while True:
        spool.seek(place)
        header = spool.read(_BLOCK)
        if header == bytes(_BLOCK):
            return found
        try:
            info = tarfile.TarInfo.frombuf(header, "ascii", "strict")
        except (tarfile.HeaderError, UnicodeDecodeError, ValueError):
            raise DamagedBundleError(path, f"its archive has no valid header at byte {place}") from None
        start = place + _BLOCK
        is_plain = info.type == tarfile.REGTYPE and 0 <= info.size <= size - start
        if not is_plain or info.name in found or len(found) >= MAX_MEMBERS:
            raise DamagedBundleError(path, f"its archive has a member that no bundle has, at byte {place}")
        found[info.name] = Extent(start, info.size)
        place = start + info.size + -info.size % _BLOCK
