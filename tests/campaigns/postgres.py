"""Two daemons on one PostgreSQL server, whose clients work on one session while daemons and the server are killed."""

import asyncio
import itertools
import random
import signal
import statistics
import time
from collections.abc import Coroutine, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from campaigns.campaign import Campaign, Figures, Ground, hold
from campaigns.daemons import PATIENCE, Home, end_all_in
from campaigns.shared_clients import SharedClient, Watcher, attach, patiently
from support.daemons import Peer
from support.linearizability import faults_of, find_order
from support.postgres import Server, programs, running_server

_CLIENTS = 6
_REQUESTS = 12
_CALM_APPENDS = 20


def run(ground: Ground) -> Figures:
    """Work on a new session in each round, under kills; then compare both daemons and what clients were told."""
    if programs() is None:
        ground.leave_out("postgresql")
    try:
        import asyncpg as asyncpg
    except ImportError:
        ground.leave_out("asyncpg")
    totals = {"rounds": 0, "faults": 0, "checked": 0, "acknowledged": 0, "unknown": 0, "conflicts": 0}
    latencies: list[float] = []
    with running_server() as server:
        url = server.new_url()
        homes = [_home(ground.folder / name, url) for name in ("a", "b")]
        try:
            for number in ground.each_round(short=4, long=50):
                round_ = _Round(homes, server, ground.chance(number), f"session-{number}")
                for name, count in asyncio.run(round_.run()).items():
                    totals[name] += count
                latencies += round_.latencies
                totals["rounds"] += 1
        finally:
            end_all_in(ground.folder)
    return Figures(
        totals["rounds"],
        faults=totals["faults"],
        checked=totals["checked"],
        more=f"{totals['acknowledged']:,} acknowledged appends, {totals['conflicts']:,} conflicts, "
        f"{totals['unknown']:,} without an answer; an append was seen at the other daemon after "
        f"{statistics.median(latencies) * 1000:.1f} ms (median)",
    )


def _home(folder: Path, url: str) -> Home:
    (folder / "config").mkdir(parents=True, mode=0o700)
    config = folder / "config" / "config.toml"
    config.write_text(f'[store]\nurl = "{url}"\n', encoding="utf-8")
    config.chmod(0o600)
    return Home(folder)


class _Round:
    """One round: a session, its clients and watchers, and the kills."""

    def __init__(self, homes: Sequence[Home], server: Server, dice: random.Random, session_id: str) -> None:
        self.latencies: list[float] = []
        self._homes = homes
        self._server = server
        self._dice = dice
        self._session_id = session_id
        self._faults = 0

    async def run(self) -> dict[str, int]:
        watchers = [Watcher(home, self._session_id) for home in self._homes]
        first = await attach(self._homes[0])
        await patiently(first, "session/create", id=self._session_id, cwd="/work/p")
        await self._measure(first)
        clients = [
            SharedClient(
                f"c{number}", self._homes[number % 2], self._session_id, random.Random(self._dice.random())
            )
            for number in range(_CLIENTS)
        ]
        watching = [asyncio.ensure_future(watcher.run()) for watcher in watchers]
        await _all([*(client.run(_REQUESTS) for client in clients), self._kill()])
        entries = await self._settled(watchers)
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        first.connection.close()
        checked = self._check(clients, watchers, entries)
        done = [append for client in clients for append in client.done]
        return {
            "faults": self._faults,
            "checked": checked,
            "acknowledged": sum(append.outcome == "stored" for append in done),
            "conflicts": sum(append.outcome == "conflict" for append in done),
            "unknown": sum(append.outcome == "unknown" for append in done),
        }

    async def _measure(self, first: Peer) -> None:
        """Measure, while nothing is killed, how long an append takes to be told at the other daemon."""
        other = await attach(self._homes[1])
        await patiently(other, "session/open", sessionId=self._session_id)
        for number in range(_CALM_APPENDS):
            begin = time.perf_counter()
            draft = {"type": "message", "message": {"role": "assistant", "content": f"calm-{number}"}}
            sent = asyncio.ensure_future(first.append(self._session_id, draft))
            await other.until(partial(_was_told, number + 1))
            self.latencies.append(time.perf_counter() - begin)
            await sent
        other.connection.close()

    async def _kill(self) -> None:
        """Kill a daemon or the server a few times, at random moments."""
        for _ in range(self._dice.randint(1, 3)):
            await asyncio.sleep(self._dice.uniform(0.0, 0.4))
            victim = self._dice.choice(("a daemon", "a daemon", "the server", "both"))
            if victim != "a daemon":
                await asyncio.to_thread(self._restart_server)
            if victim != "the server":
                self._faults += 1
                await asyncio.to_thread(self._dice.choice(self._homes).kill, signal.SIGKILL)

    def _restart_server(self) -> None:
        self._faults += 1
        if self._dice.random() < 0.5:
            self._server.kill()
        else:
            self._server.stop()
        time.sleep(self._dice.uniform(0.0, 0.3))
        until = time.monotonic() + PATIENCE
        while True:
            try:
                self._server.start()
                return
            except AssertionError:  # processes of a killed server take a moment to end
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    async def _settled(self, watchers: Sequence[Watcher]) -> list[dict[str, Any]]:
        """Wait until both daemons have the same lines and have told them. Returns the entries."""
        peers = [await attach(home) for home in self._homes]
        async with asyncio.timeout(PATIENCE):
            while True:
                found = [await _entries(peer, self._session_id) for peer in peers]
                is_connected = not any([await _is_stale(peer, self._session_id) for peer in peers])
                is_told = all(watcher.last == len(found[0]) for watcher in watchers)
                if is_connected and is_told and found[0] == found[1]:
                    break
                await asyncio.sleep(0.05)
        for peer in peers:
            peer.connection.close()
        return found[0]

    def _check(
        self, clients: Sequence[SharedClient], watchers: Sequence[Watcher], entries: Sequence[dict[str, Any]]
    ) -> int:
        """Compare what clients were told with the log. Returns the number of answers and deliveries."""
        calm, rest = entries[:_CALM_APPENDS], entries[_CALM_APPENDS:]
        names = {entry["id"]: entry["message"]["content"] for entry in rest}
        base: dict[str, str | None] = {calm[-1]["id"]: None}
        operations = [append for client in clients for append in client.history(names, base)]
        log = list(names.values())
        hold(len(names) == len(rest), "two lines have one id")
        for above, below in itertools.pairwise(entries):
            hold(below["parentId"] == above["id"], f"{below['id']} is not below the line before it")
        reads = [watcher.read(_CALM_APPENDS) for watcher in watchers]
        faults = faults_of(operations, reads, log, first_seq=_CALM_APPENDS + 1)
        hold(not faults, "; ".join(faults[:3]))
        order = find_order(operations, first_seq=_CALM_APPENDS + 1)
        hold(order is not None, "no order of the appends explains the answers")
        return len(operations) + sum(len(read.lines) for read in reads)


def _was_told(seq: int, peer: Peer) -> bool:
    return seq in peer.seqs()


async def _entries(peer: Peer, session_id: str) -> list[dict[str, Any]]:
    page = await patiently(peer, "session/entries", sessionId=session_id, limit=1_000)
    return [item["entry"] for item in page["items"]]


async def _is_stale(peer: Peer, session_id: str) -> bool:
    info = await patiently(peer, "session/info", sessionId=session_id)
    return info["session"]["stale"] is not None


async def _all(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    async with asyncio.timeout(3 * PATIENCE):
        async with asyncio.TaskGroup() as group:
            for coroutine in work:
                group.create_task(coroutine)


CAMPAIGN = Campaign(
    "postgres",
    "Clients of two daemons on one PostgreSQL server share a session: nothing acknowledged is lost or doubled, and one"
    " order explains all answers, whatever is killed.",
    "Appends, conditional appends and repeated appends at both daemons, with kill -9 of daemons and of the server and"
    " immediate stops at random moments; both daemons must end with the same lines, every watcher must have been told"
    " each line once and in order, and a search must find an order of the appends that explains what was answered.",
    run,
)
