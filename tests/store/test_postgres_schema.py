"""The tables of the store in a database: who makes them, who may use them, and what errors say."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from sessiond.store.errors import LogNotFound, StorageFailed, StoreUnreachable
from sessiond.store.postgres import migrations
from sessiond.store.postgres.connecting import connect
from sessiond.store.postgres.migrations import Migration, MigrationChanged, SchemaNewer, migrate
from sessiond.store.postgres.store import PostgresStore
from support.postgres import Server
from support.postgres_stores import postgres_store, two_stores
from support.stores import HEADER, append, content, new_log

pytestmark = pytest.mark.postgres


def database_of(url: str) -> str:
    return url.split("/")[3].split("?")[0]


async def test_of_daemons_that_start_at_once_one_makes_the_tables(postgres_server: Server) -> None:
    url = postgres_server.new_url()
    connections = [await connect(url) for _ in range(6)]
    applied = await asyncio.gather(*map(migrate, connections))
    known = [migration.number for migration in migrations.known_migrations()]
    assert sorted(applied, key=len) == [[]] * 5 + [known]
    for connection in connections:
        await connection.close()


async def test_a_migration_is_applied_as_a_whole_or_not(postgres_server: Server) -> None:
    connection = await connect(postgres_server.new_url())
    good = Migration(1, "0001_good", "CREATE TABLE sessiond.good (x int)")
    bad = Migration(2, "0002_bad", "CREATE TABLE sessiond.half (x int); SELECT no_such_function()")
    with pytest.raises(asyncpg.UndefinedFunctionError):
        await migrate(connection, [good, bad])
    tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'sessiond'")
    assert {row["tablename"] for row in tables} == {"good", "migrations"}
    assert await migrate(connection, [good]) == []
    await connection.close()


async def test_newer_tables_and_a_changed_migration_are_refused_by_name(
    postgres_server: Server, tmp_path: Path
) -> None:
    for change, error in (
        ("INSERT INTO sessiond.migrations(number, name, sha256) VALUES (9999, 'later', '')", SchemaNewer),
        ("UPDATE sessiond.migrations SET sha256 = 'other'", MigrationChanged),
    ):
        url = postgres_server.new_url()
        async with postgres_store(url, tmp_path):
            pass
        postgres_server.sql(change, database_of(url))
        store = PostgresStore(url, tmp_path)
        with pytest.raises(error):
            await store.start()
        await store.close()


async def test_each_role_has_its_own_sessions_and_the_server_enforces_that(
    postgres_server: Server, tmp_path: Path
) -> None:
    url = postgres_server.new_url()
    database = database_of(url)
    async with postgres_store(url, tmp_path / "owner") as owner:
        log = await new_log(owner, lines=HEADER + b"of the owner\n")
        key = log.session.key  # type: ignore[attr-defined]
        security = Path(migrations.__file__).with_name("row_security.sql").read_text("utf-8")
        role = f"alice_{database}"
        postgres_server.sql(f"CREATE ROLE {role} LOGIN", database)
        postgres_server.sql(security, database)
        for line in security.splitlines():
            if line.startswith(("-- GRANT", "-- REVOKE")):
                postgres_server.sql(line.removeprefix("-- ").replace("alice", role), database)
        async with postgres_store(postgres_server.url(database, role), tmp_path / "alice") as alice:
            with pytest.raises(LogNotFound):
                await alice.open("abc")
            hers = await new_log(alice, lines=HEADER)
            await append(hers, b"of alice\n")
            assert [stored.session_id for stored in await alice.list()] == ["abc"]
            assert content(hers) == HEADER + b"of alice\n"
            connection = await connect(postgres_server.url(database, role))
            count = "SELECT count(*) FROM sessiond.lines WHERE session = $1"
            assert await connection.fetchval(count, key) == 0
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.execute("INSERT INTO sessiond.lines VALUES ($1, 9, NULL, 'forged')", key)
            await connection.close()
            await hers.close()
        assert content(log) == HEADER + b"of the owner\n"
        await log.close()


@pytest.mark.parametrize(
    "url",
    [
        "postgres://me:hunter2@127.0.0.1:1/d",
        "postgres://me:hunter2@/d?host=/nowhere",
        "postgres://me:hunter2@127.0.0.1:1/d?sslmode=hunter2",
        "postgres://me:hunter2@127.0.0.1:1/d?sslmode=verify-full&sslrootcert=/nowhere/hunter2",
        "postgres://me:hunter2@[::1]:1/d",
        "postgres://me:hunter2@127.0.0.1:1,127.0.0.1:2/d",
    ],
)
async def test_no_error_and_no_log_has_a_password(
    url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = PostgresStore(url, tmp_path)
    await store.start()
    with pytest.raises(StoreUnreachable) as raised:
        await store.list()
    await store.close()
    assert "hunter2" not in str(raised.value) + caplog.text


async def test_no_error_has_the_content_of_a_line(
    postgres_server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    url = postgres_server.new_url()
    async with postgres_store(url, tmp_path) as store:
        log = await new_log(store)
        postgres_server.sql(
            "ALTER TABLE sessiond.lines ADD CONSTRAINT refuses CHECK (raw <> 'private content\\012')",
            database_of(url),
        )
        with pytest.raises(StorageFailed) as raised:
            await log.append(b"private content\n", "synced")
        assert "private" not in str(raised.value) + caplog.text
        await append(log, b"other content\n")
        assert content(log) == HEADER + b"other content\n"
        await log.close()


async def test_a_census_finds_what_a_transaction_that_began_earlier_commits_later(
    postgres_server: Server, tmp_path: Path
) -> None:
    url = postgres_server.new_url()
    async with postgres_store(url, tmp_path) as store:
        census = store.census()
        first, second = await new_log(store, "first"), await new_log(store, "second")
        assert {stored.session_id for stored in census.poll().found} == {"first", "second"}
        connection = await connect(url)
        late = connection.transaction()
        await late.start()
        await connection.execute(
            "UPDATE sessiond.sessions SET change = 99, tx = pg_current_xact_id() WHERE id = 'first'"
        )
        await append(second, b"1\n")
        assert [stored.session_id for stored in census.poll().found] == ["second"]
        await late.commit()
        assert [stored.session_id for stored in census.poll().found] == ["first"]
        assert census.poll() == ([], [])
        place = await store.trash(first, "test")
        await store.purge(place.ref)
        assert census.poll() == ([], ["first"])
        await connection.close()
        await second.close()


async def test_one_of_two_daemons_is_the_last_that_holds_a_session(
    postgres_server: Server, tmp_path: Path
) -> None:
    async with two_stores(postgres_server, tmp_path) as (here, there):
        log = await new_log(here)
        for _ in range(10):
            await here.hold("abc")
            await there.hold("abc")
            assert await here.held_elsewhere(["abc", "nobody"]) == {"abc"}
            assert sorted(await asyncio.gather(here.release("abc"), there.release("abc"))) == [False, True]
        assert await here.claim("abc", "compaction")
        assert not await there.claim("abc", "compaction")
        assert await here.claim("abc", "compaction")
        await here.end_claim("abc", "compaction")
        assert await there.claim("abc", "compaction")
        await log.close()
