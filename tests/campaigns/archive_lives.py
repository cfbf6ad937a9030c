"""A program that lives with packed logs and is killed at a call of one's choice, over and over.

It reads a life from each line of its standard input, as JSON, and prints the outcome on a line. Each life is a fork of
it, so that a life costs no start of Python. An acknowledged line is in the file of acknowledgements before the life
goes on.
"""

import asyncio
import errno
import json  # noqa: TID251  (what is checked here must not be made with the product's own means)
import os
import random
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sessiond.store.base import Log
from sessiond.store.errors import LogNotFound, LogReplaced, StorageFailed
from sessiond.store.files import seekable  # imported before the lives begin
from sessiond.store.files.store import FileStore
from sessiond.store.files.syscalls import Syscalls

SESSION: Final = "archive-campaign"
CHANGES: Final = frozenset(
    {
        "write",
        "pwrite",
        "fsync",
        "fdatasync",
        "rename",
        "unlink",
        "ftruncate",
        "utime",
        "mkdir",
        "link",
        "dup2",
        "open",
    }
)
"""The system calls that a life can end before."""
assert seekable.FRAME


@dataclass
class Life:
    """One life.

    Attributes:
        home: The folder of the data and the state.
        acknowledged: The file that receives the ids of acknowledged lines.
        seed: Chooses what is done.
        kill_at: The number of the call before which the life ends; None for none.
        foreign_at: The number of the call before which another program appends a line; None for none.
        full_at: The number of the write from which on the disk is full, for some writes; None for none.
        steps: How often the log is continued and packed.
    """

    home: str
    acknowledged: str
    seed: int
    kill_at: int | None = None
    foreign_at: int | None = None
    full_at: int | None = None
    steps: int = 3


class _Living:
    """A life that is being lived."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._dice = random.Random(life.seed)
        self._calls = 0
        self._writes = 0
        self._counts = True
        self._told = os.open(life.acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def watch(self, _frame: object, event: str, function: Any) -> None:
        """Count the calls that change something, and end or interfere before the chosen one."""
        if event != "c_call" or not self._counts or getattr(function, "__module__", "") != "posix":
            return
        if function.__name__ in CHANGES:
            self._calls += 1
            if self._calls == self._life.kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            if self._calls == self._life.foreign_at:
                self._uncounted(self._append_as_another_program)

    def _uncounted(self, call: Callable[[], object]) -> None:
        self._counts = False
        try:
            call()
        finally:
            self._counts = True

    def _tell(self, names: list[str]) -> None:
        self._uncounted(lambda: os.write(self._told, "".join(f"{name}\n" for name in names).encode()))

    def _line(self, name: str) -> bytes:
        text = " ".join(self._dice.choice(_WORDS) for _ in range(self._dice.choice((3, 30, 600, 3_000))))
        return json.dumps({"type": "message", "id": name, "text": text}).encode() + b"\n"

    def _append_as_another_program(self) -> None:
        for path in Path(self._life.home, "data/sessions").glob("*/*.jsonl"):
            name = f"foreign-{self._life.seed}"
            with path.open("ab", buffering=0) as file:
                file.write(json.dumps({"type": "message", "id": name}).encode() + b"\n")
            os.write(self._told, f"{name}\n".encode())

    def _write(self, fd: int, data: bytes | memoryview) -> int:
        self._writes += 1
        full = self._life.full_at
        if full is not None and full <= self._writes < full + 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(fd, data)

    async def live(self) -> int:
        """Continue and pack the log, several times. Return the number of calls."""
        home = Path(self._life.home)
        store = FileStore(
            home / "data", home / "state", calls=Syscalls(write=self._write), late_seconds=0.001
        )
        try:
            for step in range(self._life.steps):
                log = await self._opened(store)
                if log is None:
                    continue
                await self._extend(log, step)
                await log.close()
                try:
                    await store.pack(log.ref)
                except StorageFailed:
                    continue
        finally:
            await store.close()
        return self._calls

    async def _opened(self, store: FileStore) -> Log | None:
        try:
            return await store.open(SESSION)
        except LogNotFound:
            header = (
                json.dumps({"type": "session", "version": 3, "id": SESSION, "cwd": "/work"}).encode() + b"\n"
            )
            lines = header + b"".join(self._line(f"first-{number}") for number in range(60))
            try:
                log = await store.create(
                    SESSION, cwd="/work", timestamp="2026-01-01T00:00:00.000Z", lines=lines, draft=False
                )
            except StorageFailed:
                return None
            self._tell([f"first-{number}" for number in range(60)])
            return log
        except StorageFailed:
            return None

    async def _extend(self, log: Log, step: int) -> None:
        """Append some batches, as a session does: lines of others are read first, and a refusal is tried again."""
        for batch in range(self._dice.choice((1, 1, 2, 5))):
            names = [
                f"{self._life.seed}-{step}-{batch}-{number}" for number in range(self._dice.choice((1, 4)))
            ]
            data = b"".join(map(self._line, names))
            for _ in range(8):
                try:
                    if foreign := log.foreign_bytes():
                        log.accept(log.size + foreign)
                    await log.complete_tail()
                    await log.append(data, self._dice.choice(("synced", "written")))
                except LogReplaced:
                    return
                except StorageFailed:
                    await log.retry()
                else:
                    self._tell(names)
                    break


_WORDS: Final = [f"word{number}" for number in range(700)]


def _run(life: Life, answer: int) -> None:
    """Live in this process, which ends with the life."""
    living = _Living(life)
    threading.setprofile(living.watch)
    sys.setprofile(living.watch)
    calls = asyncio.run(living.live())
    sys.setprofile(None)
    os.write(answer, str(calls).encode())
    os._exit(0)


def main() -> None:
    """Fork a life for each line of the standard input, and print how it ended."""
    for line in sys.stdin:
        life = Life(**json.loads(line))
        begin, end = os.pipe()
        pid = os.fork()
        if not pid:
            try:
                os.close(begin)
                _run(life, end)
            finally:
                os._exit(1)
        os.close(end)
        with os.fdopen(begin, "rb") as told:
            calls = told.read()
        _, status = os.waitpid(pid, 0)
        print(
            json.dumps({"calls": int(calls or b"0"), "status": os.waitstatus_to_exitcode(status)}), flush=True
        )


if __name__ == "__main__":
    main()
