"""Failover to a replica, a replica that is waited for, and a network that loses everything without a word."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from sessiond.store.errors import LogReplaced, OutcomeUnknown, StoreUnreachable
from sessiond.store.postgres import connecting, link, requests, writer
from sessiond.store.postgres.store import PostgresStore
from support.cutting_proxy import cutting_proxy
from support.patience import BOUND
from support.postgres import Server, running_server
from support.postgres_stores import append_again, postgres_store
from support.stores import HEADER, append, content, new_log
from support.waiting import until

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


@pytest.fixture
def primary() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds become fractions of them."""
    for module in (connecting, link, requests, writer):
        if hasattr(module, "COMMIT_SECONDS"):
            monkeypatch.setattr(module, "COMMIT_SECONDS", 1.0)
    monkeypatch.setattr(connecting, "CONNECT_SECONDS", 0.5)
    monkeypatch.setattr(link, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(link, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(writer, "PATIENCE_SECONDS", 1.0)


def entry(number: int) -> bytes:
    return b'{"type":"message","id":"%08x"}\n' % number


def of_both(first: Server, second: Server, database: str) -> str:
    """The URL of whichever of two servers takes writes."""
    hosts, ports = f"{first.folder},{second.folder}", f"{first.port},{second.port}"
    return f"postgres://{first.user}@/{database}?host={hosts}&port={ports}&target_session_attrs=read-write"


def database_of(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[2]


def wait_for_replicas(server: Server, names: str = "*") -> None:
    server.sql(f"ALTER SYSTEM SET synchronous_standby_names = '{names}'")
    server.sql("SELECT pg_reload_conf()")


async def test_lines_that_a_synchronous_replica_has_confirmed_are_there_after_a_failover(
    primary: Server, tmp_path: Path
) -> None:
    database = database_of(primary.new_url())
    with primary.replica() as replica:
        wait_for_replicas(primary)
        async with postgres_store(of_both(primary, replica, database), tmp_path) as store:
            log = await new_log(store)
            first = log.log_id
            acknowledged: list[bytes] = []
            is_over = False

            async def write() -> None:
                number = 0
                while not is_over:
                    await append_again(log, entry(number))
                    acknowledged.append(entry(number))
                    number += 1

            writing = asyncio.create_task(write())
            await until(lambda: len(acknowledged) > 20)
            await asyncio.to_thread(primary.kill)
            await asyncio.to_thread(replica.promote)
            await asyncio.to_thread(wait_for_replicas, replica, "")
            before = len(acknowledged)
            await until(lambda: len(acknowledged) > before + 20)
            is_over = True
            await writing
            assert content(log) == HEADER + b"".join(acknowledged)
            assert log.log_id == first
            await log.close()
            assert b"".join(store.scan("abc")) == HEADER + b"".join(acknowledged)


async def test_lines_that_a_failover_lost_are_missed_and_no_position_leads_to_others(
    primary: Server, tmp_path: Path
) -> None:
    database = database_of(primary.new_url())
    with primary.replica() as replica:
        async with postgres_store(of_both(primary, replica, database), tmp_path) as store:
            opened, closed = await new_log(store), await new_log(store, "closed")
            await append(opened, entry(1))
            await append(closed, entry(1))
            written = primary.sql("SELECT pg_current_wal_flush_lsn()")
            await until(lambda: replica.sql(f"SELECT pg_last_wal_replay_lsn() >= '{written}'") == "t")
            await asyncio.to_thread(replica.stop)
            await append(opened, entry(2))
            await append(closed, entry(2))
            await closed.close()
            first = opened.log_id, closed.log_id
            await asyncio.to_thread(primary.kill)
            await asyncio.to_thread(replica.start)
            await asyncio.to_thread(replica.promote)
            await until(lambda: isinstance(opened.write_error, LogReplaced))
            await opened.close()
            for session_id, former in zip(("abc", "closed"), first, strict=True):
                log = await store.open(session_id)
                assert content(log) == HEADER + entry(1)
                assert log.log_id != former
                await append(log, entry(3))
                await log.close()


async def test_a_commit_that_no_replica_confirms_is_no_success_and_is_stored_once(
    primary: Server, tmp_path: Path, impatient: None
) -> None:
    url = primary.new_url()
    with primary.replica() as replica:
        wait_for_replicas(primary)
        async with postgres_store(url, tmp_path) as store:
            log = await new_log(store)
            await append(log, entry(1))
            await asyncio.to_thread(replica.stop)
            with pytest.raises(OutcomeUnknown):
                await log.append(entry(2), "synced")
            await until(lambda: "does not confirm commits" in str(log.write_error))
            await log.retry()
            assert isinstance(log.write_error, StoreUnreachable)
            assert content(log) == HEADER + entry(1)
            with pytest.raises(StoreUnreachable):
                await log.append(entry(3), "synced")
            await asyncio.to_thread(replica.start)
            await append_again(log, entry(2))
            assert content(log) == HEADER + entry(1) + entry(2)
            await log.close()


async def test_a_silent_network_is_noticed_and_what_was_missed_arrives(
    primary: Server, tmp_path: Path, impatient: None
) -> None:
    url = primary.new_url()
    async with cutting_proxy(url, tmp_path) as (proxy, through), postgres_store(url, tmp_path / "b") as there:  # noqa: SIM117
        async with postgres_store(through, tmp_path / "a") as here:
            mine = await new_log(here)
            await append(mine, entry(1))
            proxy.fall_silent()
            with pytest.raises((OutcomeUnknown, StoreUnreachable)):
                await mine.append(entry(2), "synced")
            assert mine.stale is not None
            assert content(mine) == HEADER + entry(1)
            with pytest.raises(StoreUnreachable):
                await _opened_in_time(here)
            theirs = await there.open("abc")
            await append(theirs, entry(3))
            proxy.speak_again()
            await until(lambda: mine.stale is None and mine.foreign_bytes())
            mine.accept(mine.size + mine.foreign_bytes())
            await append_again(mine, entry(2))
            assert sorted(content(mine).splitlines()) == sorted(
                (HEADER + entry(1) + entry(2) + entry(3)).splitlines()
            )
            await mine.close()
            await theirs.close()


async def _opened_in_time(store: PostgresStore) -> None:
    async with asyncio.timeout(BOUND):
        await store.open("another")
