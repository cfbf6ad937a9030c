"""Builders for tests of the stores: logs, their content, and other programs that write to the same file."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from sessiond.store.base import Durability, Log, Store
from sessiond.store.files.store import FileStore
from sessiond.store.files.syscalls import Syscalls

HEADER = b'{"type":"session","id":"abc"}\n'
CWD = "/work/pi"
TIMESTAMP = "2026-02-16T10:20:30.000Z"


@asynccontextmanager
async def file_store(home: Path, calls: Syscalls | None = None) -> AsyncIterator[FileStore]:
    store = FileStore(home / "data", home / "state", calls=calls)
    try:
        yield store
    finally:
        await store.close()


def killed(home: Path) -> None:
    """Simulate the end of the process of a store: nothing is closed in order."""
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the session was closed meanwhile
            if descriptor.readlink().is_relative_to(home.resolve()):
                os.close(int(descriptor.name))


@asynccontextmanager
async def file_log(home: Path, calls: Syscalls | None = None, lines: bytes = HEADER) -> AsyncIterator[Log]:
    """A new session in a new store. It is closed at the end, even if its disk still fails."""
    async with file_store(home, calls) as store:
        log = await new_log(store, lines=lines)
        try:
            yield log
        finally:
            await log.close()


async def new_log(
    store: Store, session_id: str = "abc", *, lines: bytes = HEADER, draft: bool = False
) -> Log:
    return await store.create(session_id, cwd=CWD, timestamp=TIMESTAMP, lines=lines, draft=draft)


async def append(log: Log, *lines: bytes, durability: Durability = "synced") -> list[bool]:
    """Append each draft as a separate batch, all in one turn of the loop."""
    return await asyncio.gather(*[log.append(line, durability) for line in lines])


def content(log: Log) -> bytes:
    return b"".join(log.scan())


def on_disk(log: Log) -> bytes:
    return file_of(log).read_bytes()


def file_of(log: Log) -> Path:
    assert log.path is not None
    return Path(log.path)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def write_as_another_program(path: Path, data: bytes) -> None:
    """Append as pi does: open, write and close the file in a separate process."""
    program = "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read())"
    subprocess.run([sys.executable, "-c", program, path], input=data, check=True)


def numbered(count: int, size: int = 1) -> Iterable[bytes]:
    return [b"%06d %s\n" % (number, b"x" * size) for number in range(count)]
