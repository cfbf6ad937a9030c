"""Clients that wait for no answer: each is answered as if every request had waited for the one before."""

import asyncio

from campaigns.campaign import Broken, Campaign, Figures, Ground, hold
from campaigns.daemons import PATIENCE, Home
from campaigns.order_model import Outcome, Plan, Step
from campaigns.wires import Refused, Wire

_CLIENTS = 4
_IN_ONE_GO = 200


def check(ground: Ground) -> Figures:
    home = Home(ground.folder / "home")
    rounds = requests = 0
    with home.serving() as daemon:
        for number in ground.each_round(short=8, long=400, seconds=15.0):
            requests += asyncio.run(_round(ground, home, number))
            rounds += 1
        hold(daemon.poll() is None, "the daemon ended")
    return Figures(
        rounds=rounds, checked=requests, more=f"{_CLIENTS} clients, {_IN_ONE_GO} requests at a time"
    )


async def _round(ground: Ground, home: Home, number: int) -> int:
    """Several clients at once, each with sessions of its own; every second round each sends them in parts."""
    chance = ground.chance(number)
    plans = [Plan(chance, f"order-{number}-{client}") for client in range(_CLIENTS)]
    steps = [list(plan.steps(_IN_ONE_GO)) for plan in plans]
    pieces = _IN_ONE_GO if number % 2 == 0 else chance.choice((3, 10, 50))
    await asyncio.gather(*(_client(home, each, pieces) for each in steps))
    return sum(map(len, steps))


async def _client(home: Home, steps: list[Step], pieces: int) -> None:
    async with await Wire.to(home) as wire:
        calls: list[asyncio.Future[Outcome]] = []
        for start in range(0, len(steps), pieces):
            calls += [wire.send(step.method, step.params) for step in steps[start : start + pieces]]
            await wire.writer.drain()
        for at, (step, call) in enumerate(zip(steps, calls, strict=True)):
            problem = step.check(await _outcome(step, call))
            hold(not problem, f"request {at}, {step.method} {step.params}: {problem}")
        hold(not wire.unanswered, f"{wire.unanswered} requests were never answered")


async def _outcome(step: Step, call: "asyncio.Future[Outcome]") -> Outcome:
    try:
        async with asyncio.timeout(PATIENCE):
            return await call
    except Refused as refused:
        return refused.kind
    except TimeoutError as error:
        raise Broken(f"{step.method} was not answered within {PATIENCE:.0f} s") from error


CAMPAIGN = Campaign(
    name="order",
    promise="Requests of one connection about one session take effect in the order in which they were sent.",
    how="clients send hundreds of requests about several sessions without waiting, writes and reads in any order; a "
    "model says what each answer would be if every request had waited for the one before",
    run=check,
)
