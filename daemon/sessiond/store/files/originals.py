"""Originals: files of agents that are kept byte for byte, compressed, with a note of the place to which each belongs.

An original is one frame of Zstandard, named by the SHA-256 of its content: `<sha256>.zst`. A note, `<sha256>.<n>.json`,
says where a file with this content was. All functions block. Nothing is removed before its copy was read again.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from sessiond.error_text import TemplatedError
from sessiond.hashing import sha256_for_many
from sessiond.store.files.census import stamp_of
from sessiond.store.files.folders import make_folder, move_to_free_name, new_file, sync_folder, temporary
from sessiond.store.files.syscalls import Syscalls

FOLDER: Final = "originals"
LEVEL: Final = 3
WINDOW_LOG: Final = 25
"""The window of 32 MiB that finds long repetitions. Readers need as much memory."""
MOVED: Final = ".sessiond-moved"
"""The end of the name that an agent's file has for a moment before it is removed."""
_BLOCK: Final = 1024 * 1024
_NAME: Final = re.compile(r"[0-9a-f]{64}\.zst")
_NOTE: Final = re.compile(r"[0-9a-f]{64}\.[0-9]+\.json")


class NotKept(TemplatedError):
    """Raised when a file is not moved, or not moved back; the reason is the whole message."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class OriginalNote(msgspec.Struct, frozen=True, rename="camel"):
    """The place of an original.

    Attributes:
        path: The absolute path of the file.
        agent: The agent whose file it is.
        session_id: The session that has its content.
        hash: The SHA-256 of its bytes.
        size: Their number.
        mode: The permissions of the file.
        modified_ns: The time of its last change, in nanoseconds since 1970.
        moved_at: When it was moved here, ISO 8601 in UTC.
    """

    path: str
    agent: str
    session_id: str
    hash: str
    size: int
    mode: int
    modified_ns: int
    moved_at: str


class KeptOriginal(msgspec.Struct, frozen=True):
    """A compressed original that was read again: the hash and the size of its content, and its own size."""

    hash: str
    size: int
    packed_size: int


def pack(path: str, folder: str) -> KeptOriginal:
    """Compress a file into the folder of originals, and read the result again. Runs in a child process.

    Raises:
        NotKept: The compressed copy is not the file.
        OSError: The file cannot be read, or the original cannot be written.
    """
    import zstandard

    calls, target = Syscalls(), Path(folder)
    make_folder(target, calls)
    settings = zstandard.ZstdCompressionParameters.from_level(
        LEVEL, window_log=WINDOW_LOG, enable_ldm=True, write_checksum=True
    )
    made = temporary(target / "original.zst")
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
            digest, size = sha256_for_many()(b""), 0
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with open(os.open(made, flags, 0o600), "wb") as packed:
                with zstandard.ZstdCompressor(compression_params=settings).stream_writer(
                    packed, closefd=False
                ) as writer:
                    while block := file.read(_BLOCK):
                        digest.update(block)
                        size += len(block)
                        writer.write(block)
                packed.flush()
                os.fsync(packed.fileno())
        name = digest.hexdigest()
        if _digest_of_content(made) != name:
            raise NotKept("its compressed copy differs from it")
        packed_size = made.stat().st_size
        kept = target / f"{name}.zst"
        if kept.exists() and damage_of(kept) is None:
            made.unlink()
        else:
            made.replace(kept)  # in place of a damaged one
        sync_folder(target, calls)
        return KeptOriginal(name, size, packed_size)
    finally:
        made.unlink(missing_ok=True)


def take(path: str, stamp: tuple[int, ...], note: OriginalNote, folder: str) -> None:
    """Write the note of an original, and remove the file of the agent. Durable on return.

    Args:
        path: The file.
        stamp: Its stamp before it was packed (`census.stamp_of`).
        note: The note.
        folder: The folder of originals.

    The file first gets another name, so that its agent no longer finds it, and its status is compared then. A program
    that has it open and writes to it keeps it.

    Raises:
        NotKept: The file is not as it was when it was packed. It stays.
        OSError: The system refuses.
    """
    calls, target = Syscalls(), Path(folder)
    written = _new_note(target, note, calls)
    moved = path + MOVED
    try:
        if stamp_of(os.lstat(path)) != stamp:
            raise NotKept("it has changed in the meantime")
        if os.path.lexists(moved):
            raise NotKept(f"{moved} exists")
        Path(path).rename(moved)
        found = stamp_of(os.lstat(moved))
        if found[:4] != stamp[:4]:  # the last number is that of the rename
            _put_back(moved, path)
            raise NotKept("it was written in the meantime")
    except BaseException:
        written.unlink(missing_ok=True)
        raise
    Path(moved).unlink()
    with suppress(OSError):
        sync_folder(Path(path).parent, calls)


def put_back(note: OriginalNote, note_path: Path) -> None:
    """Write the file of a note to its place, as it was, and remove the note. Durable on return.

    Raises:
        NotKept: There is a file at its place, or the original is damaged or missing.
        OSError: The system refuses.
    """
    calls, target = Syscalls(), Path(note.path)
    if os.path.lexists(target):
        raise NotKept("there is a file at its place")
    target.parent.mkdir(parents=True, exist_ok=True)
    made = temporary(target)
    digest = sha256_for_many()(b"")
    try:
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            for block in _content(note_path.parent / f"{note.hash}.zst"):
                digest.update(block)
                file.write(block)
            file.flush()
            os.fchmod(file.fileno(), note.mode & 0o777)
            os.utime(file.fileno(), ns=(note.modified_ns, note.modified_ns))
            os.fsync(file.fileno())
        if digest.hexdigest() != note.hash:
            raise NotKept("the kept original is damaged")
        _give_name(made, target, calls)
        sync_folder(target.parent, calls)
    finally:
        made.unlink(missing_ok=True)
    note_path.unlink()
    if not any(other.hash == note.hash for _, other in notes(note_path.parent)):
        (note_path.parent / f"{note.hash}.zst").unlink(missing_ok=True)


def notes(folder: Path) -> Iterator[tuple[Path, OriginalNote]]:
    """Yield the notes of a folder of originals with their paths. One that cannot be read is left out."""
    try:
        names = sorted(entry.name for entry in folder.iterdir() if _NOTE.fullmatch(entry.name))
    except FileNotFoundError:
        return
    for name in names:
        with suppress(OSError, msgspec.DecodeError):
            yield folder / name, msgspec.json.decode((folder / name).read_bytes(), type=OriginalNote)


def settle(folder: Path) -> None:
    """Undo what a crash left: a file of an agent that has another name and was not removed gets its name again."""
    for path, note in notes(folder):
        moved = note.path + MOVED
        if os.path.lexists(moved) and not os.path.lexists(note.path):
            with suppress(OSError):
                Path(moved).rename(note.path)
                path.unlink()


def is_original(name: str) -> bool:
    """Return whether a file of this name in the folder of originals is an original or a note."""
    return _NAME.fullmatch(name) is not None or _NOTE.fullmatch(name) is not None


def damage_of(path: Path) -> str | None:
    """Return the reason why an original is not what its name says; None if it is. Raises `OSError`."""
    try:
        return None if _digest_of_content(path) == path.name[:64] else "its content does not match its name"
    except NotKept as damage:
        return str(damage)


def _new_note(folder: Path, note: OriginalNote, calls: Syscalls) -> Path:
    number = 1
    while True:
        path = folder / f"{note.hash}.{number}.json"
        try:
            os.close(new_file(path, [msgspec.json.encode(note)], calls))
        except FileExistsError:
            number += 1
            continue
        sync_folder(folder, calls)
        return path


def _put_back(moved: str, path: str) -> None:
    """Give a file its name again, unless there is another file of this name."""
    with suppress(FileExistsError):
        os.link(moved, path, follow_symlinks=False)
        Path(moved).unlink()


def _give_name(made: Path, target: Path, calls: Syscalls) -> None:
    """Give a file a name that must be free, in a folder of another program."""
    try:
        os.link(made, target, follow_symlinks=False)
    except FileExistsError:
        raise NotKept("there is a file at its place") from None
    except OSError:  # a file system without links
        move_to_free_name(made, target, calls)


def _digest_of_content(path: Path) -> str:
    digest = sha256_for_many()(b"")
    for block in _content(path):
        digest.update(block)
    return digest.hexdigest()


def _content(path: Path) -> Iterator[bytes]:
    """Yield the content of an original. Raises `NotKept`, `OSError`."""
    import zstandard

    try:
        with path.open("rb") as file:
            yield from _blocks(
                zstandard.ZstdDecompressor(max_window_size=1 << WINDOW_LOG).stream_reader(file)
            )
    except zstandard.ZstdError as error:
        raise NotKept(f"the kept original is damaged: {error}") from None
    except FileNotFoundError:
        raise NotKept("the kept original is missing") from None


def _blocks(reader: "BinaryIO") -> Iterator[bytes]:
    while block := reader.read(_BLOCK):
        yield block
