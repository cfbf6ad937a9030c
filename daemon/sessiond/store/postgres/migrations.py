"""Brings the tables of a database to the state that this program needs, by numbered files.

Each file is applied once, in a transaction of its own, by one daemon at a time. A file that was applied must not
change: its digest is stored beside its number.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import asyncpg

from sessiond.store.errors import StorageFailed

_FOLDER: Final = Path(__file__).with_name("migrations")
_LOCK: Final = 7_365_737_369  # a number that no other program is likely to lock
_TABLE: Final = """
    CREATE SCHEMA IF NOT EXISTS sessiond;
    CREATE TABLE IF NOT EXISTS sessiond.migrations (
        number int PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
    )
"""


class SchemaNewer(StorageFailed):
    """Raised when the tables of the database are newer than this program."""

    sentence = "The database has migration {number} of sessiond, which this program does not know."
    advice = "Install a newer sessiond."

    def __init__(self, number: int) -> None:
        super(StorageFailed, self).__init__(number=number)
        self.reason, self.path, self.errno = f"migration {number} is not known", None, None


class MigrationChanged(StorageFailed):
    """Raised when a migration that the database has is not the one of this program."""

    sentence = "Migration {name} was applied to the database with other content than this program has."
    advice = "Install the sessiond that the other daemons of this database have."

    def __init__(self, name: str) -> None:
        super(StorageFailed, self).__init__(name=name)
        self.reason, self.path, self.errno = f"migration {name} was changed", None, None


class Migration(NamedTuple):
    """One file: its number, its name, and its statements."""

    number: int
    name: str
    statements: str

    @property
    def sha256(self) -> str:
        """The digest of the statements."""
        return hashlib.sha256(self.statements.encode()).hexdigest()


def known_migrations(folder: Path = _FOLDER) -> Sequence[Migration]:
    """Return the migrations of this program in their order."""
    found = [
        Migration(int(matched[1]), path.stem, path.read_text("utf-8"))
        for path in folder.glob("*.sql")
        if (matched := re.match(r"([0-9]{4})_", path.name))
    ]
    return sorted(found)


async def migrate(
    connection: "asyncpg.Connection[asyncpg.Record]", migrations: Sequence[Migration] | None = None
) -> Sequence[int]:
    """Apply the migrations that the database does not have. Return their numbers.

    Raises:
        SchemaNewer: The database has a migration that is not known.
        MigrationChanged: A migration was applied with other content.
    """
    migrations = known_migrations() if migrations is None else migrations
    if not await _missing(connection, migrations):
        return []
    applied = []
    await connection.execute("SET lock_timeout = 0")  # another daemon may take its time
    await connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
    try:
        await connection.execute(_TABLE)
        for migration in await _missing(connection, migrations):
            async with connection.transaction():
                await connection.execute(migration.statements)
                await connection.execute(
                    "INSERT INTO sessiond.migrations(number, name, sha256) VALUES ($1, $2, $3)",
                    migration.number, migration.name, migration.sha256,
                )  # fmt: skip
            applied.append(migration.number)
    finally:
        if not connection.is_closed():
            await connection.execute("SELECT pg_advisory_unlock($1)", _LOCK)
            await connection.execute("RESET lock_timeout")
    return applied


async def _missing(
    connection: "asyncpg.Connection[asyncpg.Record]", migrations: Sequence[Migration]
) -> Sequence[Migration]:
    if await connection.fetchval("SELECT to_regclass('sessiond.migrations')") is None:
        return migrations
    rows = await connection.fetch("SELECT number, name, sha256 FROM sessiond.migrations ORDER BY number")
    applied = {row["number"]: row for row in rows}
    known = {migration.number for migration in migrations}
    if unknown := applied.keys() - known:
        raise SchemaNewer(max(unknown))
    for migration in migrations:
        if migration.number in applied and applied[migration.number]["sha256"] != migration.sha256:
            raise MigrationChanged(migration.name)
    return [migration for migration in migrations if migration.number not in applied]
