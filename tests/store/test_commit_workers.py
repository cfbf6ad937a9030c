"""The threads of the group commit: calls run beside the event loop, and their results come back to its thread."""

import asyncio
import threading
from functools import partial

import pytest

from sessiond.store.files.workers import THREADS, CallResult, Workers
from support.waiting import until


async def test_a_call_runs_on_another_thread_and_its_result_comes_back_to_the_loop() -> None:
    workers = Workers()
    threads: list[str] = []
    results: list[int] = []

    def done(result: CallResult[int]) -> None:
        threads.append(threading.current_thread().name)
        results.append(result.result())

    def call() -> int:
        threads.append(threading.current_thread().name)
        return 7

    workers.run(call, done)
    await until(lambda: results)
    await workers.close()
    assert results == [7]
    assert threads[0].startswith("sessiond-commit-")
    assert threads[1] == threading.current_thread().name


async def test_an_exception_is_a_result_and_the_thread_goes_on() -> None:
    workers = Workers()
    results: list[CallResult[int]] = []
    workers.run(lambda: 1 // 0, results.append)
    await until(lambda: results)
    workers.run(lambda: 2, results.append)
    await workers.close()
    assert isinstance(results[0].exception(), ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        results[0].result()
    assert results[1].result() == 2


async def test_a_call_that_waits_does_not_hold_up_the_others() -> None:
    workers = Workers()
    gate = threading.Event()
    results: list[str] = []
    workers.run(lambda: gate.wait(30), lambda _: results.append("slow"))
    for number in range(5):
        workers.run(lambda: None, lambda _, number=number: results.append(f"{number}"))  # type: ignore[misc]
    await until(lambda: len(results) == 5)
    gate.set()
    await workers.close()
    assert results[-1] == "slow"


async def test_there_are_never_more_threads_than_the_limit_and_no_call_is_lost() -> None:
    workers = Workers()
    before = threading.active_count()
    results: list[int] = []
    gate = threading.Event()

    def wait(number: int) -> int:
        gate.wait(30)
        return number

    for number in range(200):
        workers.run(partial(wait, number), lambda work: results.append(work.result()))
    assert threading.active_count() - before <= THREADS
    gate.set()
    await workers.close()
    assert sorted(results) == list(range(200))


async def test_closing_waits_for_the_calls_and_reports_them() -> None:
    workers = Workers()
    results: list[CallResult[str]] = []
    for _ in range(20):
        workers.run(lambda: "done", results.append)
    await workers.close()
    assert [result.result() for result in results] == ["done"] * 20
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sessiond-commit-")]


async def test_a_callback_that_raises_does_not_keep_other_results_from_being_reported() -> None:
    workers = Workers()
    loop = asyncio.get_running_loop()
    errors: list[object] = []
    loop.set_exception_handler(lambda _, context: errors.append(context["exception"]))
    results: list[CallResult[None]] = []

    def broken(_: CallResult[None]) -> None:
        raise LookupError("a defect")

    workers.run(lambda: None, broken)
    workers.run(lambda: None, results.append)
    await until(lambda: results and errors)
    await workers.close()
    assert isinstance(errors[0], LookupError)
