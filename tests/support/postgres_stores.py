"""Stores in a real PostgreSQL database, for tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sessiond.store.postgres.store import PostgresStore


@asynccontextmanager
async def postgres_store(url: str, state: Path) -> AsyncIterator[PostgresStore]:
    """A started store; two with the same URL and different folders are those of two daemons."""
    store = PostgresStore(url, state)
    await store.start()
    try:
        yield store
    finally:
        await store.close()
