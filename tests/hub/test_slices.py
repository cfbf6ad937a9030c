"""Long work in slices: it shares each turn of the loop, clients take turns, and what is small is served meanwhile."""

import asyncio
from collections.abc import Generator
from pathlib import Path

import pytest

from sessiond.hub.execution import slices
from sessiond.hub.execution.slices import TurnBudget, context_of, run_in_slices
from support.columns import seqs_of
from support.daemons import assistant, running, user


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still unless a test moves it."""
    now = [0.0]
    monkeypatch.setattr("sessiond.hub.execution.slices.time.perf_counter", lambda: now[0])
    return now


def work(name: str, steps: int, done: list[str], clock: list[float]) -> Generator[None, None, str]:
    """Work of so many steps of half the time of a turn, each of which is noted."""
    for _ in range(steps):
        done.append(name)
        clock[0] += slices.TICK_SECONDS * 0.6
        yield
    return name


async def test_the_value_of_the_work_is_returned_and_its_error_raised(clock: list[float]) -> None:
    def failing() -> Generator[None, None, None]:
        clock[0] += 1
        yield
        yield
        raise LookupError

    assert await run_in_slices(work("a", 0, [], clock)) == "a"
    assert await run_in_slices(work("a", 20, [], clock)) == "a"
    with pytest.raises(LookupError):
        await run_in_slices(failing())


async def test_a_turn_of_the_loop_has_no_more_steps_for_many_requests_than_for_one(
    clock: list[float],
) -> None:
    done: list[str] = []
    in_a_turn: list[int] = []
    many = [asyncio.create_task(run_in_slices(work(str(number), 10, done, clock))) for number in range(20)]
    while not all(task.done() for task in many):
        before = len(done)
        await asyncio.sleep(0)
        in_a_turn.append(len(done) - before)
    assert max(in_a_turn) <= 2
    assert len(done) == 200


async def test_clients_take_turns_however_many_requests_one_of_them_has(clock: list[float]) -> None:
    done: list[str] = []
    greedy, modest = context_of("greedy"), context_of("modest")
    create = asyncio.get_running_loop().create_task
    tasks = [create(run_in_slices(work("g", 10, done, clock)), context=greedy) for _ in range(50)]
    await asyncio.sleep(0)
    tasks.append(create(run_in_slices(work("m", 10, done, clock)), context=modest))
    await tasks[-1]
    assert done.count("g") <= 2 + 2 * 10 + 2
    await asyncio.gather(*tasks)
    assert (done.count("g"), done.count("m")) == (500, 10)


async def test_canceled_work_is_closed_and_does_no_more_steps(clock: list[float]) -> None:
    done: list[str] = []
    running = work("a", 1_000, done, clock)
    task = asyncio.create_task(run_in_slices(running))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    so_far = len(done)
    assert await run_in_slices(work("b", 10, done, clock)) == "b"
    assert done.count("a") == so_far
    assert next(running, None) is None


async def test_a_budget_is_used_up_until_the_next_turn_of_the_loop() -> None:
    budget = TurnBudget(1.0)
    states: list[bool] = []
    for _ in range(3):
        for _ in range(2):
            states.append(budget.is_used_up)
            budget.spend(0.6)
        states.append(budget.is_used_up)
        await asyncio.sleep(0)
    assert states == [False, False, True] * 3


class _CountingBudget(TurnBudget):
    times = 0

    def spend(self, seconds: float) -> None:
        self.times += 1
        super().spend(seconds)


async def test_entries_for_subscribers_are_announced_over_several_turns_and_all_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = _CountingBudget(1e-9)
    monkeypatch.setattr("sessiond.hub.session.pending_batches.telling_budget", budget)
    async with running(tmp_path) as daemon:
        peer, reader = await daemon.attach(), await daemon.attach()
        ids = [(await peer.call("session/create", cwd="/w"))["session"]["sessionId"] for _ in range(5)]
        for session_id in ids:
            await reader.call("session/subscribe", sessionId=session_id)
        sent = [
            peer.send("session/append", sessionId=item, entries=[user("a"), assistant("b")])
            for _ in range(10) for item in ids
        ]  # fmt: skip
        await asyncio.gather(*sent)
        await reader.until(lambda client: len(client.seqs()) == 100)
        for session_id in ids:
            told = [
                notification
                for notification in reader.told("session/appended")
                if notification["sessionId"] == session_id
            ]
            assert [seq for note in told for seq in seqs_of(note)] == list(range(1, 21))
    assert budget.times > 0
