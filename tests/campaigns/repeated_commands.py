"""Writes of all kinds with a `commandId`, kill -9 at random moments, and repeats: each takes effect exactly once."""

import asyncio
import contextlib
import os
import random
import re
import shutil
import signal
from collections.abc import Awaitable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.commands_model import Clerk, Request
from campaigns.daemons import PATIENCE, Home, state_of, until
from campaigns.log_on_disk import log_of, read_log
from campaigns.nursery import Nursery, nursery
from campaigns.wires import Gone, Refused, Wire, message, reply

_CLERKS: Final = 4
_SHARED: Final = ("shared-session-1", "shared-session-2")
_SEASON: Final = 8
"""Lives of a daemon in one home."""
_LONGEST: Final = 0.3
"""Seconds that a daemon lives with clients."""
_LOG: Final = re.compile(r"\.jsonl(\.[0-9]+)?\Z")
"""Names of session files. In the trash one may have a number: a death may leave the note of another without a file."""
_STOPPED: Final = 0.4
"""The part of the lives that end with requests which the daemon cannot have read."""


class Season:
    """A home, clerks who send requests, and wires that last as long as a daemon."""

    def __init__(
        self, home: Home, nurse: Nursery, chance: random.Random, number: int, faults: Sequence[str] = ()
    ) -> None:
        self._home = home
        self._nurse = nurse
        self._faults = faults
        self._chance = chance
        self._clerks = [Clerk(f"s{number}c{index}", list(_SHARED), chance) for index in range(_CLERKS)]
        self._wires: list[Wire] = []
        self._lines_before = 0
        self.lost = self.unread = self.repeats = 0

    @property
    def requests(self) -> list[Request]:
        return [request for clerk in self._clerks for request in clerk.requests]

    async def prepare(self) -> None:
        """Make the sessions that all clerks write to."""
        await self._begin()
        for session in _SHARED:
            await self._wires[0].call("session/create", cwd="/work/atlas", id=session)
            entries = [message("?" * 800, "u1"), reply("!" * 800, "a1")]
            await self._wires[0].call("session/append", sessionId=session, entries=entries)
        await self._end()
        self._lines_before = sum(len(self._log(name)) for name in _SHARED)

    async def live(self, seconds: float, *, stopped: bool) -> None:
        """One life: repeat what has no answer, send new requests, and kill the daemon meanwhile.

        `stopped` has it stop first, so that what is sent then is lost for certain.
        """
        pid = await self._begin()
        working = [asyncio.create_task(self._work(number)) for number in range(_CLERKS)]
        await asyncio.sleep(seconds)
        if stopped:
            os.kill(pid, signal.SIGSTOP)
            await asyncio.to_thread(until, lambda: state_of(pid) == "T", "the daemon does not stop")
            late = [request for clerk in self._clerks for request in clerk.batch()]
            sent = [
                (request, self._chance.choice(self._wires).send(request.method, request.params))
                for request in late
            ]
        await self._end()
        await asyncio.gather(*working)
        if stopped:
            for request, answer in sent:
                hold(
                    isinstance(answer.exception(), Gone), f"{request}: a daemon that is stopped has answered"
                )
                request.unread += 1
                self.unread += 1

    async def live_in_peace(self, batches: int) -> None:
        """One life in which every request is answered before the daemon is killed."""
        await self._begin()
        for _ in range(batches):
            await _all(self._send(*row) for row in zip(self._clerks, self._wires, strict=True))
        await self._end()

    async def settle(self) -> int:
        """The end: what has no answer is sent until it has, then all is sent again, and nothing changes by that.

        Returns how many requests had exactly one effect.
        """
        await self._begin()
        await _all(self._repeat(request) for request in self.requests if not request.settled)
        await asyncio.gather(*(wire.call("session/flush") for wire in self._wires))
        done = [request for request in self.requests if request.answer is not None]
        before = self._files()
        await _all(self._say_again(request) for request in done)
        hold(self._files() == before, f"repeats have changed {_difference(self._files(), before)}")
        await self._check_prompts(done)
        await self._end()
        self._check_lines(done)
        self._check_sessions(done)
        return len(done)

    async def _work(self, number: int) -> None:
        clerk = self._clerks[number]
        with contextlib.suppress(Gone):
            await _all(self._repeat(request) for request in clerk.requests if not request.settled)
            while True:
                await self._send(clerk, self._wires[number])

    async def _send(self, clerk: Clerk, wire: Wire) -> None:
        """Send some new requests and hear the answers. Raises `Gone`."""
        sent = [(request, wire.send(request.method, request.params)) for request in clerk.batch()]
        await _all(self._hear(request, [answer]) for request, answer in sent)

    async def _repeat(self, request: Request) -> None:
        """Send again what has no answer, up to three times at once. Raises `Gone`."""
        wires = [self._chance.choice(self._wires) for _ in range(self._chance.randrange(1, 4))]
        self.repeats += len(wires)
        await self._hear(request, [wire.send(request.method, request.params) for wire in wires])

    async def _hear(self, request: Request, sent: "list[asyncio.Future[dict[str, object]]]") -> None:
        async with asyncio.timeout(PATIENCE):
            found = await asyncio.gather(*sent, return_exceptions=True)
        lost = sum(isinstance(outcome, Gone) for outcome in found)
        self.lost += lost
        refusals = [outcome.kind for outcome in found if isinstance(outcome, Refused)]
        request.take([outcome for outcome in found if isinstance(outcome, dict)], refusals, lost)
        if not request.settled:
            raise Gone

    async def _say_again(self, request: Request) -> None:
        """A repeated request has the same answer, or there is nothing any more that could be opened."""
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._chance.choice(self._wires).send(request.method, request.params)
        except Refused as refused:
            hold(
                refused.kind == self._refusal(request),
                f"{request}: its repeat was refused as {refused.kind}; its session has seen {self._story(request)}",
            )
        else:
            request.take([answer])
            hold(self._refusal(request) is None, f"{request}: it has opened a session that is not there")

    def _refusal(self, request: Request) -> str | None:
        """Why the session that a request is about cannot be opened, or written to, by now."""
        kinds = {"live": None, "trashed": "sessionTrashed", "gone": "sessionNotFound"}
        if request.method in ("session/delete", "trash/restore", "trash/purge", "session/move"):
            return None
        for clerk in self._clerks:
            for life in clerk.lives:
                if request in life.requests:
                    return kinds[life.state]
        return None

    def _story(self, request: Request) -> str:
        """Return the requests of clients about the session of a request, to find a defect."""
        lives = [life for clerk in self._clerks for life in clerk.lives if request in life.requests]
        return "; ".join(
            f"{command}: {command.made_new} of {command.answers} answers new, "
            f"{command.lost} lost, {command.unread} unread"
            for life in lives
            for command in life.requests
        )

    async def _check_prompts(self, done: list[Request]) -> None:
        for request in done:
            if request.method == "history/add":
                word = request.params["prompt"].split()[1]
                found = (await self._wires[0].call("history/list", query=word))["prompts"]
                same = [told for told in found if told["prompt"] == request.params["prompt"]]
                hold(len(same) == 1, f"{request}: the prompt is there {len(same)} times")

    def _check_lines(self, done: list[Request]) -> None:
        """The shared sessions hold a line for each line that was asked for, and no others."""
        there = [line for session in _SHARED for line in self._log(session)]
        expected = sum(request.lines for request in done if request.session in _SHARED)
        written = len(there) - self._lines_before
        hold(written == expected, f"{expected} lines were asked for, and {written} were written")
        named: dict[str, int] = {}
        for line in there:
            if "sessiondCommand" in line:
                name = line["sessiondCommand"]["id"]
                named[name] = named.get(name, 0) + 1
        for request in self.requests:
            if request.session in _SHARED and "commandId" in request.params:
                lines = request.lines if request.answer is not None else 0
                hold(
                    named.get(request.id, 0) == lines,
                    f"{request}: {named.get(request.id, 0)} lines instead of {lines}",
                )

    def _check_sessions(self, done: list[Request]) -> None:
        """There is a file for each session that was made, where the last request has put it, and no other file."""
        expected = dict.fromkeys(_SHARED, "live")
        expected |= {
            request.answer["sessionId"]: "live"
            for request in done
            if request.makes and request.answer is not None
        }
        expected |= {
            life.session: life.state for clerk in self._clerks for life in clerk.lives if life.session
        }
        for path in self._files():
            session = path.name.partition("_")[2].partition(".")[0]
            hold(session in expected, f"{path}: nobody has asked for this session, or it is there twice")
            place = "trashed" if path.is_relative_to(self._home.folder / "data/trash") else "live"
            hold(expected.pop(session) == place, f"{path}: it should be elsewhere")
        left = [session for session, state in expected.items() if state != "gone"]
        hold(not left, f"sessions that were made are not there: {left}")
        for clerk in self._clerks:
            for life in clerk.lives:
                if life.session and life.state == "live":
                    cwd = read_log(log_of(self._home.folder, life.session)).lines[0]["cwd"]
                    hold(cwd == life.cwd, f"{life.session} belongs to {cwd} instead of {life.cwd}")

    def _log(self, session: str) -> list[dict[str, Any]]:
        log = read_log(log_of(self._home.folder, session))
        hold(len(log.seqs) <= len(log.lines) - 1, f"{log.path}: a line has no id")
        return log.lines[1:]

    def _files(self) -> dict[Path, bytes]:
        """All session files, without their first lines: the title in a header follows its entry a moment later."""
        found = (self._home.folder / "data").rglob("*.jsonl*")
        return {
            outcome: outcome.read_bytes().partition(b"\n")[2]
            for outcome in found
            if _LOG.search(outcome.name)
        }

    async def _begin(self) -> int:
        pid = await asyncio.to_thread(self._nurse.start, self._home, self._faults)
        self._wires = [await Wire.to(self._home) for _ in range(_CLERKS)]
        return pid

    async def _end(self) -> None:
        await asyncio.to_thread(self._home.kill)
        for wire in self._wires:
            await wire.ended()
            await wire.leave()


def _difference(now: dict[Path, bytes], before: dict[Path, bytes]) -> list[str]:
    return sorted(str(path) for path in now.keys() | before.keys() if now.get(path) != before.get(path))


async def _all(work: Iterable[Awaitable[None]]) -> None:
    """Wait for all of it. Raises what any raised, `Gone` only if there is nothing worse."""
    found = await asyncio.gather(*work, return_exceptions=True)
    raised = [outcome for outcome in found if outcome is not None]
    for error in sorted(raised, key=lambda error: isinstance(error, Gone)):
        raise error


async def _wage(ground: Ground, nurse: Nursery) -> Figures:
    rounds = ground.each_round(short=48, long=20_000, seconds=15.0)
    lives = checked = lost = unread = late = repeats = 0
    for first in rounds:
        home = Home(ground.folder / f"{first}")
        season = Season(home, nurse, ground.chance(first), first)
        await season.prepare()
        for number in (first, *islice(rounds, _SEASON - 1)):
            chance = ground.chance(number)
            seconds = chance.random() ** 2 * _LONGEST
            await season.live(seconds, stopped=chance.random() < _STOPPED)
            lives += 1
        checked += await season.settle()
        lost, unread, repeats = lost + season.lost, unread + season.unread, repeats + season.repeats
        late += sum(request.answer is not None and not request.made_new for request in season.requests)
        shutil.rmtree(home.folder)
    return Figures(
        lives, faults=lives, checked=checked,
        more=f"{lost + unread:,} answers lost, {unread:,} of them to requests that nobody had read; {late:,} requests "
        f"carried out before a death and not answered; {repeats + checked:,} repeats",
    )  # fmt: skip


def run(ground: Ground) -> Figures:
    with nursery() as nurse:
        return asyncio.run(_wage(ground, nurse))


CAMPAIGN = Campaign(
    name="repeated-commands",
    promise="A request with a `commandId` takes effect once, whenever the daemon is killed and however often it is "
    "sent.",
    how="clients send writes of all kinds; kill -9 at random moments, some after a stop, so that requests are lost "
    "unread; what has no answer is repeated, up to three times at once and over any connection, and in the end all is",
    run=run,
)
