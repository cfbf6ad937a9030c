"""Computations in a process of their own: results and errors come back, and canceling ends the process."""

import asyncio
import contextlib
import gc
import operator
import os
import pickle
import signal
import subprocess
import time
import weakref
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

import pytest

from sessiond.agents.companions import Companions
from sessiond.error_text import TemplatedError
from sessiond.hub.errors import ChildFailed, ChildNotStarted, IncompatibleParams, TooLarge
from sessiond.hub.execution import child_process
from sessiond.hub.execution.child_process import KeptProcess, run_in_child_process, run_on_pieces
from sessiond.hub.transfer import foreign_files
from sessiond.hub.transfer.foreign_files import NotImported
from sessiond.store.errors import LogCopied, StorageFull
from support.daemons import running, user
from support.shared import started
from support.waiting import until


async def test_an_error_does_not_hold_what_its_callers_have_until_a_garbage_collection() -> None:
    async def failing() -> "weakref.ref[NotImported]":
        try:
            await run_in_child_process(foreign_files.read, os.devnull, None, Companions())
        except NotImported as error:
            return weakref.ref(error)
        raise AssertionError

    gc.disable()
    try:
        error = await failing()
        await until(lambda: error() is None)
    finally:
        gc.enable()


async def test_a_result_comes_back_from_another_process() -> None:
    assert await run_in_child_process(os.getpid) != os.getpid()


async def test_an_exception_of_the_function_is_raised_here() -> None:
    with pytest.raises(FileNotFoundError):
        await run_in_child_process(os.stat, "/nowhere/at/all")


async def test_a_process_that_ends_without_a_result_is_an_error() -> None:
    with pytest.raises(ChildFailed):
        await run_in_child_process(os._exit, 3)


async def test_an_export_needs_no_process_where_the_system_allows_none(
    tmp_path: Path, cwd: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(tmp_path) as daemon:
        peer, session_id = await started(daemon, cwd)
        await peer.append(session_id, *(user("x" * 10_000) for _ in range(100)))
        texts = [await peer.call("session/export", sessionId=session_id, format="jsonl")]
        monkeypatch.setattr("sessiond.hub.execution.child_process.COMMAND", ("/nowhere/python",))
        with pytest.raises(ChildNotStarted):
            await run_in_child_process(os.getpid)
        texts.append(await peer.call("session/export", sessionId=session_id, format="jsonl"))
        assert texts[0] == texts[1]
        assert texts[0]["entryCount"] == 100


async def test_canceling_ends_the_process(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    work = asyncio.create_task(run_in_child_process(Path.read_bytes, fifo))
    writing: list[int] = []

    def is_read() -> bool:
        with contextlib.suppress(OSError):  # ENXIO: nobody reads it yet
            writing.append(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
        return bool(writing)

    def is_not_read() -> bool:
        try:
            os.write(writing[0], b"x")
        except BrokenPipeError:
            return True
        return False

    await until(is_read)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await until(is_not_read)
    os.close(writing[0])


def test_a_process_ends_when_nobody_waits_for_its_result_any_more() -> None:
    process = subprocess.Popen(child_process.COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump(((time.sleep, (60.0,), {}), False, True), process.stdin)
    process.stdin.flush()
    process.stdout.close()  # as the end of the daemon does
    assert process.wait(30) == 1
    process.stdin.close()


@pytest.fixture
def kept() -> Iterator[KeptProcess]:
    process = KeptProcess()
    yield process
    process.close()


async def test_a_kept_process_serves_one_call_after_the_other(kept: KeptProcess) -> None:
    first = await kept.run(os.getpid)
    with pytest.raises(FileNotFoundError):
        await kept.run(os.stat, "/nowhere/at/all")
    assert await kept.run(os.getpid) == first != os.getpid()


async def test_calls_at_the_same_time_have_processes_of_their_own(kept: KeptProcess) -> None:
    first, second = await asyncio.gather(kept.run(os.getpid), kept.run(os.getpid))
    assert first != second
    assert await kept.run(os.getpid) == first


async def test_a_call_to_a_kept_process_that_was_ended_is_served_by_another(kept: KeptProcess) -> None:
    first = await kept.run(os.getpid)
    os.kill(first, signal.SIGKILL)
    assert await kept.run(os.getpid) != first


async def test_a_call_that_ends_two_processes_fails_and_the_next_one_is_served(kept: KeptProcess) -> None:
    await kept.run(os.getpid)
    with pytest.raises(ChildFailed):
        await kept.run(os._exit, 3)
    assert await kept.run(os.getpid) != os.getpid()


async def test_canceling_a_call_ends_the_kept_process(kept: KeptProcess) -> None:
    first = await kept.run(os.getpid)
    work = asyncio.create_task(kept.run(time.sleep, 60.0))
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert await kept.run(os.getpid) != first


async def test_a_kept_process_ends_when_it_has_had_no_call_for_some_time(
    kept: KeptProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_process, "KEPT_SECONDS", 0.01)
    first = await kept.run(os.getpid)
    await until(lambda: not Path(f"/proc/{first}").exists())
    assert await kept.run(os.getpid) != first


async def numbers(count: int) -> AsyncIterator[Iterator[int]]:
    for first in range(0, count, 100_000):
        yield iter(range(first, min(first + 100_000, count)))


async def test_a_process_gets_the_pieces_while_it_runs() -> None:
    assert await run_on_pieces(operator.countOf, numbers(250_000), 249_999) == 1
    assert await run_on_pieces(operator.countOf, numbers(0), 0) == 0


async def test_a_process_that_wants_no_more_pieces_answers() -> None:
    assert await run_on_pieces(operator.indexOf, numbers(10**12), 3) == 3


async def test_pieces_that_end_with_an_error_are_never_taken_for_all() -> None:
    async def broken() -> AsyncIterator[Iterator[int]]:
        yield iter([1])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_on_pieces(operator.countOf, broken(), 1)


async def test_a_process_that_dies_while_it_gets_pieces_is_an_error() -> None:
    with pytest.raises(ChildFailed, match="status 1"):
        await run_on_pieces(_ends, numbers(10**12), 1)


@pytest.mark.parametrize(
    "error",
    [
        TooLarge("a text", 3, 2), IncompatibleParams("no"), LogCopied("a", "/b", None),
        StorageFull("x", errno=28), ChildNotStarted("could not be started"),
    ],
)  # fmt: skip
def test_an_error_of_this_program_comes_back_as_it_was(error: TemplatedError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


def _ends(_pieces: Iterable[int], _argument: int) -> int:
    """A function of a module that the process does not have."""
    raise AssertionError
