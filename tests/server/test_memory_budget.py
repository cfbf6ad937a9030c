"""Places in memory: given in the order of asking, never more than there are, and never lost."""

import asyncio

from hypothesis import given, strategies as st

from sessiond.server.connection.memory_budget import MAX_REQUESTS, ByteSemaphore, MemoryBudget


async def in_line(places: ByteSemaphore, *sizes: int) -> list[asyncio.Task[None]]:
    """Those who ask for so much, one after the other, each as far as it comes."""
    tasks = []
    for size in sizes:
        tasks.append(asyncio.create_task(places.enter(size)))
        await asyncio.sleep(0)
    return tasks


async def test_messages_without_room_wait_and_are_let_in_in_order() -> None:
    places = ByteSemaphore(10)
    first, second, third = await in_line(places, 8, 5, 1)
    assert (first.done(), second.done(), third.done()) == (True, False, False)
    places.leave(8)
    await asyncio.gather(second, third)
    assert places.taken == 6


async def test_nobody_overtakes_even_where_it_would_fit() -> None:
    places = ByteSemaphore(10)
    await in_line(places, 8, 5)
    assert not places.enter_now(1)


async def test_a_message_larger_than_all_room_is_let_in_alone() -> None:
    places = ByteSemaphore(10)
    [giant] = await in_line(places, 50)
    assert giant.done()
    assert not places.enter_now(1)
    places.leave(50)
    assert places.enter_now(1)


async def test_a_message_that_gives_up_delays_none_behind_it() -> None:
    places = ByteSemaphore(10)
    _, giant, small = await in_line(places, 8, 9, 2)
    giant.cancel()
    await small
    assert (places.taken, places.waiting) == (10, 0)


async def test_a_message_that_gives_up_on_the_tick_on_which_it_is_let_in_takes_nothing() -> None:
    places = ByteSemaphore(10)
    _, second = await in_line(places, 10, 4)
    places.leave(10)
    second.cancel()
    await asyncio.wait([second])
    assert second.cancelled()
    assert places.taken == 0


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 3), st.booleans()), max_size=30))
def test_room_is_never_overdrawn_and_never_lost(visits: list[tuple[int, int, bool]]) -> None:
    async def visit(places: ByteSemaphore, size: int, stays: int) -> None:
        async with places.reserve(size):
            assert places.taken <= places.size or places.taken == size
            for _ in range(stays):
                await asyncio.sleep(0)

    async def run() -> None:
        places = ByteSemaphore(10)
        tasks = []
        for size, stays, gives_up in visits:
            task = asyncio.create_task(visit(places, size, stays))
            tasks.append(task)
            await asyncio.sleep(0)
            if gives_up:
                task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert not [outcome for outcome in outcomes if isinstance(outcome, AssertionError)]
        assert (places.taken, places.waiting) == (0, 0)

    asyncio.run(run())


def test_room_is_short_when_there_are_too_many_requests_or_too_many_bytes() -> None:
    by_bytes, by_number = MemoryBudget(100), MemoryBudget(100)
    by_bytes.began(100)
    seen = [by_bytes.is_short]
    by_bytes.began(1)
    seen.append(by_bytes.is_short)
    by_bytes.ended(1)
    seen.append(by_bytes.is_short)
    for _ in range(MAX_REQUESTS + 1):
        by_number.began(0)
    assert seen == [False, True, False]
    assert by_number.is_short


async def test_room_that_grows_lets_in_who_waited_for_it() -> None:
    budget = MemoryBudget(40)
    await in_line(budget.answers, 8)
    [waiting] = await in_line(budget.answers, 8)
    assert not waiting.done()
    budget.grow(80)
    await waiting
    assert budget.answers.taken == 16
