"""The promises of the store in a database if connections, the server or another daemon fail, or come first."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from sessiond.store.base import Log, Store
from sessiond.store.errors import (
    LogGone,
    LogMoved,
    LogReplaced,
    StoreUnreachable,
)
from sessiond.store.postgres import writer
from sessiond.store.postgres.requests import Connection
from sessiond.store.postgres.session import catch_up
from sessiond.store.postgres.store import PostgresStore
from support import following
from support.cutting_proxy import Moment, cutting_proxy
from support.patience import BOUND
from support.postgres import Server, running_server
from support.postgres_stores import accept_all, append_again, postgres_store, two_stores
from support.stores import CWD, HEADER, TIMESTAMP, append, content, new_log
from support.waiting import until

pytestmark = pytest.mark.postgres


def entry(number: int) -> bytes:
    return b'{"type":"message","id":"%08x"}\n' % number


def stored(server: Server, url: str, session_id: str = "abc") -> list[str]:
    """The lines of a session as psql shows them."""
    database = url.split("/")[3].split("?")[0]
    statement = (
        "SELECT convert_from(raw, 'UTF8') FROM sessiond.lines JOIN sessiond.sessions s ON s.key = session"
        f" WHERE s.id = '{session_id}' ORDER BY lines.seq"
    )
    return [line for line in server.sql(statement, database).splitlines() if line]


async def test_lines_that_arrive_before_the_answer_are_there_once(
    postgres_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = writer.send_group

    async def send_and_catch_up(connection: Connection, shares: Sequence[writer.GroupShare]) -> set[int]:
        stored = await send(connection, shares)
        for share in shares:
            share.session.writing = False
            await catch_up(connection, share.session)
            share.session.writing = True
        return stored

    monkeypatch.setattr(writer, "send_group", send_and_catch_up)
    async with postgres_store(postgres_server.new_url(), tmp_path / "a") as store:
        log = await new_log(store)
        await append(log, entry(1), entry(2))
        await log.retry()
        assert log.write_error is None
        await append(log, entry(3))
        assert content(log) == HEADER + entry(1) + entry(2) + entry(3)
        assert log.foreign_bytes() == 0
        await log.close()


async def test_lines_of_one_daemon_are_those_of_the_other_a_moment_later(
    postgres_server: Server, tmp_path: Path
) -> None:
    async with two_stores(postgres_server, tmp_path) as (here, there):
        mine = await new_log(here)
        told: list[set[str]] = []
        watch = there.watch(told.append)
        theirs = await there.open("abc")
        await append(mine, entry(1), entry(2))
        await until(lambda: theirs.foreign_bytes() > 0 and any("abc" in refs for refs in told))
        await until(lambda: theirs.size + theirs.foreign_bytes() == mine.size)
        await accept_all(theirs)
        assert content(theirs) == content(mine) == HEADER + entry(1) + entry(2)
        watch.close()
        await mine.close()
        await theirs.close()


async def test_of_two_daemons_that_append_at_once_one_moves_the_other(
    postgres_server: Server, tmp_path: Path
) -> None:
    async with two_stores(postgres_server, tmp_path) as (here, there):
        mine = await new_log(here)
        theirs = await there.open("abc")

        async def work(log: Log, first: int) -> None:
            for number in range(first, first + 40):
                await append_again(log, entry(number))

        await asyncio.gather(work(mine, 0), work(theirs, 1000))
        for log in (mine, theirs):
            await log.retry()
            await accept_all(log)
        lines = content(mine).splitlines(keepends=True)[1:]
        assert content(theirs) == content(mine)
        assert sorted(lines) == sorted(entry(n) for first in (0, 1000) for n in range(first, first + 40))
        await mine.close()
        await theirs.close()


async def test_a_batch_behind_lines_of_others_fails_with_all_behind_it_and_nothing_else(
    postgres_server: Server, tmp_path: Path
) -> None:
    url = postgres_server.new_url()
    async with postgres_store(url, tmp_path / "a") as here, postgres_store(url, tmp_path / "b") as there:
        mine, other = await new_log(here), await new_log(here, "other")
        theirs = await there.open("abc")
        await append(theirs, entry(1))
        outcomes = await asyncio.gather(
            mine.append(entry(2), "synced"), mine.append(entry(3), "written"), other.append(entry(4), "synced"),
            return_exceptions=True,
        )  # fmt: skip
        assert [type(outcome) for outcome in outcomes] == [LogMoved, LogMoved, bool]
        assert mine.foreign_bytes() == len(entry(1))
        await accept_all(mine)
        await append(mine, entry(5))
        assert stored(postgres_server, url)[1:] == [entry(n).decode().strip() for n in (1, 5)]
        for log in (mine, theirs, other):
            await log.close()


async def test_an_id_is_stored_once(postgres_server: Server, tmp_path: Path) -> None:
    url = postgres_server.new_url()
    async with postgres_store(url, tmp_path) as store:
        log, other = await new_log(store), await new_log(store, "other")
        await append(log, entry(1))
        outcomes = await asyncio.gather(
            log.append(entry(1), "synced"), other.append(entry(1), "synced"), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [LogMoved, bool]
        await append(log, entry(2))
        assert content(log) == HEADER + entry(1) + entry(2)
        await log.close()
        await other.close()


async def test_in_a_locked_block_no_other_daemon_comes_first(postgres_server: Server, tmp_path: Path) -> None:
    async with two_stores(postgres_server, tmp_path) as (here, there):
        mine = await new_log(here)
        theirs = await there.open("abc")
        await append(theirs, entry(1))
        async with mine.locked():
            await accept_all(mine)
            others = theirs.append(entry(2), "synced")
            ours = mine.append(entry(3), "synced")
            await asyncio.sleep(0.05)
            assert not others.done()
        assert await ours is False
        with pytest.raises(LogMoved):
            await others
        assert content(mine) == HEADER + entry(1) + entry(3)
        await mine.close()
        await theirs.close()


async def test_a_session_that_is_rewritten_or_trashed_elsewhere_says_so(
    postgres_server: Server, tmp_path: Path
) -> None:
    async with two_stores(postgres_server, tmp_path) as (here, there):
        mine = await new_log(here)
        theirs = await there.open("abc")
        await mine.rewrite(b"new\n", 1)
        await until(lambda: isinstance(theirs.write_error, LogReplaced))
        with pytest.raises(LogReplaced):
            theirs.foreign_bytes()
        again = await there.open("abc")
        assert content(again) == b"new\n"
        await here.trash(mine, "test")
        await until(lambda: isinstance(again.write_error, LogGone))
        await theirs.close()
        await again.close()


Work = Callable[[Store, Log], Awaitable[object]]

WORK: dict[str, Work] = {
    "append": lambda _, log: append_again(log, entry(1)),
    "flush": lambda _, log: append(log, entry(1), durability="written"),
    "rewrite": lambda _, log: log.rewrite(HEADER + entry(1), 3),
    "overwrite": lambda _, log: log.overwrite(0, HEADER[:1], HEADER[:1]),
    "promote": lambda _, log: log.promote(),
    "create": lambda store, _: store.add("new", cwd=CWD, timestamp=TIMESTAMP, lines=HEADER, draft=False),
    "trash": lambda store, log: store.trash(log, "test"),
    "put": lambda store, _: store.blobs.put(b"data"),
    "hold": lambda store, log: store.hold(log.ref),
    "claim": lambda store, log: store.claim(log.ref, "compaction"),
    "list": lambda store, _: store.list(),
}


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", WORK)
async def test_work_is_done_once_wherever_its_connection_is_cut(
    name: str, moment: Moment, postgres_server: Server, tmp_path: Path
) -> None:
    url = postgres_server.new_url()
    async with cutting_proxy(url, tmp_path) as (proxy, through):  # noqa: SIM117 - the URL is known inside only
        async with postgres_store(through, tmp_path / "state") as store:
            for number in range(100):
                session_id = f"abc-{number}"
                log = await new_log(store, session_id, draft=True)
                await store.blobs.trash(
                    [blob.hash for blob in await store.blobs.list()],
                    older_than_ns=2**62,
                    folder=f"{number}",
                    reason="",
                )
                if name == "create":
                    for row in await store.list():
                        if row.session_id == "new":
                            await store.trash(await store.open("new"), "test")
                cut = proxy.cut_at(number, moment)
                async with asyncio.timeout(BOUND):
                    await WORK[name](store, log)
                was_cut = cut.is_set()
                proxy.cut_at(10**9, moment)
                await _reached(store)
                if name == "append":
                    assert stored(postgres_server, url, session_id).count(entry(1).decode().strip()) == 1
                elif name == "trash":
                    assert [trashed.session_id for trashed in await store.trashed()].count(session_id) == 1
                await log.close()
                if not was_cut:
                    assert number > 0, "no statement was cut"
                    return  # the work has no more statements
    raise AssertionError("the work never ended before the cut")


async def _reached(store: PostgresStore) -> None:
    """Wait until the store has found that its server is in reach. The cut may have ended the link, unnoticed so far."""

    async def is_reached() -> bool:
        try:
            await store.trashed()
        except StoreUnreachable:
            return False
        return not store.is_cut_off

    await following.until(is_reached)


async def test_a_store_that_is_cut_off_serves_what_it_has_and_catches_up(
    postgres_server: Server, tmp_path: Path
) -> None:
    url = postgres_server.new_url()
    async with cutting_proxy(url, tmp_path) as (proxy, through), postgres_store(url, tmp_path / "b") as there:  # noqa: SIM117
        async with postgres_store(through, tmp_path / "a") as here:
            mine = await new_log(here)
            await append(mine, entry(1))
            closed = await new_log(here, "closed")
            await closed.close()
            proxy.go_down()
            await until(lambda: mine.stale is not None)
            assert isinstance(mine.write_error, StoreUnreachable)
            assert content(mine) == HEADER + entry(1)
            with pytest.raises(StoreUnreachable):
                await mine.append(entry(2), "synced")
            with pytest.raises(StoreUnreachable):
                await here.open("never opened here")
            closed = await here.open("closed")
            assert (content(closed), closed.stale is not None) == (HEADER, True)
            await here.hold("closed")
            assert await here.release("abc")
            await here.end_claim("abc", "compaction")
            theirs = await there.open("abc")
            await append(theirs, entry(3))
            proxy.come_up()
            async with asyncio.timeout(BOUND):
                while await there.held_elsewhere(["closed", "abc"]) != {"closed"}:  # noqa: ASYNC110 - rows tell nobody
                    await asyncio.sleep(0.02)
            await until(lambda: mine.stale is None)
            assert mine.foreign_bytes() == len(entry(3))
            await accept_all(mine)
            await append(mine, entry(4))
            assert content(mine) == HEADER + entry(1) + entry(3) + entry(4)
            for log in (mine, closed, theirs):
                await log.close()


@pytest.mark.slow
async def test_no_acknowledged_line_is_lost_or_doubled_when_the_server_is_killed(tmp_path: Path) -> None:
    with running_server() as server:
        url = server.new_url()
        async with postgres_store(url, tmp_path / "a") as here, postgres_store(url, tmp_path / "b") as there:
            mine = await new_log(here)
            theirs = await there.open("abc")
            acknowledged: list[bytes] = []
            is_over = False

            async def work(log: Log, number: int) -> None:
                while not is_over:
                    await append_again(log, entry(number))
                    acknowledged.append(entry(number))
                    number += 1

            working = [asyncio.create_task(work(mine, 0)), asyncio.create_task(work(theirs, 10**6))]
            for round in range(4):
                before = len(acknowledged)
                await until(lambda before=before: len(acknowledged) > before + 10)  # type: ignore[misc]
                await asyncio.to_thread(server.kill if round % 2 else server.stop)
                await asyncio.to_thread(server.start)
            is_over = True
            await asyncio.gather(*working)
            lines = stored(server, url)[1:]
            assert sorted(lines) == sorted(line.decode().strip() for line in acknowledged)
            await mine.close()
            await theirs.close()


async def test_a_slow_watcher_delays_nobody(postgres_server: Server, tmp_path: Path) -> None:
    async with two_stores(postgres_server, tmp_path) as (here, there):
        mine = await new_log(here)
        theirs = await there.open("abc")  # and never looks
        await append(mine, *[entry(number) for number in range(2_000)])
        await until(lambda: theirs.foreign_bytes() == mine.size - theirs.size)
        await accept_all(theirs)
        assert content(theirs) == content(mine)
        await mine.close()
        await theirs.close()


async def test_a_mirror_that_was_kept_is_continued_and_one_that_differs_is_filled_again(
    postgres_server: Server, tmp_path: Path
) -> None:
    async with two_stores(postgres_server, tmp_path) as (here, there):
        mine = await new_log(here)
        await append(mine, entry(1))
        await mine.close()
        theirs = await there.open("abc")
        await append(theirs, entry(2))
        mine = await here.open("abc")
        assert content(mine) == HEADER + entry(1) + entry(2)
        await mine.close()
        await theirs.rewrite(HEADER + entry(3), 3)
        await theirs.close()
        mine = await here.open("abc")
        assert content(mine) == HEADER + entry(3)
        await mine.close()


async def test_batches_queued_before_a_failure_is_reported_fail_with_it_and_none_later(
    postgres_server: Server, tmp_path: Path
) -> None:
    async with two_stores(postgres_server, tmp_path) as (here, there):
        mine = await new_log(here)
        theirs = await there.open("abc")
        await append(theirs, entry(1))
        again: list[asyncio.Future[bool]] = []

        def replace(_: object) -> None:
            mine.accept(mine.size + mine.foreign_bytes())
            again.append(mine.append(entry(2), "synced"))

        failed = mine.append(entry(2), "synced")
        failed.add_done_callback(replace)
        with pytest.raises(LogMoved):
            await failed
        assert await again[0] is False
        assert content(mine) == HEADER + entry(1) + entry(2)
        await mine.close()
        await theirs.close()
