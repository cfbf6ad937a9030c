"""The stores that the contracts apply to: in memory, in files, in a PostgreSQL database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sessiond.store.base import Store
from sessiond.store.memory import MemoryStore
from support.postgres import Server
from support.stores import file_store

STORES = ["memory", "files", pytest.param("postgres", marks=pytest.mark.postgres)]


@asynccontextmanager
async def store_of(kind: str, request: pytest.FixtureRequest, home: Path) -> AsyncIterator[Store]:
    """A new store of a kind. A store in a database needs the fixture `postgres_server`."""
    if kind == "memory":
        yield MemoryStore()
    elif kind == "files":
        async with file_store(home) as files:
            yield files
    else:
        from support.postgres_stores import postgres_store  # the driver is an extra

        server: Server = request.getfixturevalue("postgres_server")
        async with postgres_store(server.new_url(), home) as database:
            yield database
