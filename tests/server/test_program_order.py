"""Program order: what one connection sends without waiting is answered as if each request had waited."""

import asyncio
import random
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from scripts.campaigns.order_model import Outcome, Plan, Step

from support.daemons import Mode, Peer, Refused, running

_numbers = count(1)


async def outcome(call: "asyncio.Task[Any]") -> Outcome:
    try:
        answer: Outcome = await call
    except Refused as refused:
        return refused.kind
    return answer


def sent(peer: Peer, method: str, **params: Any) -> "asyncio.Task[Any]":
    """A request whose answer nobody waits for yet."""
    return asyncio.create_task(peer.call(method, **params))


async def wrong(peer: Peer, steps: list[Step]) -> list[str]:
    """Send all requests without waiting, and say which answers are not those of the model."""
    calls = [sent(peer, step.method, **step.params) for step in steps]
    found = []
    for number, (step, call) in enumerate(zip(steps, calls, strict=True)):
        problem = step.check(await outcome(call))
        if problem:
            found.append(f"{number} {step.method} {step.params}: {problem}")
    return found


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)  # fmt: skip
@given(seed=st.integers(0, 1 << 32), length=st.integers(2, 120))
def test_pipelined_requests_are_answered_as_if_each_had_waited_for_the_one_before(
    tmp_path: Path, seed: int, length: int
) -> None:
    async def attempt() -> None:
        async with running(tmp_path / f"home-{next(_numbers)}") as daemon:
            plan = Plan(random.Random(seed), "order-model")
            assert await wrong(await daemon.attach(), list(plan.steps(length))) == []

    asyncio.run(attempt())


@pytest.mark.parametrize("mode", ["socket", pytest.param("process", marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", range(4))
async def test_pipelined_requests_over_a_socket_are_answered_in_their_order(
    tmp_path: Path, mode: Mode, seed: int
) -> None:
    async with running(tmp_path, mode) as daemon:
        plan = Plan(random.Random(seed), "order-socket")
        for _ in range(3):
            assert await wrong(await daemon.attach(), list(plan.steps(150))) == []
