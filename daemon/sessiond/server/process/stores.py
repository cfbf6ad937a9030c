"""Opens the store of a URL. Nothing of the other stores is imported."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sessiond import config_values
from sessiond.error_text import TemplatedError
from sessiond.paths import Locations

if TYPE_CHECKING:
    from sessiond.store.base import Store


class StoreUnusable(TemplatedError):
    """Raised when the store of a URL cannot be opened."""

    sentence = "{reason}"

    def __init__(self, reason: str) -> None:
        super().__init__(reason=reason)


class DriverMissing(StoreUnusable):
    """Raised for a database whose driver is not installed."""

    sentence = "The URL of the store names a PostgreSQL database, and its driver is not installed."
    advice = "pip install 'sessiond[postgres]'"

    def __init__(self) -> None:
        super().__init__("")


async def open_store(url: str, locations: Locations, roots: Sequence[str] = ()) -> "Store":
    """Open a store.

    Args:
        url: The URL, as `[store] url` in config.toml.
        locations: The folders of this user.
        roots: The folders of other programs, for a store of files.

    Raises:
        StoreUnusable: The driver of the database is missing, or its tables cannot be used.
    """
    if url == config_values.FILES:
        from sessiond.store.files.store import FileStore

        return FileStore(Path(locations.data), Path(locations.state), roots=roots)
    if url == config_values.MEMORY:
        from sessiond.store.memory import MemoryStore

        return MemoryStore()
    from sessiond.store.errors import StorageFailed

    try:
        from sessiond.store.postgres.store import PostgresStore
    except ModuleNotFoundError as error:
        if error.name != "asyncpg":
            raise
        raise DriverMissing from None
    store = PostgresStore(url, Path(locations.state))
    try:
        await store.start()
    except StorageFailed as error:
        await store.close()
        raise StoreUnusable(f"The database of the store cannot be used: {error}") from None
    return store
