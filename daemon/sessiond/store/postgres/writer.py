"""The group commit: one connection writes what waits at all logs in one statement.

A session to which lines of another daemon came first is left out by the statement, and only its batches fail. If the
connection is lost before the answer, the outcome is found on the next one: the lines are where they should be, or they
are sent again. That is exact, because a statement that has not ended by then is ended first (`Link`), and because the
statement adds nothing if the session has other lines than expected.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from sessiond.store.errors import LogMoved, OutcomeUnknown, StorageFailed, StoreUnreachable
from sessiond.store.postgres.batches import MAX_GROUP_BYTES, WaitingBatch
from sessiond.store.postgres.connecting import (
    COMMIT_SECONDS,
    DRIVER_ERRORS,
    is_broken,
    refusal,
    unreachable,
)
from sessiond.store.postgres.link import Link
from sessiond.store.postgres.log import PostgresLog
from sessiond.store.postgres.queries import query
from sessiond.store.postgres.requests import Connection
from sessiond.store.postgres.session import SharedSession, catch_up

PATIENCE_SECONDS: Final = 5.0
"""Seconds for which batches wait for a server that is out of reach."""


@dataclass(eq=False, slots=True)
class GroupShare:
    """The batches of one log in a group. `was_sent`: a statement with them was sent on a connection that was lost."""

    log: PostgresLog
    batches: list[WaitingBatch]
    first: int
    was_sent: bool = False
    is_done: bool = False

    @property
    def session(self) -> SharedSession:
        """The session of the log."""
        return self.log.session

    @property
    def lines(self) -> list[bytes]:
        """The lines of all batches."""
        return [line for batch in self.batches for line in batch.lines]

    @property
    def size(self) -> int:
        """The bytes of all batches."""
        return sum(batch.size for batch in self.batches)

    def fail(self, error: Exception) -> None:
        """Fail the batches, and those that wait after them."""
        self.is_done = True
        self.log.fail(self.batches, error)


class GroupWriter:
    """Writes the batches of the logs of one store.

    Args:
        link: Gives the connection, and finds it again.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._ready: dict[PostgresLog, None] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """End. All logs are closed."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def wake(self, log: PostgresLog) -> None:
        """Have the batches of a log written."""
        self._ready[log] = None
        self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while shares := self._take():
                await self.write(shares)

    def _take(self) -> list[GroupShare]:
        """Take batches of all logs that wait. A session has at most one share in a group."""
        shares: list[GroupShare] = []
        sessions: set[SharedSession] = set()
        size = 0
        for log in list(self._ready):
            if log.session in sessions or log.is_locking:
                if log.is_locking:
                    del self._ready[log]  # its lines are written when the lock ends
                continue
            share = begin_share(log)
            if not log.queue:
                del self._ready[log]
            if share is not None:
                share.session.writing = True
                sessions.add(share.session)
                shares.append(share)
                size += share.size
                if size >= MAX_GROUP_BYTES:
                    break
        return shares

    async def write(self, shares: Sequence[GroupShare]) -> None:
        """Write a group until each batch is stored or failed."""
        async with self._writing:
            await self._write(shares)

    async def _write(self, shares: Sequence[GroupShare]) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        try:
            while waiting := [share for share in shares if not share.is_done]:
                connected = None
                try:
                    connected = self._link.writer()
                    async with asyncio.timeout(COMMIT_SECONDS):
                        await self._attempt(connected.connection, waiting)
                except (*DRIVER_ERRORS, StoreUnreachable) as error:
                    lost = unreachable(error)
                    self._link.broken(lost, None if connected is None else connected.backend)
                    if not await self._link.until_up(until - time.monotonic()):
                        give_up(waiting, lost)
        finally:
            for share in shares:
                self._finish(share)

    async def _attempt(self, connection: Connection, shares: Sequence[GroupShare]) -> None:
        """Find which shares an earlier attempt has stored, and send the others."""
        for share in shares:
            if share.was_sent and await is_stored(connection, share):
                deliver(share)
        await self._send(connection, [share for share in shares if not share.is_done])

    async def _send(self, connection: Connection, shares: Sequence[GroupShare]) -> None:
        if not shares:
            return
        try:
            stored = await send_group(connection, shares)
        except DRIVER_ERRORS as error:
            if is_broken(error):
                raise
            for share in shares:
                share.was_sent = False
            if len(shares) == 1:
                await refuse(connection, shares[0], error)
                return
            # The statement failed as a whole, for the sake of one session: an id that is taken, a locked row.
            for share in shares:
                await self._send(connection, [share])
            return
        for share in shares:
            if share.session.key in stored:
                deliver(share)
        for share in shares:
            if not share.is_done:
                await fail_moved(connection, share)

    def _finish(self, share: GroupShare) -> None:
        session = share.session
        session.writing = False
        if session.is_behind:
            self._link.hear(session.key)
        if share.log.queue:
            self.wake(share.log)


def begin_share(log: PostgresLog) -> GroupShare | None:
    """Take the batches that wait at a log. None if there are none, or if other lines came before them."""
    batches = log.queue.take()
    if not batches:
        return None
    log.took(batches)
    first = after = log.seq
    error: Exception | None = log.session.replaced
    if error is None and log.session.mirror.seq > first:
        error = LogMoved(log.ref)
    for batch in batches:
        if batch.after != after:
            error = error or LogMoved(log.ref)
        after += len(batch.lines)
    if error is not None:
        log.fail(batches, error)
        return None
    return GroupShare(log, batches, first)


async def send_group(connection: Connection, shares: Sequence[GroupShare]) -> set[int]:
    """Send the statement. Return the keys of the sessions whose lines it added; to the others, lines came first.

    Raises the errors of the driver.
    """
    for share in shares:
        share.was_sent = True
    lines = [(share.session.key, share.lines) for share in shares]
    rows = await connection.fetch(
        query("append"),
        [share.session.key for share in shares],
        [share.session.epoch for share in shares],
        [share.first for share in shares],
        [len(added) for _, added in lines],
        [share.size for share in shares],
        [key for key, added in lines for _ in added],
        [place for _, added in lines for place in range(len(added))],
        [name for share in shares for batch in share.batches for name in batch.ids],
        [line for _, added in lines for line in added],
        all(batch.durability == "written" for share in shares for batch in share.batches),
    )
    return {row["key"] for row in rows}


async def is_stored(connection: Connection, share: GroupShare) -> bool:
    """Return whether the lines of a share are where it would have added them."""
    lines = share.lines
    rows = await connection.fetch(
        query("lines_from"), share.session.key, share.first, share.first + len(lines)
    )
    return [row["raw"] for row in rows] == lines


async def refuse(connection: Connection, share: GroupShare, error: BaseException) -> None:
    """Fail a share whose statement the server refused."""
    if isinstance(error, asyncpg.UniqueViolationError):
        await fail_moved(connection, share)
    else:
        share.fail(refusal(error))


async def fail_moved(connection: Connection, share: GroupShare) -> None:
    """Fail a share because other lines came first, after these have arrived."""
    session = share.session
    session.writing = False
    try:
        await catch_up(connection, session)
    except StorageFailed as error:  # of the disk here
        session.disk_error = error
    share.fail(session.replaced or LogMoved(share.log.ref))


def deliver(share: GroupShare) -> None:
    """Add the lines of a stored share to the mirror, and finish its batches.

    Those of them that have arrived before the answer are in the mirror already.
    """
    session = share.session
    try:
        session.mirror.add(share.lines[session.mirror.seq - share.first :])
    except StorageFailed as error:  # of the disk here
        session.disk_error = error
        share.fail(OutcomeUnknown(error.reason))
        return
    session.notified_seq = max(session.notified_seq, session.mirror.seq)
    session.unsynced = all(batch.durability == "written" for batch in share.batches)
    share.is_done = True
    share.log.stored(share.batches)


def give_up(shares: Iterable[GroupShare], lost: StoreUnreachable) -> None:
    """Fail shares because the server is out of reach."""
    for share in shares:
        if not share.is_done:
            share.fail(OutcomeUnknown(lost.reason) if share.was_sent else lost)
