"""Stores in a real PostgreSQL database, for tests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sessiond.store.base import Log
from sessiond.store.errors import LogMoved, OutcomeUnknown, StorageFailed
from sessiond.store.postgres.store import PostgresStore
from support.patience import BOUND
from support.postgres import Server
from support.stores import content


@asynccontextmanager
async def postgres_store(url: str, state: Path) -> AsyncIterator[PostgresStore]:
    """A started store; two with the same URL and different folders are those of two daemons."""
    store = PostgresStore(url, state)
    await store.start()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def two_stores(server: Server, folder: Path) -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
    """The stores of two daemons on a new database."""
    url = server.new_url()
    async with postgres_store(url, folder / "a") as here, postgres_store(url, folder / "b") as there:
        yield here, there


async def accept_all(log: Log) -> None:
    """Accept the lines of other daemons."""
    if added := log.foreign_bytes():
        log.accept(log.size + added)


async def append_again(log: Log, line: bytes) -> None:
    """Append as the hub does: after a failure, check whether the line was stored, else try again."""
    async with asyncio.timeout(BOUND):
        while True:
            try:
                await log.append(line, "synced")
                return
            except (LogMoved, OutcomeUnknown, StorageFailed):
                await log.retry()
                if log.write_error is None:
                    await accept_all(log)
                    if line in content(log):
                        return
                await asyncio.sleep(0.02)
