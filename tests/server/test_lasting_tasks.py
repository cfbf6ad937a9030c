"""Background tasks of the daemon: one that ends with an error is named, and begins again after a pause."""

import asyncio
from pathlib import Path

import pytest

from sessiond.hub.index.updating import IndexUpdater
from sessiond.server import lasting_tasks
from sessiond.server.lasting_tasks import LastingTasks, pause_after
from support.daemons import running
from support.following import until


def spawned() -> LastingTasks:
    return LastingTasks(lambda work: asyncio.get_running_loop().create_task(work))


def test_the_pauses_after_failures_grow_to_five_minutes() -> None:
    assert [pause_after(number) for number in range(1, 12)] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert pause_after(10**6) == 300


async def test_a_task_that_returns_after_a_failure_is_not_named_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lasting_tasks, "FIRST_PAUSE", 0.01)
    errors = iter([ValueError("no")])

    async def work() -> None:
        for error in errors:
            raise error

    tasks = spawned()
    await tasks.begin("work", work)
    assert tasks.failed == []


async def test_the_last_failure_is_named_until_the_task_has_worked_for_some_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lasting_tasks, "FIRST_PAUSE", 0.01)
    tasks, works = spawned(), asyncio.Event()
    begun = 0

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun <= 2:
            raise KeyError("gone")
        works.set()
        await asyncio.Event().wait()

    task = tasks.begin("work", work)
    await works.wait()
    [failed] = tasks.failed
    assert (failed.name, failed.message, failed.failure_count) == ("work", "KeyError: 'gone'", 2)
    assert failed.is_running
    monkeypatch.setattr(lasting_tasks, "CALM_SECONDS", 0.0)
    assert tasks.failed == []
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_a_task_whose_wait_is_canceled_has_failed_and_one_that_is_canceled_has_ended() -> None:
    tasks = spawned()

    async def work() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    task = tasks.begin("work", work)

    async def has_failed() -> bool:
        return bool(tasks.failed)

    await until(has_failed)
    assert not tasks.failed[0].is_running
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_the_status_names_a_part_that_failed_and_it_works_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, failures = IndexUpdater.run, iter([RuntimeError("the disk said no")])

    async def failing_once(self: IndexUpdater) -> None:
        for error in failures:
            raise error
        await run(self)

    monkeypatch.setattr(IndexUpdater, "run", failing_once)
    monkeypatch.setattr(lasting_tasks, "FIRST_PAUSE", 0.05)
    async with running(tmp_path) as daemon:
        peer = await daemon.attach()

        async def running_again() -> bool:
            [failed] = (await peer.call("server/status"))["failedTasks"]
            assert (failed["name"], failed["message"]) == ("index", "RuntimeError: the disk said no")
            return bool(failed["isRunning"])

        await until(running_again)
