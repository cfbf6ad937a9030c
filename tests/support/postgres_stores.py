"""Stores in a real PostgreSQL database, for tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sessiond.store.postgres.store import PostgresStore
from support.postgres import Server


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
