"""The store of the contracts."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sessiond.store.base import Store
from support.any_store import STORES, store_of


@pytest.fixture(params=STORES)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """A store of each kind."""
    async with store_of(request.param, request, tmp_path) as made:
        yield made
